package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// indexDir returns the directory of the data that the daemon can rebuild.
func (l *live) indexDir() string {
	return filepath.Join(filepath.Dir(l.config), "cache", "memwatchd", "memwatchd")
}

// store returns the directory of the index.
func (l *live) store() string { return filepath.Join(l.indexDir(), "bleve") }

// segments returns the files of the index, when it has been saved.
func (l *live) segments() []string {
	l.t.Helper()
	var names []string
	l.until("the index is saved", func() bool {
		var err error
		if names, err = filepath.Glob(filepath.Join(l.store(), "store", "*.zap")); err != nil {
			l.t.Fatal(err)
		}
		return len(names) > 0
	})
	return names
}

// wantFirst starts a daemon and checks that its first answer is complete,
// whatever the state of the index.
func (l *live) wantFirst(files int) {
	l.t.Helper()
	l.launch()
	var a api.SearchAnswer
	l.until("it answers", func() bool {
		err := l.ask("search", owner.with(fields{"query": "quince", "limit": 100}), &a)
		return err == nil && (a.Total == files || a.Index.Synced) // else it is still starting
	})
	if a.Total != files {
		l.t.Errorf("the first answer has %d of %d entries: %+v", a.Total, files, a.Index)
	}
}

const setAside = "index is damaged, filling it again"

// aside returns how often the log reports that a damaged index was removed.
func (l *live) aside() int { return strings.Count(l.log.String(), setAside) }

// each returns a function that changes every file by fn.
func each(fn func(data []byte) []byte) func(*testing.T, ...string) {
	return func(t *testing.T, names ...string) {
		t.Helper()
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(name, fn(data), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

var (
	shorter = each(func(b []byte) []byte { return b[:len(b)-1] })
	half    = each(func(b []byte) []byte { return b[:len(b)/2] })
	empty   = each(func([]byte) []byte { return nil })
	zeroed  = each(func(b []byte) []byte { return make([]byte, len(b)) })
	garbage = each(func([]byte) []byte { return []byte("garbage\n") })
	twice   = each(func(b []byte) []byte { return append(b, b...) })
)

func remove(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
}

// asDir replaces files with directories.
func asDir(t *testing.T, names ...string) {
	t.Helper()
	remove(t, names...)
	for _, name := range names {
		testkit.WriteFile(t, filepath.Join(name, "x"), "x")
	}
}

// TestDamagedIndex checks that an index that was damaged while the daemon was
// stopped is filled again.
func TestDamagedIndex(t *testing.T) {
	t.Parallel()
	const files = 40
	first := func(l *live) string { return l.segments()[0] }
	const either = -1
	list := func(l *live) string { return filepath.Join(l.store(), "store", "root.bolt") }
	small := func(name string) func(*live) string {
		return func(l *live) string { return filepath.Join(l.store(), name) }
	}
	for _, tt := range []struct {
		name   string
		what   func(*live) string
		damage func(*testing.T, ...string)
		aside  int // how often the damage causes the index to be removed, or either
	}{
		{"segment a byte shorter", first, shorter, 1},
		{"segment half", first, half, 1},
		{"segment empty", first, empty, 1},
		{"segment zeroed", first, zeroed, 1},
		{"segment twice as long", first, twice, 1},
		{"segment garbage", first, garbage, 1},
		{"segment removed", first, remove, 1},
		{"segment a directory", first, asDir, 1},
		{"list empty", list, empty, 1},
		{"list removed", list, remove, 0},
		{"list garbage", list, garbage, 1},
		{"list half", list, half, either}, // the second half may be unused
		{"list zeroed", list, zeroed, 1},
		{"list twice as long", list, twice, 0},
		{"list a directory", list, asDir, 1},
		{"store empty", (*live).store, func(t *testing.T, names ...string) { remove(t, names...); os.Mkdir(names[0], 0o700) }, 0},
		{"store removed", (*live).store, remove, 0},
		{"store a file", (*live).store, func(t *testing.T, names ...string) { remove(t, names...); testkit.WriteFile(t, names[0], "x") }, 0},
		{"everything removed", (*live).indexDir, remove, 0},
		{"version empty", small("version"), empty, 0},
		{"version removed", small("version"), remove, 0},
		{"version a directory", small("version"), asDir, 0},
		{"stray segment", (*live).store, func(t *testing.T, names ...string) {
			testkit.WriteFile(t, filepath.Join(names[0], "store", "0000000000ff.zap"), "x")
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLive(t, t.TempDir(), "")
			l.fill(files)
			l.start()
			if err := l.stop(); err != nil {
				t.Fatal(err)
			}
			tt.damage(t, tt.what(l))
			l.wantFirst(files)
			l.wantWell(files)
			got := l.aside()
			if got != tt.aside && tt.aside != either {
				t.Errorf("removed %d times, want %d", got, tt.aside)
			}
			// The rebuilt index is valid.
			if err := l.stop(); err != nil {
				t.Fatal(err)
			}
			l.wantFirst(files)
			l.wantWell(files)
			if again := l.aside(); again != got {
				t.Errorf("started again, removed %d times, want %d", again, got)
			}
		})
	}
}

// TestForbiddenSegment checks that an unreadable segment counts as a missing
// one.
func TestForbiddenSegment(t *testing.T) {
	t.Parallel()
	l := newSomebodys(t, "")
	l.fill(40)
	l.own()
	l.start()
	if err := l.stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(l.segments()[0], 0); err != nil {
		t.Fatal(err)
	}
	l.wantFirst(40)
	l.wantWell(40)
	if got := l.aside(); got != 1 {
		t.Errorf("set aside %d times, want 1", got)
	}
}

// TestFlippedBits checks that if one bit anywhere in the index is flipped,
// searches still find the content of the files.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	const files, workers = 40, 4
	flips := 12
	if os.Getenv("FAULTS") != "" {
		flips = 160
	}
	for w := range workers {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			t.Parallel()
			l := newLive(t, t.TempDir(), "")
			l.panics = true
			l.fill(files)
			l.start()
			for n := w; n < flips; n += workers {
				if err := l.stop(); err != nil {
					t.Fatal(err)
				}
				name, alone := l.segments()[0], len(l.segments()) == 1 // of several, some may be unused
				if n%2 == 1 {
					name = filepath.Join(l.store(), "store", "root.bolt")
				}
				var at, bit int
				each(func(b []byte) []byte {
					at, bit = rand.IntN(len(b)), rand.IntN(8)
					b[at] ^= 1 << bit
					return b
				})(t, name)
				before := l.aside()
				l.wantFirst(files)
				l.wantWell(files)
				if n%2 == 0 && alone && l.aside() != before+1 { // parts of root.bolt are unused
					t.Errorf("bit %d of byte %d of %s was not noticed", bit, at, filepath.Base(name))
				}
				if t.Failed() {
					t.Fatalf("bit %d of byte %d of %s was flipped", bit, at, filepath.Base(name))
				}
			}
		})
	}
}

// TestDamagedInUse damages the files of an index in use.
func TestDamagedInUse(t *testing.T) {
	t.Parallel()
	const files = 40
	for _, tt := range []struct {
		name   string
		damage func(*live)
	}{
		{"segments cut short", func(l *live) {
			for _, name := range l.segments() {
				if err := os.Truncate(name, 0); err != nil {
					l.t.Fatal(err)
				}
			}
		}},
		{"segments removed", func(l *live) { remove(l.t, l.segments()...) }},
		{"store removed", func(l *live) { remove(l.t, l.store()) }},
		{"everything removed", func(l *live) { remove(l.t, l.indexDir()) }},
		{"store moved", func(l *live) {
			if err := os.Rename(l.store(), l.store()+".away"); err != nil {
				l.t.Fatal(err)
			}
		}},
	} {
		for _, first := range []string{"asked", "written"} {
			t.Run(tt.name+" then "+first, func(t *testing.T) {
				t.Parallel()
				l := newLive(t, t.TempDir(), "")
				l.fill(files)
				l.start()
				if err := l.stop(); err != nil { // so that all is on disk
					t.Fatal(err)
				}
				l.start()
				l.panics = true
				tt.damage(l)
				if first == "asked" {
					if a := l.search(owner, "quince", nil); a.Total != files && !a.Index.Degraded {
						t.Errorf("asked, it finds %d of %d and seems complete", a.Total, files)
					}
				}
				l.write("2026-02-01/new.md", "- quince\n")
				l.until("the new one is found too", func() bool {
					var a api.SearchAnswer
					err := l.ask("search", owner.with(fields{"query": "quince", "limit": 100}), &a)
					return err == nil && a.Total == files+1
				})
				l.until("it is on disk again", func() bool {
					names, _ := filepath.Glob(filepath.Join(l.store(), "store", "*.zap"))
					_, err := os.Stat(filepath.Join(l.store(), "store", "root.bolt"))
					return err == nil && len(names) > 0
				})
				l.wantWell(files + 1) // before, the damage may not have been noticed
				if err := l.stop(); err != nil {
					t.Fatal(err)
				}
				l.wantFirst(files + 1)
				l.wantWell(files + 1)
			})
		}
	}
}
