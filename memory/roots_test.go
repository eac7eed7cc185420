package memory

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func rootLayout() *Layout {
	l := testLayout()
	l.Roots = []*Root{
		{Name: "vault", Owner: "bob"},
		{Name: "site", Owner: "owner", Visibility: PublicOK, Project: func(path string) string { return "p-" + path }},
	}
	return l
}

func TestRootPlace(t *testing.T) {
	l := rootLayout()
	for _, want := range []Place{
		{Path: "vault:MEMORY.md", Kind: Note, Owner: "?/vault", Root: "vault"},
		{Path: "vault:memory/2026-02-04.md", Kind: Note, Owner: "?/vault", Root: "vault"},
		{Path: "vault:2026-02-04/cli.md", Kind: Note, Owner: "?/vault", Root: "vault"},
		{Path: "vault:_longterms/owner/_index.md", Kind: Note, Owner: "?/vault", Root: "vault"},
		{Path: "vault:alice/MEMORY.md", Kind: Note, Owner: "?/vault", Root: "vault"},
		{Path: "vault:a:b.md", Kind: Note, Owner: "?/vault", Root: "vault"},
		{Path: "vault:", Kind: Note, Owner: "?/vault", Root: "vault"},
		{Path: "site:a.md", Kind: Note, Owner: "?/site", Root: "site", Visibility: PublicOK},
		{Path: "vault:a.sync-conflict-20260205-111000-ABCDEFG.md", Kind: Note, Owner: "?/vault", Root: "vault", Copy: "vault:a.md"},
		{Path: "other:a.md", Kind: Note, Owner: "owner"},
		{Path: "notes/vault:a.md", Kind: Note, Owner: "owner"},
		{Path: "vault", Kind: Note, Owner: "owner"},
	} {
		if diff := cmp.Diff(want, l.Place(want.Path)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", want.Path, diff)
		}
		if skipped := l.Skip(want.Path); want.Root != "" && skipped == "" {
			t.Errorf("%s could be a file of the memory directory", want.Path)
		}
	}
	for dir, want := range map[string]bool{"vault:": true, "vault:notes": true, "vault": false, ".git": true, "notes/.x": true, "notes/vault:x": false} {
		if got := l.SkipDir(dir) != ""; got != want {
			t.Errorf("SkipDir %q: %v", dir, got)
		}
	}
	for name, want := range map[string]bool{"vault": true, "my-vault_2": true, "": false, "memory": false, "Vault": false, "a:b": false, "a/b": false, "-a": false, "ü": false} {
		if got := ValidRoot(name) == nil; got != want {
			t.Errorf("ValidRoot %q: %v", name, got)
		}
	}
}

// TestRootReaders checks that the text of a root is read by its owner only, on
// request only, whatever the files contain.
func TestRootReaders(t *testing.T) {
	l := rootLayout()
	dirs := Directories{Owner: "owner", Roots: l.Roots}
	src := "---\nsubject_id: eve\ntasks: 9/9\n---\n- private\n- public <!-- visibility=public_ok -->\n- [ ] task\n"
	private := l.Parse("vault:_longterms/eve/_index.md", []byte(src), Meta{})
	public := l.Parse("site:a.md", []byte("- public\n- private <!-- visibility=private_only -->\n"), Meta{})
	if private.Claim != "" || len(private.Problems) > 0 {
		t.Errorf("claim %q, problems %v", private.Claim, private.Problems)
	}
	for _, s := range []Scope{
		{}, {Context: Private}, {Subject: "owner", Context: Private}, {Subject: "owner"}, {Subject: "bob", Context: Private}, {Subject: "bob"},
		{Subject: "eve", Context: Private}, {Subject: "/vault", Context: Private}, {Subject: "ext:x", Aliases: []string{"bob"}, Context: Private},
	} {
		v, err := dirs.View(s)
		if err != nil {
			t.Fatal(err)
		}
		count := func(v View, d *Document) (n int) {
			for i := range d.Entries {
				if d.Entries[i].Readable(v) {
					n++
				}
			}
			if n == 0 && d.For(v) != nil {
				t.Errorf("%+v: a document without readable entries", s)
			}
			return n
		}
		if n := count(v, private) + count(v, public); n > 0 {
			t.Errorf("%+v reads %d entries without asking for them", s, n)
		}
		bob := s.Subject == "bob" || slices.Contains(s.Aliases, "bob")
		want := map[bool]int{true: 3, false: 1}[s.Context == Private]
		if !bob {
			want = 0
		}
		all := v.WithRoots("vault", "site", "nowhere")
		if n := count(all, private); n != want {
			t.Errorf("%+v reads %d entries of vault, want %d", s, n, want)
		}
		want = map[bool]int{true: 2, false: 1}[s.Context == Private]
		if s.Subject != "owner" {
			want = 0
		}
		if n := count(all, public); n != want {
			t.Errorf("%+v reads %d entries of site, want %d", s, n, want)
		}
		only := all.OnlyRoots()
		for _, p := range append(only.Partitions(), Partition{}, Partition{"owner", PublicOK, false}, Partition{"", PublicOK, true}, Partition{"bob", PublicOK, false}) {
			if only.Readable(p) && !IsRootKey(p.Owner) {
				t.Errorf("%+v reads %v among the roots", s, p)
			}
		}
		if count(only, private) != count(all, private) || count(only, public) != count(all, public) || len(all.Closed().Partitions()) > 0 {
			t.Errorf("%+v reads other entries of the roots alone", s)
		}
		if bob && all.SubjectOf(private.Partition) != "bob" || dirs.Subject("?/vault") != "bob" {
			t.Errorf("%+v: vault belongs to %q", s, all.SubjectOf(private.Partition))
		}
	}
}

// TestRootLinks checks that links in a root lead to files of the root only.
func TestRootLinks(t *testing.T) {
	d := rootLayout().Parse("vault:notes/a.md", []byte("- [[b]] [c](../c.md) [d](/d.md) [e](../../e.md) [[vault:x]] [[site:y]]\n"), Meta{})
	var got [][]string
	for _, l := range d.Entries[0].Links {
		got = append(got, l.Paths)
	}
	want := [][]string{{"vault:b.md", "vault:notes/b.md"}, {"vault:c.md"}, {"vault:d.md"}, nil, nil, nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRootAnnotations checks the tag of the project of a file.
func TestRootAnnotations(t *testing.T) {
	if l := rootLayout().Parse("site:x/a.md", []byte("An entry.\n"), Meta{}); !slices.Equal(l.Entries[0].Tags, []string{"project:p-x/a.md"}) {
		t.Errorf("tags %q", l.Entries[0].Tags)
	}
}
