package memory

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

// TestReadable checks which scopes read a partition. _longterms/user-memory and user-memory belong to
// different subjects.
func TestReadable(t *testing.T) {
	scopes := map[string]Scope{
		"zero":     {},
		"alone":    {Context: Private, Aliases: []string{"acct:1"}},
		"public":   {Subject: "acct:1", Context: Public},
		"unknown":  {Subject: "acct:1"},
		"private":  {Subject: "acct:1", Context: Private},
		"alias":    {Subject: "acct:9", Aliases: []string{"acct:1"}, Context: Private},
		"other":    {Subject: "acct:2", Context: Private},
		"reserved": {Subject: "memory", Context: Private},
	}
	golden.Table(t, "readers", func(t *testing.T, in []string) string {
		var readers []string
		for _, name := range slices.Sorted(maps.Keys(scopes)) {
			if viewOf(t, scopes[name]).Readable(Partition{in[0], ParseVisibility(in[1])}) {
				readers = append(readers, name)
			}
		}
		return strings.Join(readers, " ")
	})
}

func TestPartitions(t *testing.T) {
	var dirs Directories
	for _, c := range []struct {
		scope Scope
		want  []Partition
	}{
		{Scope{}, []Partition{{"", PublicOK}}},
		{Scope{Subject: "a:1"}, []Partition{
			{"", PublicOK}, {"?a_1", PublicOK},
			{"?a_1/", PublicOK}, {"a:1", PublicOK},
		}},
		{Scope{Subject: "owner", Context: Private}, []Partition{
			{"", PublicOK}, {"?owner", PrivateOnly}, {"?owner", PublicOK}, {"?owner/", PrivateOnly},
			{"?owner/", PublicOK}, {"owner", PrivateOnly}, {"owner", PublicOK},
		}},
	} {
		if v, err := dirs.View(c.scope); err != nil || !cmp.Equal(c.want, v.Partitions()) {
			t.Errorf("%+v: %v, want %v", c.scope, v.Partitions(), c.want)
		}
	}
	for _, s := range []Scope{{Subject: "?acct_42", Context: Private}, {Subject: "a", Aliases: []string{""}, Context: Private}, {Subject: "a\n"}} {
		if v, err := dirs.View(s); err == nil || len(v.Partitions()) != 1 {
			t.Errorf("%+v reads %v", s, v.Partitions())
		}
	}
}

func TestDirectories(t *testing.T) {
	l := testLayout()
	var dirs Directories
	key := Partition{"?acct_42", PrivateOnly}
	reads := func(subject string, aliases ...string) string {
		v, err := dirs.View(Scope{Subject: subject, Aliases: aliases, Context: Private})
		if err != nil {
			t.Fatal(err)
		}
		if !v.Readable(key) {
			return "nothing"
		}
		return v.SubjectOf(key)
	}
	check := func(when, subject, want string, aliases ...string) {
		t.Helper()
		if got := reads(subject, aliases...); got != want {
			t.Errorf("%s, %q with %q reads the directory as %q, want %q", when, subject, aliases, got, want)
		}
	}
	check("unclaimed", "acct:42", "acct:42")
	check("unclaimed", "acct_42", "acct_42")
	check("unclaimed", "acct:42", "acct:42", "acct_42")
	check("unclaimed", "acct:43", "nothing")

	claim := func(path, subject string) {
		d := l.Parse(path, []byte("---\nsubject_id: "+subject+"\n---\n- x\n"), Meta{})
		dirs.Set(d.Place, d.Claim)
	}
	claim("_longterms/acct_42/_index.md", "acct:42")
	claim("_longterms/acct_42/fact.md", "acct:7") // the subject does not map to this directory, so there is no claim
	claim("acct_42/MEMORY.md", "acct_42")         // another directory
	check("claimed", "acct:42", "acct:42")
	check("claimed", "acct_42", "nothing")
	check("claimed", "acct_42", "acct:42", "acct:42")

	claim("_longterms/acct_42/project.md", "acct_42")
	check("contested", "acct:42", "nothing")
	check("contested", "acct_42", "nothing")
	check("contested", "acct:42", "nothing", "acct_42")
	want := []Conflict{{Dir: "_longterms/acct_42", Subjects: []string{"acct:42", "acct_42"}, Paths: []string{"_longterms/acct_42/_index.md", "_longterms/acct_42/project.md"}}}
	if diff := cmp.Diff(want, dirs.Conflicts()); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}

	claim("_longterms/acct_42/project.md", "acct:42") // conflict resolved
	check("mended", "acct:42", "acct:42")
	dirs.Remove("_longterms/acct_42/_index.md")
	dirs.Remove("_longterms/acct_42/project.md")
	dirs.Remove("nowhere.md")
	check("unclaimed again", "acct_42", "acct_42")
	if c := dirs.Conflicts(); c != nil {
		t.Errorf("conflicts: %+v", c)
	}
}

func TestIdentities(t *testing.T) {
	ids, err := ParseIdentities([]byte("# who is who\nlinks:\n  telegram:123456: acct:42\n  slack:T01:U07: \"acct:42\"\n  mail:a@b.c: bob\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ids     *Identities
		key     string
		subject string
		aliases []string
	}{
		{ids, "telegram:123456", "acct:42", []string{"ext:slack:T01:U07", "ext:telegram:123456"}},
		{ids, "mail:a@b.c", "bob", []string{"ext:mail:a@b.c"}},
		{ids, "telegram:7", "ext:telegram:7", nil},
		{ids, "", "", nil},
		{nil, "telegram:123456", "ext:telegram:123456", nil},
		{&Identities{}, "telegram:123456", "ext:telegram:123456", nil},
	} {
		subject, aliases := c.ids.Resolve(c.key)
		if subject != c.subject || !cmp.Equal(aliases, c.aliases) {
			t.Errorf("%q is %q with %q, want %q with %q", c.key, subject, aliases, c.subject, c.aliases)
		}
	}
	if got := ids.AliasesOf("acct:42"); !cmp.Equal(got, []string{"ext:slack:T01:U07", "ext:telegram:123456"}) {
		t.Errorf("aliases of acct:42: %q", got)
	}
	for _, src := range []string{"", "# nothing\n", "links:\n", "links: {}\n"} {
		if ids, err := ParseIdentities([]byte(src)); err != nil || len(ids.Links()) != 0 {
			t.Errorf("%q: %v, %v", src, ids, err)
		}
	}
	want := []LinkedKey{{"mail:a@b.c", "bob"}, {"slack:T01:U07", "acct:42"}, {"telegram:123456", "acct:42"}}
	if diff := cmp.Diff(want, ids.Links()); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
}

func TestIdentitiesErrors(t *testing.T) {
	golden.Table(t, "identities", func(t *testing.T, in []string) string {
		_, err := ParseIdentities([]byte(in[0]))
		if err == nil {
			t.Fatalf("%q is valid", in[0])
		}
		return err.Error()
	})
	if _, err := ParseIdentities(make([]byte, maxIdentities+1)); err == nil || !strings.Contains(err.Error(), "line 1: longer than 1024 KiB") {
		t.Errorf("a large file: %v", err)
	}
}

// TestLinkKey checks the file after a link was added, and after it was removed again.
func TestLinkKey(t *testing.T) {
	golden.Table(t, "link", func(_ *testing.T, in []string) string { return golden.Result(LinkKey([]byte(in[0]), in[1], in[2])) })
	golden.Table(t, "unlink", func(_ *testing.T, in []string) string { return golden.Result(UnlinkKey([]byte(in[0]), in[1])) })
}

// FuzzLinkKey checks that adding a link only inserts lines, and that removing
// the link again restores the file.
func FuzzLinkKey(f *testing.F) {
	for _, src := range []string{"", "links:\n", "# a\nlinks:\r\n  a:1: x # y\n\n# end", "links: {a:1: x}", "links:\n  \"a:1\": |\n    x\n", "---\nlinks:\n  ? a:1\n  : x\n...\n", "\ufefflinks:\n  a:1: x\r  b:1: y"} {
		f.Add([]byte(src), "telegram:1", "acct:42")
		f.Add([]byte(src), "a: #1", "true")
		f.Add([]byte(src), "'\"\\:\u2028", "~")
	}
	f.Fuzz(func(t *testing.T, src []byte, key, subject string) {
		before, err := ParseIdentities(src)
		if err != nil {
			return
		}
		for _, link := range before.Links() {
			subject, aliases := before.Resolve(link.Key)
			if subject != link.Subject || !slices.Contains(aliases, ExternalSubject(link.Key)) || ValidSubject(subject) != nil {
				t.Fatalf("%+v resolves to %q %q", link, subject, aliases)
			}
		}
		next, err := LinkKey(src, key, subject)
		if err != nil {
			return
		}
		now, err := ParseIdentities(next)
		if err != nil || now.links[key] != subject || len(now.links) != len(before.links)+1 {
			t.Fatalf("%q with %q: %q is %q: %v", src, key, subject, next, err)
		}
		at := 0
		for at < len(src) && src[at] == next[at] {
			at++
		}
		for ; !bytes.HasSuffix(next, src[at:]); at-- {
			if at == 0 {
				t.Fatalf("%q becomes %q", src, next)
			}
		}
		back, err := UnlinkKey(next, key)
		if err != nil {
			t.Fatalf("%q: %v", next, err)
		}
		if after, err := ParseIdentities(back); err != nil || !maps.Equal(after.links, before.links) {
			t.Fatalf("%q is %q, and without it %q", src, next, back)
		}
		if len(before.links) > 0 && strings.TrimRight(string(back), "\r\n") != strings.TrimRight(string(src), "\r\n") {
			t.Fatalf("%q is %q, and without it %q", src, next, back)
		}
	})
}
