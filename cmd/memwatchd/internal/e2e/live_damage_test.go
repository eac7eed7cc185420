package e2e

import (
	"fmt"
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
		names, err = filepath.Glob(filepath.Join(l.store(), "store", "*.zap"))
		testkit.Must(l.t, err)
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

// change changes every file by fn.
func change(t *testing.T, fn func(data []byte) []byte, names ...string) {
	t.Helper()
	for _, name := range names {
		data, err := os.ReadFile(name)
		testkit.Must(t, err)
		testkit.Must(t, os.WriteFile(name, fn(data), 0o600))
	}
}

func shorter(t *testing.T, names ...string) {
	change(t, func(b []byte) []byte { return b[:len(b)-1] }, names...)
}

func garbage(t *testing.T, names ...string) {
	change(t, func([]byte) []byte { return []byte("garbage\n") }, names...)
}

func remove(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		testkit.Must(t, os.RemoveAll(name))
	}
}

// TestDamagedIndex checks that an index that was damaged while the daemon was
// stopped is filled again.
func TestDamagedIndex(t *testing.T) {
	t.Parallel()
	const files = 40
	first := func(l *live) string { return l.segments()[0] }
	list := func(l *live) string { return filepath.Join(l.store(), "store", "root.bolt") }
	for _, tt := range []struct {
		name   string
		what   func(*live) string
		damage func(*testing.T, ...string)
		aside  int // how often the damage causes the index to be removed
	}{
		{"segment a byte shorter", first, shorter, 1},
		{"segment garbage", first, garbage, 1},
		{"list garbage", list, garbage, 1},
		{"store a file", (*live).store, func(t *testing.T, names ...string) { remove(t, names...); testkit.WriteFile(t, names[0], "x") }, 0},
		{"everything removed", (*live).indexDir, remove, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLive(t, t.TempDir(), "")
			l.fill(files)
			l.start()
			testkit.Must(t, l.stop())
			tt.damage(t, tt.what(l))
			l.wantFirst(files)
			l.wantWell(files)
			got := l.aside()
			if got != tt.aside {
				t.Errorf("removed %d times, want %d", got, tt.aside)
			}
			// The rebuilt index is valid.
			testkit.Must(t, l.stop())
			l.wantFirst(files)
			l.wantWell(files)
			if again := l.aside(); again != got {
				t.Errorf("started again, removed %d times, want %d", again, got)
			}
		})
	}
}

// TestDamagedInUse damages the files of an index in use, and then asks or writes.
func TestDamagedInUse(t *testing.T) {
	t.Parallel()
	const files = 40
	for name, damage := range map[string]func(*live){
		"segments cut short": func(l *live) { change(l.t, func([]byte) []byte { return nil }, l.segments()...) },
		"everything removed": func(l *live) { remove(l.t, l.indexDir()) },
	} {
		for _, asked := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, asked %t", name, asked), func(t *testing.T) {
				t.Parallel()
				l := newLive(t, t.TempDir(), "")
				l.fill(files)
				l.start()
				testkit.Must(t, l.stop()) // so that all is on disk
				l.start()
				l.panics = true
				damage(l)
				if asked {
					if a := l.search(owner, "quince", nil); a.Total != files && !a.Index.Degraded {
						t.Errorf("asked, it finds %d of %d and seems complete", a.Total, files)
					}
				}
				l.write("2026-02-01/new.md", "- quince\n")
				l.until("the new one is found too, and the index is on disk again", func() bool {
					var a api.SearchAnswer
					err := l.ask("search", owner.with(fields{"query": "quince", "limit": 100}), &a)
					_, onDisk := os.Stat(filepath.Join(l.store(), "store", "root.bolt"))
					return err == nil && a.Total == files+1 && onDisk == nil && len(l.segments()) > 0
				})
				l.wantWell(files + 1) // before, the damage may not have been noticed
				testkit.Must(t, l.stop())
				l.wantFirst(files + 1)
				l.wantWell(files + 1)
			})
		}
	}
}
