package memory

import (
	"strings"
	"testing"
)

// FuzzExcerpt checks that the excerpt consists of exactly the readable lines,
// that readers of the whole file do not get an excerpt, and that a view that
// may read neither gets no document.
func FuzzExcerpt(f *testing.F) {
	for i, s := range seeds {
		f.Add(uint8(i), []byte(s))
		f.Add(uint8(i), []byte("- open <!-- visibility=public_ok -->\n\n"+s+"\n\n- closed <!-- visibility=private_only -->\n\n"+s))
	}
	f.Fuzz(func(t *testing.T, n uint8, src []byte) {
		paths := []string{"2026-02-04/a.md", "MEMORY.md", "memory/2026-02-04.md", "_longterms/acct_42/fact.md", "x/y.md"}
		l := testLayout()
		d := l.Parse(paths[int(n)%len(paths)], src, testMeta)
		var dirs Directories
		owner := d.publicPartition.Owner
		for _, subject := range []string{"owner", "acct:42", "acct:1"} {
			if v, err := dirs.View(Scope{Subject: subject}); err == nil && v.Readable(d.publicPartition) {
				owner = subject
			}
		}
		if ValidSubject(owner) != nil {
			owner = "owner" // for text without a subject
		}
		view := func(s Scope) View {
			v, err := dirs.View(s)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		outside, inside := view(Scope{Subject: owner}), view(Scope{Subject: owner, Context: Private})
		e := d.Excerpt()
		switch {
		case e == nil && d.For(outside) != nil && (d.For(outside) != d || d.Partition != d.publicPartition):
			t.Fatal("without an excerpt some see a part")
		case e != nil && inside.Readable(d.Partition) && (d.For(outside) != e || d.For(inside) != d):
			t.Fatal("one who may read all sees the excerpt, or the other way round")
		case e == nil:
			return
		}
		if !e.Partition.Excerpt || d.Partition.Visibility != PrivateOnly || !e.Shown(outside).Complete || e.excerpt != nil {
			t.Fatalf("an excerpt in %+v of what is in %+v", e.Partition, d.Partition)
		}
		shown := d.Shown(outside)
		if got, want := strings.Count(e.Shown(outside).Text(), "\n"), len(shown.Lines); got != want {
			t.Fatalf("the excerpt has %d lines, %d are readable", got, want)
		}
		// At the start of the excerpt, a BOM character is a byte order mark.
		if strings.TrimPrefix(e.Shown(outside).Text(), string(bom)) != strings.TrimPrefix(shown.Text(), string(bom)) {
			t.Fatalf("the excerpt is %q, what is readable %q", e.Shown(outside).Text(), shown.Text())
		}
		for i := range e.Entries {
			if !e.Entries[i].Readable(outside) {
				t.Fatalf("line %d of the excerpt is not public", e.Entries[i].Line)
			}
		}
		checkEntries(t, e)
	})
}

// TestExcerptKeepsIDs checks that an entry has the same id in the whole file
// and in the excerpt.
func TestExcerptKeepsIDs(t *testing.T) {
	for _, path := range []string{"2026-02-04/s.md", "MEMORY.md", "_longterms/acct_42/_index.md"} {
		const src = "# A\n\n- same <!-- visibility=private_only -->\n- same <!-- visibility=public_ok -->\n- same <!-- visibility=public_ok -->\n\n## B\n\n- closed <!-- id=k visibility=private_only -->\n\ntext <!-- id=k visibility=public_ok -->\n"
		d := testLayout().Parse(path, []byte(src), testMeta)
		var all, some []string
		for _, e := range d.Entries {
			if e.Partition.Visibility == PublicOK {
				all = append(all, e.ID)
			}
		}
		for _, e := range d.Excerpt().Entries {
			some = append(some, e.ID)
		}
		if got, want := strings.Join(some, " "), strings.Join(all, " "); got != want || len(some) != 3 {
			t.Errorf("%s: the ids of the excerpt are %s, of the whole %s", path, got, want)
		}
	}
}
