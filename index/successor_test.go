package index

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/memory"
)

// placesOf returns the hits of a query as path:line, with "< path:line" for the entry
// that supersedes a hit.
func placesOf(t *testing.T, x *Index, view memory.View, q Query) (list []string) {
	t.Helper()
	q.Limit, q.AsOf = 20, time.Unix(1_800_000_000, 0)
	res, err := x.Search(t.Context(), view, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range res.Hits {
		s := fmt.Sprintf("%s:%d", h.Doc.Place.Path, h.Entry.Line)
		if h.Successor != nil {
			s += fmt.Sprintf(" < %s:%d", h.Successor.Path, h.Successor.Line)
		}
		list = append(list, s)
	}
	return list
}

// TestDerivedSuccessor checks that an entry can supersede one without an explicit id.
func TestDerivedSuccessor(t *testing.T) {
	const old = "- database database red\n"
	id := new(memory.Layout).Parse("a.md", []byte(old), memory.Meta{}).Entries[0].ID
	x := newFiles(t, map[string]string{"a.md": old + "- database green and yellow <!-- supersedes=" + id + " -->\n"})
	if got := placesOf(t, x, ownerView(t), Query{Text: "database"}); !slices.Equal(got, []string{"a.md:2", "a.md:1 < a.md:2"}) {
		t.Errorf("got %q", got)
	}
}

// TestSuccessorsChange checks that successors come and go with their files, and
// after the index was opened again.
func TestSuccessorsChange(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- old old tea <!-- id=k1 -->\n", "b.md": "- new tea, with more words <!-- supersedes=k1 -->\n"}}
	dir := t.TempDir()
	x := s.open(t, dir)
	s.confirmComplete(t, x)
	check := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, placesOf(t, x, ownerView(t), Query{Text: "tea"})); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	check("b.md:1", "a.md:1 < b.md:1")
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = s.open(t, dir)
	s.confirmComplete(t, x)
	check("b.md:1", "a.md:1 < b.md:1")
	s.text["b.md"] = "- new tea, with more words\n"
	s.apply(t, x, "b.md")
	check("a.md:1", "b.md:1")
	if n := x.table.successors.length; n != 0 {
		t.Errorf("%d ids are still superseded", n)
	}
}

// TestSuccessorsArePrivate checks that an entry which a view may not read, or which
// is of another subject, affects no answer of the view.
func TestSuccessorsArePrivate(t *testing.T) {
	old := "- database database red <!-- id=k1 visibility=public_ok -->\n"
	successor := "- database green, with many more words <!-- id=k2 supersedes=k1 visibility=%s -->\n"
	var dirs memory.Directories
	for _, tc := range []struct {
		scope memory.Scope
		text  map[string]string
		want  []string
	}{
		{memory.Scope{Subject: "owner", Context: memory.Public}, map[string]string{"a.md": old, "b.md": fmt.Sprintf(successor, "private_only")},
			[]string{"a.md:1"}},
		{memory.Scope{Subject: "owner", Context: memory.Public}, map[string]string{"a.md": old + fmt.Sprintf(successor, "private_only")},
			[]string{"a.md:1"}},
		{memory.Scope{Subject: "owner", Context: memory.Public}, map[string]string{"a.md": old, "b.md": fmt.Sprintf(successor, "public_ok")},
			[]string{"b.md:1", "a.md:1 < b.md:1"}},
		{memory.Scope{Subject: "owner", Context: memory.Private}, map[string]string{"a.md": old,
			"2026-02-04/s.md": "---\nsubject_id: bob\n---\n" + fmt.Sprintf(successor, "public_ok")}, []string{"a.md:1"}},
		{memory.Scope{Subject: "owner", Context: memory.Private}, map[string]string{"a.md": old, // text without a subject
			"2026-02-04/s.md": fmt.Sprintf(successor, "public_ok")}, []string{"a.md:1", "2026-02-04/s.md:1"}},
	} {
		view, err := dirs.View(tc.scope)
		if err != nil {
			t.Fatal(err)
		}
		x := newFiles(t, tc.text)
		if diff := cmp.Diff(tc.want, placesOf(t, x, view, Query{Text: "database"})); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tc.text, diff)
		}
	}
}
