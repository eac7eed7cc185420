package index

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

// TestWritten checks that entries with the time of their file keep it as long as
// the content stays the same, also after a restart.
func TestWritten(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 2, n, 0, 0, 0, 0, time.UTC) }
	s := &mapSource{modified: make(map[string]time.Time), text: make(map[string]string)}
	x := s.complete(t)
	write := func(path, text string, at time.Time) {
		t.Helper()
		s.text[path], s.modified[path] = text, at
		s.apply(t, x, path)
		must(t, x.Confirm(x.Status().Epoch))
	}
	check := func(want ...string) {
		t.Helper()
		res := x.mustSearch(t, ownerView(t), Query{Mode: Recent, Limit: 10, AsOf: day(20), Filter: Filter{Since: day(2)}})
		var got []string
		for _, h := range res.Hits {
			got = append(got, h.Doc.Place.Path+" "+h.Time.UTC().Format(time.DateOnly))
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	write("a.md", "- tea\n", day(1))
	write("b.md", "- coffee\n- milk (added 2026-02-05)\n", day(4))
	check("b.md 2026-02-05", "b.md 2026-02-04")
	write("a.md", "- tea\n", day(10)) // a checkout
	write("b.md", s.text["b.md"], day(10))
	check("b.md 2026-02-05", "b.md 2026-02-04")
	x = s.reopen(t, x)
	write("a.md", "- tea\n", day(12))
	check("b.md 2026-02-05", "b.md 2026-02-04")
	write("a.md", "- tea\n", day(3).Add(-48*time.Hour)) // an earlier time is known
	write("a.md", "- green tea\n", day(12))
	check("a.md 2026-02-12", "b.md 2026-02-05", "b.md 2026-02-04")
}

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
