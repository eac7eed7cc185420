package index

import (
	"fmt"
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

// TestSuccessors checks that an entry comes after the one that supersedes it,
// however that is named, and that links without a meaning have no effect.
func TestSuccessors(t *testing.T) {
	const database, other = "- database database red", "- database green, with many more words than the old one"
	derived := func(text string) string { // id of the only entry of a.md
		return new(memory.Layout).Parse("a.md", []byte(text), memory.Meta{}).Entries[0].ID
	}
	for name, tc := range map[string]struct {
		text  map[string]string
		query Query
		want  []string
	}{
		"same file": {map[string]string{"a.md": database + " <!-- id=k1 -->\n" + other + " <!-- supersedes=k1 -->\n"},
			Query{Text: "database"}, []string{"a.md:2", "a.md:1 < a.md:2"}},
		"derived id": {map[string]string{"a.md": database + "\n" + other + " <!-- supersedes=" + derived(database) + " -->\n"},
			Query{Text: "database"}, []string{"a.md:2", "a.md:1 < a.md:2"}},
		"other file": {map[string]string{"a.md": database + " <!-- id=k1 -->\n", "b.md": other + " <!-- supersedes=k1 -->\n"},
			Query{Text: "database"}, []string{"b.md:1", "a.md:1 < b.md:1"}},
		"anchor": {map[string]string{"a.md": database + " ^k1\n", "b.md": other + " <!-- supersedes=^k1 -->\n"},
			Query{Text: "database"}, []string{"b.md:1", "a.md:1 < b.md:1"}},
		"path": {map[string]string{"a.md": database + " <!-- id=k1 -->\n", "c.md": database + " is old <!-- id=k1 -->\n", "b.md": other + " <!-- supersedes=c.md#k1 -->\n"},
			Query{Text: "database"}, []string{"a.md:1", "b.md:1", "c.md:1 < b.md:1"}},
		"chain": {map[string]string{"a.md": database + " <!-- id=k1 -->\n", "b.md": "- database blue <!-- id=k2 supersedes=k1 -->\n",
			"c.md": other + " <!-- supersedes=k2 -->\n"},
			Query{Text: "database"}, []string{"c.md:1", "b.md:1 < c.md:1", "a.md:1 < b.md:1"}},
		"no match": {map[string]string{"a.md": database + " <!-- id=k1 -->\n", "b.md": other + " <!-- supersedes=k1 -->\n", "c.md": "- red, of which we said so much\n"},
			Query{Text: "red"}, []string{"a.md:1 < b.md:1", "c.md:1"}},
		"phrase": {map[string]string{"a.md": database + " <!-- id=k1 -->\n", "b.md": other + " <!-- supersedes=k1 -->\n"},
			Query{Text: `"database red"`}, []string{"b.md:1", "a.md:1 < b.md:1"}},
		"required phrase": {map[string]string{"a.md": database + " <!-- id=k1 -->\n", "b.md": other + " <!-- supersedes=k1 -->\n"},
			Query{Text: `"database red"`, Exact: true}, []string{"a.md:1 < b.md:1"}},
		"filtered": {map[string]string{"a.md": database + " <!-- id=k1 -->\n", "b.md": other + " <!-- supersedes=k1 -->\n"},
			Query{Text: "database", Filter: Filter{Path: "a.md"}}, []string{"a.md:1 < b.md:1"}},
		"each other": {map[string]string{"a.md": database + " <!-- id=k1 supersedes=k2 -->\n", "b.md": other + " <!-- id=k2 supersedes=k1 -->\n"},
			Query{Text: "database"}, []string{"a.md:1", "b.md:1"}},
		"itself": {map[string]string{"a.md": database + " <!-- id=k1 supersedes=k1 -->\n", "b.md": other + "\n"},
			Query{Text: "database"}, []string{"a.md:1", "b.md:1"}},
		"by others": {map[string]string{"a.md": database + " <!-- id=k1 -->\n", "b.md": other + " <!-- supersedes=k1 source=public:chat -->\n",
			"c.md": other + " again <!-- supersedes=k1 written_by=bob -->\n"},
			Query{Text: "database"}, []string{"a.md:1", "b.md:1", "c.md:1"}},
		"overlap": {map[string]string{"a.md": database + " <!-- id=k1 -->\n", "b.md": "- x <!-- supersedes=k1 -->\n"},
			Query{Text: "database", Mode: Overlap}, []string{"a.md:1 < b.md:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFiles(t, tc.text)
			if diff := cmp.Diff(tc.want, placesOf(t, x, ownerView(t), tc.query)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
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
