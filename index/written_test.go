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
	s := &stampSource{modified: make(map[string]time.Time), text: make(map[string]string)}
	dir := t.TempDir()
	x, err := Open(dir, Options{Source: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	write := func(path, text string, at time.Time) {
		t.Helper()
		s.text[path], s.modified[path] = text, at
		if err := x.Apply(t.Context(), []Update{s.update(path)}); err != nil {
			t.Fatal(err)
		}
		if err := x.Confirm(x.Status().Epoch); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want ...string) {
		t.Helper()
		res, err := x.Search(t.Context(), ownerView(t), Query{Mode: Recent, Limit: 10, AsOf: day(20), Filter: Filter{Since: day(2)}})
		if err != nil {
			t.Fatal(err)
		}
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
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x, err = Open(dir, Options{Source: s})
	if err != nil {
		t.Fatal(err)
	}
	write("a.md", "- tea\n", day(12))
	check("b.md 2026-02-05", "b.md 2026-02-04")
	write("a.md", "- tea\n", day(3).Add(-48*time.Hour)) // an earlier time is known
	write("a.md", "- green tea\n", day(12))
	check("a.md 2026-02-12", "b.md 2026-02-05", "b.md 2026-02-04")
}

// A stampSource holds files in memory, with their modification times.
type stampSource struct {
	layout   memory.Layout
	text     map[string]string
	modified map[string]time.Time
}

func (s *stampSource) Stamp(path string) (memory.Stamp, error) {
	return memory.Stamp{Size: int64(len(s.text[path])), MTime: s.modified[path].UnixNano()}, nil
}

func (s *stampSource) Load(path string) (*memory.Document, error) {
	return s.layout.Parse(path, []byte(s.text[path]), memory.Meta{ModTime: s.modified[path]}), nil
}

func (s *stampSource) update(path string) Update {
	u := Update{Path: path, Hash: [32]byte([]byte((s.text[path] + "                                ")[:32]))}
	u.Doc, _ = s.Load(path)
	u.Stamp, _ = s.Stamp(path)
	return u
}

// TestCopied checks that the time of files saved in one minute counts as unknown if there are
// many that the caller may read, and that hidden ones have no influence.
func TestCopied(t *testing.T) {
	at := time.Date(2026, 2, 10, 9, 0, 0, 0, time.UTC)
	s := &stampSource{modified: make(map[string]time.Time), text: make(map[string]string)}
	x, err := Open(t.TempDir(), Options{Source: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	add := func(path, text string, at time.Time) {
		t.Helper()
		s.text[path], s.modified[path] = text, at
		if err := x.Apply(t.Context(), []Update{s.update(path)}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(context memory.Context, q Query, want ...string) {
		t.Helper()
		var dirs memory.Directories
		view, err := dirs.View(memory.Scope{Subject: "owner", Context: context})
		if err != nil {
			t.Fatal(err)
		}
		q.Limit, q.AsOf = 100, at.AddDate(0, 0, 1)
		res, err := x.Search(t.Context(), view, q)
		if err != nil {
			t.Fatal(err)
		}
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
