package memory

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadable(t *testing.T) {
	var dirs Directories
	scopes := map[string]Scope{
		"zero":          {},
		"nobody, alone": {Context: Private, Aliases: []string{"acct:1"}},
		"public":        {Subject: "acct:1", Context: Public},
		"unknown":       {Subject: "acct:1"},
		"private":       {Subject: "acct:1", Context: Private},
		"alias":         {Subject: "acct:9", Aliases: []string{"acct:1"}, Context: Private},
		"other":         {Subject: "acct:2", Context: Private},
	}
	for _, c := range []struct {
		p    Partition
		want string // scopes that may read it
	}{
		{Partition{"", PublicOK, false}, "alias nobody, alone other private public unknown zero"},
		{Partition{"", PrivateOnly, false}, ""},
		{Partition{"acct:1", PublicOK, false}, "alias private public unknown"},
		{Partition{"acct:1", PrivateOnly, false}, "alias private"},
		{Partition{"?acct_1", PublicOK, false}, "alias private public unknown"},
		{Partition{"?acct_1", PrivateOnly, false}, "alias private"},
		{Partition{"?acct_1/", PrivateOnly, false}, "alias private"},
		{Partition{"?acct_3", PublicOK, false}, ""},
		// Views that may read a whole file do not read its excerpt.
		{Partition{"", PublicOK, true}, "alias nobody, alone other private public unknown zero"},
		{Partition{"acct:1", PublicOK, true}, "public unknown"},
		{Partition{"acct:2", PublicOK, true}, ""},
	} {
		var got []string
		for _, name := range []string{"alias", "nobody, alone", "other", "private", "public", "unknown", "zero"} {
			v, err := dirs.View(scopes[name])
			if err != nil {
				t.Fatal(err)
			}
			if v.Readable(c.p) {
				got = append(got, name)
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%v is read by %q, want %q", c.p, got, c.want)
		}
	}
}

func TestPartitions(t *testing.T) {
	var dirs Directories
	for _, c := range []struct {
		scope Scope
		want  []Partition
	}{
		{Scope{}, []Partition{{"", PublicOK, false}, {"", PublicOK, true}}},
		{Scope{Subject: "a:1"}, []Partition{
			{"", PublicOK, false}, {"", PublicOK, true}, {"?a_1", PublicOK, false}, {"?a_1", PublicOK, true},
			{"?a_1/", PublicOK, false}, {"?a_1/", PublicOK, true}, {"a:1", PublicOK, false}, {"a:1", PublicOK, true},
		}},
		{Scope{Subject: "a:1", Context: Private}, []Partition{
			{"", PublicOK, false}, {"", PublicOK, true}, {"?a_1", PrivateOnly, false}, {"?a_1", PublicOK, false},
			{"?a_1/", PrivateOnly, false}, {"?a_1/", PublicOK, false}, {"a:1", PrivateOnly, false}, {"a:1", PublicOK, false},
		}},
		{Scope{Subject: "owner", Context: Private}, []Partition{
			{"", PublicOK, false}, {"?owner", PrivateOnly, false}, {"?owner", PublicOK, false}, {"?owner/", PrivateOnly, false},
			{"?owner/", PublicOK, false}, {"owner", PrivateOnly, false}, {"owner", PublicOK, false},
		}},
	} {
		v, err := dirs.View(c.scope)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, v.Partitions()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.scope, diff)
		}
		for _, p := range v.Partitions() {
			if !v.Readable(p) {
				t.Errorf("%+v may open %v but not read it", c.scope, p)
			}
		}
	}
}

func TestDirectories(t *testing.T) {
	l := testLayout()
	var dirs Directories
	key := Partition{"?acct_42", PrivateOnly, false}
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

// TestDirectoriesOfTwoSorts checks that _longterms/user-memory and user-memory
// belong to different subjects.
func TestDirectoriesOfTwoSorts(t *testing.T) {
	var dirs Directories
	v, err := dirs.View(Scope{Subject: "memory", Context: Private})
	if err != nil {
		t.Fatal(err)
	}
	l := testLayout()
	if p := l.Place("user-memory/MEMORY.md"); !v.Readable(Partition{p.Owner, PrivateOnly, false}) {
		t.Errorf("the user memory does not read %s", p.Path)
	}
	if p := l.Place("_longterms/user-memory/_index.md"); v.Readable(Partition{p.Owner, PrivateOnly, false}) {
		t.Errorf("the user memory reads %s", p.Path)
	}
}

func TestViewOfInvalidScope(t *testing.T) {
	var dirs Directories
	for _, s := range []Scope{{Subject: "?acct_42", Context: Private}, {Subject: "a", Aliases: []string{""}, Context: Private}, {Subject: "a\n"}} {
		v, err := dirs.View(s)
		if err == nil {
			t.Errorf("%+v has a view", s)
		}
		if diff := cmp.Diff([]Partition{{"", PublicOK, false}, {"", PublicOK, true}}, v.Partitions()); diff != "" {
			t.Errorf("%+v opens (-want +got):\n%s", s, diff)
		}
	}
}
