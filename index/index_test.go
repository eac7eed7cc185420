package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/memory"
)

func TestApply(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- red\n- green\n", "b.md": "- red blue\n"}}
	x := s.complete(t)
	check := func(query string, want ...string) {
		t.Helper()
		wantHits(t, x, Query{Text: query}, want...)
	}
	check("green", "a.md:2")
	check("blue", "b.md:1")

	// The file has more blocks than before, and then fewer.
	s.text["a.md"] = strings.Repeat("- filler\n", 100) + "- violet\n"
	s.apply(t, x, "a.md")
	check("violet", "a.md:101")
	check("green")
	s.text["a.md"] = "violet\n\nindigo\n"
	delete(s.text, "b.md")
	s.apply(t, x, "a.md", "b.md")
	check("filler")
	check("blue")
	check("violet", "a.md:1")
	if st := x.Status(); st.Files != 1 || st.Entries != 2 {
		t.Errorf("%d files with %d entries, want 1 with 2", st.Files, st.Entries)
	}

	// The reopened index must match the one in memory.
	x = s.reopen(t, x)
	check("indigo", "a.md:3")
	check("filler")
	if st := x.Status(); st.Files != 1 || st.Entries != 2 {
		t.Errorf("after opening again: %+v", st)
	}
}

// TestHitsAreTheFileAsItIsNow checks the hits in files that have changed since they were
// indexed: entries are found by their text, what the view cannot read is not shown, and
// the result reports that entries are missing.
func TestHitsAreTheFileAsItIsNow(t *testing.T) {
	const public = "---\nvisibility: public_ok\n---\n"
	s := &mapSource{text: map[string]string{"a.md": "- red\n- other\n", "b.md": "- red too\n", "c.md": "- red three\n",
		"d.md": public + "- red hidden later\n- red four\n"}}
	x := s.complete(t)
	s.text["a.md"] = "new first line\n\n- green\n- red\n"
	s.text["d.md"] = public + "- red hidden later <!-- visibility=private_only -->\n- red four\n"
	delete(s.text, "b.md")
	for _, tc := range []struct {
		text     string
		view     memory.View
		want     []string
		degraded bool
	}{
		{"red", ownerView(t), []string{"a.md:4", "c.md:1", "d.md:5", "d.md:4"}, true},
		{"four", ownerView(t), []string{"d.md:5"}, false},
		{"three", ownerView(t), []string{"c.md:1"}, false},
		{"too", ownerView(t), nil, true},
		{"other", ownerView(t), nil, true},
		{"red", contextView(t, memory.Public), nil, true},
	} {
		res := x.mustSearch(t, tc.view, Query{Text: tc.text})
		if got := placesOf(res); !slices.Equal(got, tc.want) || res.Degraded != tc.degraded {
			t.Errorf("%q: found %v, degraded %v; want %v, %v", tc.text, got, res.Degraded, tc.want, tc.degraded)
		}
	}
}

func TestEqualTextIsShownOnce(t *testing.T) {
	s := &mapSource{text: map[string]string{
		"a.md": "- Buy **milk** today\n", "b.md": "- buy milk  today\n", "c.md": "- buy milk tomorrow\n",
	}}
	x := s.complete(t)
	res := x.mustSearch(t, ownerView(t), Query{Text: "milk", Limit: 10})
	if res.Total != 3 || len(res.Hits) != 2 {
		t.Fatalf("%d of %d hits, want 2 of 3", len(res.Hits), res.Total)
	}
	for _, h := range res.Hits {
		if o := h.AlsoAt; h.Doc.Place.Path == "c.md" && o != nil || h.Doc.Place.Path != "c.md" && (len(o) != 1 || o[0].Path != "b.md") {
			t.Errorf("%s is also at %v", h.Doc.Place.Path, o)
		}
	}
	page1, page2 := hitsOf(t, x, Query{Text: "milk", Limit: 1}), hitsOf(t, x, Query{Text: "milk", Limit: 1, Offset: 1})
	if len(page1) != 1 || len(page2) != 1 || page1[0] == page2[0] {
		t.Errorf("pages %v and %v", page1, page2)
	}
}

// TestDamage damages an index in every way that a disk can. The index must open, report
// that its answers are incomplete, and be complete after the files have been applied.
func TestDamage(t *testing.T) {
	type file struct {
		name string
		text []byte
	}
	for name, damage := range map[string]func(segment, list file) error{
		"truncated": func(s, _ file) error { return os.WriteFile(s.name, s.text[:len(s.text)-1], 0o600) },
		"empty":     func(s, _ file) error { return os.WriteFile(s.name, nil, 0o600) },
		"removed":   func(s, _ file) error { return os.Remove(s.name) },
		"bit flipped": func(s, _ file) error {
			s.text[len(s.text)/2] ^= 4
			return os.WriteFile(s.name, s.text, 0o600)
		},
		"zeroed":       func(s, _ file) error { return os.WriteFile(s.name, make([]byte, len(s.text)), 0o600) },
		"list garbage": func(_, l file) error { return os.WriteFile(l.name, []byte("garbage"), 0o600) },
		"list empty":   func(_, l file) error { return os.WriteFile(l.name, nil, 0o600) },
		"list gone":    func(_, l file) error { return os.Remove(l.name) },
		"all gone":     func(_, l file) error { return os.RemoveAll(filepath.Dir(filepath.Dir(l.name))) },
	} {
		t.Run(name, func(t *testing.T) {
			s := &mapSource{text: map[string]string{"a.md": "- red\n", "b.md": "- green\n"}}
			x := s.complete(t)
			must(t, x.Close())
			names, _ := filepath.Glob(filepath.Join(x.dir, "store", "*.zap"))
			text, err := os.ReadFile(names[0])
			must(t, errors.Join(err, damage(file{names[0], text}, file{name: filepath.Join(x.dir, "store", "root.bolt")})))
			x = s.reopen(t, x)
			if res := x.mustSearch(t, ownerView(t), Query{Text: "green"}); !res.Degraded || !x.Status().Degraded {
				t.Errorf("while damaged: %+v, %+v", res, x.Status())
			}
			s.confirmComplete(t, x)
			if n := x.Status().Files; n != 2 {
				t.Errorf("%d files", n)
			}
			wantHits(t, x, Query{Text: "red"}, "a.md:1")
		})
	}
	t.Run("in use", func(t *testing.T) {
		s := &mapSource{text: map[string]string{"a.md": "- red\n", "b.md": "- green\n"}}
		x, lost := s.openLosing(t, t.TempDir())
		s.confirmComplete(t, x)
		names, _ := filepath.Glob(filepath.Join(x.dir, "store", "*.zap"))
		for _, name := range names {
			must(t, os.Truncate(name, 0))
		}
		if res := x.mustSearch(t, ownerView(t), Query{Text: "green"}); !res.Degraded || len(res.Hits) > 0 {
			t.Errorf("%+v", res)
		}
		<-lost
		if st := x.Status(); !st.Degraded || st.Problem == "" || st.Epoch != 2 {
			t.Errorf("%+v", st)
		}
		s.confirmComplete(t, x)
	})
}

func TestAnotherVersionIsBuiltAnew(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- red\n"}}
	x := s.complete(t)
	x.Close()
	x, err := Open(filepath.Dir(x.dir), Options{Source: s, Version: "other settings"})
	must(t, err)
	defer x.Close()
	if st := x.Status(); !st.Degraded || st.Files != 0 || st.Problem != "" {
		t.Errorf("%+v", st)
	}
}

// TestApplyWhileSearching changes files during searches. The race detector and
// the counts detect errors.
func TestApplyWhileSearching(t *testing.T) {
	s := &mapSource{text: map[string]string{}}
	for i := range 50 {
		s.text[fmt.Sprintf("%02d.md", i)] = strings.Repeat("- red\n", 1+i)
	}
	x := s.complete(t)
	frozen := &mapSource{text: s.text}
	x.opt.Source = frozen
	done := make(chan error, 1)
	go func() {
		r := rand.New(rand.NewPCG(1, 1))
		for range 50 {
			path := fmt.Sprintf("%02d.md", r.IntN(50))
			if err := x.Apply(context.Background(), s.updates(path)); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		res := x.mustSearch(t, ownerView(t), Query{Text: "red", Limit: 3})
		if want := 50 * 51 / 2; res.Total != want {
			t.Fatalf("%d entries, want %d", res.Total, want)
		}
		select {
		case err := <-done:
			must(t, err)
			return
		default:
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte{})
	whole := &file{FileInfo: FileInfo{Path: "a.md", Day: "2026-02-04"}, partition: memory.Partition{Owner: "owner"}, blocks: []uint32{7},
		entries: []entry{{dup: 1, time: noTime}, {time: 5, length: 3, flags: flagOpen}}, important: []float64{0, 0.5}, keys: []TextKey{0, 9},
		links: []link{{2, 1}}}
	f.Add(whole.marshal())
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := unmarshalFile(b)
		if err != nil {
			return
		}
		again, err := unmarshalFile(got.marshal())
		must(t, err)
		if diff := cmp.Diff(got, again, cmp.AllowUnexported(file{}, FileInfo{}, entry{}, link{}), cmp.Comparer(func(a, b float64) bool {
			return a == b || a != a && b != b
		})); diff != "" {
			t.Error(diff)
		}
	})
}

// TestFailure simulates a failure of the store of an undamaged index.
func TestFailure(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- red\n"}}
	x := s.complete(t)
	fail := func(s *store) {
		x.writing.Lock()
		defer x.writing.Unlock()
		x.recoverStore(s, os.ErrInvalid)
	}
	failed := x.store
	fail(failed)
	fail(failed) // another goroutine reports the same failure
	if st := x.Status(); !st.Degraded || st.Problem == "" || st.Epoch != 2 {
		t.Errorf("after a failure: %+v", st)
	}
	s.confirmComplete(t, x)

	// The next change opens the store again.
	x.mu.Lock()
	must(t, x.store.close())
	x.store, x.table, x.completeness, x.retryAfter = nil, newTable(), completeness{}, time.Time{}
	x.mu.Unlock()
	s.text["b.md"] = "- green\n"
	s.confirmComplete(t, x)
	wantHits(t, x, Query{Text: "green"}, "b.md:1")

	// A closed index remains closed.
	must(t, x.Close())
	fail(failed)
	if err := x.Apply(t.Context(), s.updates()); err == nil {
		t.Error("a closed index was written to")
	}
}

// TestNothingWaitsForSearch checks that other searches, changes and lists complete
// while a search waits for a file, and that this search has the state from which it
// began.
func TestNothingWaitsForSearch(t *testing.T) {
	s := &mapSource{text: map[string]string{"slow.md": "- red and green\n", "b.md": "- blue\n"}}
	x := s.complete(t)
	reading, release := make(chan bool), make(chan bool)
	s.hold = func(path string) {
		if path == "slow.md" {
			reading <- true
			<-release
		}
	}
	found := make(chan []string)
	go func() { found <- hitsOf(t, x, Query{Text: `"red and green"`}) }()
	<-reading
	for n := range 3 {
		path := fmt.Sprintf("c%d.md", n)
		s.text[path] = "- blue\n"
		s.apply(t, x, path, "b.md")
		if got := hitsOf(t, x, Query{Text: "blue", Filter: Filter{Path: path}}); len(got) != 1 {
			t.Errorf("another search found %v", got)
		}
	}
	s.text["d.md"] = "- red and green again\n" // not in the state of the first search
	delete(s.text, "b.md")
	s.apply(t, x, "d.md", "b.md")
	if _, ok := x.File("b.md"); ok || x.Status().Files != 5 || len(x.Files(func(*FileInfo) bool { return true })) != 5 {
		t.Errorf("state of the index: %+v", x.Status())
	}
	must(t, x.Confirm(x.Status().Epoch))
	close(release)
	if diff := cmp.Diff([]string{"slow.md:1"}, <-found); diff != "" {
		t.Errorf("the search that waited (-want +got):\n%s", diff)
	}
}
