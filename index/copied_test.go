package index

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

// TestCopied checks that the time of files saved in one minute counts as unknown if there are
// many that the caller may read, and that hidden ones have no influence.
func TestCopied(t *testing.T) {
	at := time.Date(2026, 2, 10, 9, 0, 0, 0, time.UTC)
	s := &mapSource{modified: make(map[string]time.Time), text: make(map[string]string)}
	x := s.complete(t)
	add := func(path, text string, at time.Time) {
		t.Helper()
		s.text[path], s.modified[path] = text, at
		s.apply(t, x, path)
	}
	check := func(context memory.Context, q Query, want ...string) {
		t.Helper()
		view := viewOf(t, memory.Scope{Subject: "owner", Context: context})
		q.Limit, q.AsOf = 100, at.AddDate(0, 0, 1)
		res := x.mustSearch(t, view, q)
		var got []string
		for _, h := range res.Hits {
			got = append(got, h.Doc.Place.Path)
			if h.Doc.Place.Path == "public.md" && h.Time.IsZero() == (context == memory.Public) {
				t.Errorf("%+v: time %v", q, h.Time)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: got %q, want %q", q, got, want)
		}
	}
	recent, since, today := Query{Mode: Recent, Text: "tea"}, Query{Text: "tea", Filter: Filter{Since: at.Add(-time.Hour)}},
		Query{Text: "10 February"}
	for i := range manyFiles - 1 {
		add(fmt.Sprintf("private%d.md", 100+i), fmt.Sprintf("tea x%d\n", 100+i), at.Add(time.Duration(i)*time.Second))
	}
	add("public.md", "---\nvisibility: public_ok\n---\ngreen tea\n", at)
	add("later.md", "black tea\n", at.Add(time.Hour))
	add("dated.md", "---\ndate: 2026-02-10T09:00:00Z\n---\nwhite tea\n", at.Add(time.Minute))
	for _, q := range []Query{recent, today} {
		check(memory.Private, q, "later.md", "dated.md")
		check(memory.Public, q, "public.md")
	}
	check(memory.Public, since, "public.md")
	all := Query{Filter: Filter{Path: "{private100,private101,later,dated}.md"}}
	check(memory.Private, all, "later.md", "dated.md", "private100.md", "private101.md") // copies last
}
