package index

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/memory"
)

// TestDerivedSuccessor checks that an entry can supersede one without an explicit id.
func TestDerivedSuccessor(t *testing.T) {
	const old = "- database database red\n"
	id := new(memory.Layout).Parse("a.md", []byte(old), memory.Meta{}).Entries[0].ID
	x := newFiles(t, map[string]string{"a.md": old + "- database green and yellow <!-- supersedes=" + id + " -->\n"})
	wantHits(t, x, Query{Text: "database"}, "a.md:2", "a.md:1 < a.md:2")
}

// TestSuccessorsChange checks that successors come and go with their files, and
// after the index was opened again.
func TestSuccessorsChange(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- old old tea <!-- id=k1 -->\n", "b.md": "- new tea, with more words <!-- supersedes=k1 -->\n"}}
	x := s.complete(t)
	wantHits(t, x, Query{Text: "tea"}, "b.md:1", "a.md:1 < b.md:1")
	x = s.reopen(t, x)
	s.confirmComplete(t, x)
	wantHits(t, x, Query{Text: "tea"}, "b.md:1", "a.md:1 < b.md:1")
	s.text["b.md"] = "- new tea, with more words\n"
	s.apply(t, x, "b.md")
	wantHits(t, x, Query{Text: "tea"}, "a.md:1", "b.md:1")
	if n := x.table.successors.length; n != 0 {
		t.Errorf("%d ids are still superseded", n)
	}
}

// TestSuccessorsArePrivate checks that an entry which a view may not read, or which
// is of another subject, affects no answer of the view.
func TestSuccessorsArePrivate(t *testing.T) {
	old := "---\nvisibility: public_ok\n---\n- database database red <!-- id=k1 -->\n"
	successor := "---\nvisibility: %s\n---\n- database green, with many more words <!-- id=k2 supersedes=k1 -->\n"
	for _, tc := range []struct {
		scope memory.Scope
		text  map[string]string
		want  []string
	}{
		{memory.Scope{Subject: "owner", Context: memory.Public}, map[string]string{"a.md": old, "b.md": fmt.Sprintf(successor, "private_only")},
			[]string{"a.md:4"}},
		{memory.Scope{Subject: "owner", Context: memory.Public}, map[string]string{"a.md": old, "b.md": fmt.Sprintf(successor, "public_ok")},
			[]string{"b.md:4", "a.md:4 < b.md:4"}},
		{memory.Scope{Subject: "owner", Context: memory.Private}, map[string]string{"a.md": old,
			"2026-02-04/s.md": "---\nsubject_id: bob\n" + fmt.Sprintf(successor, "public_ok")[4:]}, []string{"a.md:4"}},
		{memory.Scope{Subject: "owner", Context: memory.Private}, map[string]string{"a.md": old, // text without a subject
			"2026-02-04/s.md": fmt.Sprintf(successor, "public_ok")}, []string{"a.md:4", "2026-02-04/s.md:4"}},
	} {
		x := newFiles(t, tc.text)
		if diff := cmp.Diff(tc.want, placesOf(x.mustSearch(t, viewOf(t, tc.scope), Query{Text: "database"}))); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tc.text, diff)
		}
	}
}

// TestHiddenSuccessorReadsNothing checks that an entry which a view may not read does not make
// the search read a file, which would take longer.
func TestHiddenSuccessorReadsNothing(t *testing.T) {
	const old = "---\nvisibility: public_ok\n---\n- database red\n"
	id := new(memory.Layout).Parse("a.md", []byte(old), memory.Meta{}).Entries[0].ID
	s := &mapSource{text: map[string]string{"a.md": old,
		"b.md": "---\nvisibility: private_only\n---\n- database green <!-- supersedes=a.md#" + id + " -->\n"}}
	x := s.complete(t)
	for context, want := range map[memory.Context]int{memory.Public: 0, memory.Private: 1} {
		reads := 0
		s.hold = func(string) { reads++ }
		refs, err := x.Successors(t.Context(), viewOf(t, memory.Scope{Subject: "owner", Context: context}), "a.md")
		s.hold = nil
		must(t, err)
		if len(refs) != want || want == 0 && reads > 0 {
			t.Errorf("%v: %d successors, want %d; %d reads", context, len(refs), want, reads)
		}
	}
}
