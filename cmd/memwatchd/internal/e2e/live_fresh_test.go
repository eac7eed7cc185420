package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// faults skips a test that takes long or needs the machine for itself, unless
// FAULTS is set.
func faults(t *testing.T) {
	t.Helper()
	if os.Getenv("FAULTS") == "" {
		t.Skip("only with FAULTS=1, as make faults sets it")
	}
}

// TestSavedIsFound checks that an answer that claims to include all saves finds
// the last one, for every caller and every way of saving.
func TestSavedIsFound(t *testing.T) {
	t.Parallel()
	l := startLive(t, t.TempDir(), "")
	l.savedIsFound()
}

// TestRaceSavedIsFoundInACrowd checks the same as TestSavedIsFound, while a hundred
// other files a second change.
func TestRaceSavedIsFoundInACrowd(t *testing.T) {
	t.Parallel()
	l := startLive(t, t.TempDir(), "")
	over := make(chan struct{})
	var crowd sync.WaitGroup
	defer crowd.Wait()
	defer close(over)
	crowd.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			path := l.path(fmt.Sprintf("2026-01-%02d/crowd%d.md", n%28+1, n%200))
			os.MkdirAll(filepath.Dir(path), 0o700)
			if err := os.WriteFile(path, fmt.Appendf(nil, "- one of the crowd, %d\n", n), 0o600); err != nil {
				t.Error(err)
				return
			}
		}
	})
	l.savedIsFound()
}

func (l *live) savedIsFound() {
	l.t.Helper()
	missed := 0
	for n := range thorough(120, 3000) {
		word := letters(n)
		path := fmt.Sprintf("2026-02-%02d/s%d.md", n%20+1, n%37)
		line := 1
		switch n % 3 {
		case 0: // in place
			l.write(path, "- "+word+"\n")
		case 1: // another file, renamed
			l.write(path+".tmp", "# renamed\n\n- "+word+"\n")
			testkit.Must(l.t, os.Rename(l.path(path+".tmp"), l.path(path)))
			line = 3
		case 2: // a line more
			text, err := os.ReadFile(l.path(path))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				l.t.Fatal(err)
			}
			if text == nil {
				l.write(path, "")
			}
			f, err := os.OpenFile(l.path(path), os.O_WRONLY|os.O_APPEND, 0)
			testkit.Must(l.t, err)
			if _, err := fmt.Fprintf(f, "- %s\n", word); err != nil {
				l.t.Fatal(err)
			}
			testkit.Must(l.t, f.Close())
			line = strings.Count(string(text), "\n") + 1
		}
		who := owner
		if n%2 == 0 {
			who = public
		}
		var a *api.SearchAnswer
		l.until("an answer includes the save", func() bool { // on a busy machine the time limit can end the wait
			a = l.search(who, word, nil)
			return a.Index.Synced
		})
		want := fmt.Sprintf("%s:%d-%d - %s", path, line, line, word)
		if got := texts(a); len(got) != 1 || got[0] != want {
			missed++
			l.t.Errorf("round %d: found %q, want %q; %+v", n, got, want, a.Index)
		}
		if missed == 5 {
			l.t.Fatal("and so on")
		}
	}
}

// letters returns a word for each number. A word with digits would be split.
func letters(n int) string {
	return "x" + strings.Map(func(r rune) rune { return rune("bcdfghjklm"[r-'0']) }, fmt.Sprint(n))
}

// TestOverflow checks that after more events than the system queues, one scan finds
// all files.
func TestOverflow(t *testing.T) {
	t.Parallel()
	l := startLive(t, t.TempDir(), "")
	const each = 100
	dirs := thorough(60, 1000)
	for d := range dirs {
		testkit.Must(t, os.Mkdir(l.path(fmt.Sprintf("d%03d", d)), 0o700))
	}
	l.sync()
	l.suspend() // so that it cannot keep up
	time.AfterFunc(3*time.Second, func() { l.cmd.Process.Signal(syscall.SIGCONT) })
	l.manyFiles(dirs, each)
	if s := l.mustStatus(); s.Watch.Overflows == 0 {
		t.Logf("so many events were kept after all: %+v", s.Watch)
	}
}

func (l *live) manyFiles(dirs, each int) {
	t := l.t
	t.Helper()
	began := time.Now()
	var group sync.WaitGroup
	for part := range 4 {
		group.Go(func() {
			for d := part; d < dirs; d += 4 {
				for f := range each {
					path := l.path(fmt.Sprintf("d%03d/f%d.md", d, f))
					if f == 0 {
						os.MkdirAll(filepath.Dir(path), 0o700)
					}
					if err := os.WriteFile(path, fmt.Appendf(nil, "- quince %d of %d\n", f, d), 0o600); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	group.Wait()
	made := time.Since(began)
	l.sync()
	a := l.search(owner, "quince", fields{"limit": 1})
	s := l.mustStatus()
	t.Logf("%d files made in %.1f s, found after %.1f s; %d overflows, peak %d MiB, now %d MiB",
		dirs*each, made.Seconds(), time.Since(began).Seconds(), s.Watch.Overflows, l.peak(), l.resident())
	if a.Total != dirs*each || s.Files != dirs*each {
		t.Errorf("of %d files %d are found, status says %d", dirs*each, a.Total, s.Files)
	}
	if limit := s.Watch.Limit; limit > 2*dirs && (s.Watch.Directories != dirs+1 || !s.Healthy) {
		t.Errorf("status %+v", s)
	}
	for range 100 {
		d, f := rand.IntN(dirs), rand.IntN(each)
		path := fmt.Sprintf("d%03d/f%d.md", d, f)
		if a := l.search(owner, "quince", fields{"path": path}); a.Total != 1 {
			t.Errorf("%s is not found", path)
		}
	}
}

// TestUserDirectoryChangesWhileStopped makes a directory a user's, or lets it
// stop being one, while no daemon runs and without a change of its files. Their
// owner follows at the next start.
func TestUserDirectoryChangesWhileStopped(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), "")
	l.write("carol/MEMORY.md", "# Carol\n")
	l.write("carol/memory/notes.md", "- quince\n")
	l.start()
	carol := fields{"subject": "carol", "context": "private"}
	for _, is := range []bool{true, false, true} {
		if got := len(l.search(carol, "quince", nil).Hits); (got == 1) != is {
			t.Errorf("the directory is a user's: %v, and the user finds %d entries", is, got)
		}
		testkit.Must(t, l.stop())
		if is {
			testkit.Must(t, os.Remove(l.path("carol/MEMORY.md")))
		} else {
			l.write("carol/MEMORY.md", "# Carol\n")
		}
		l.start()
	}
}
