package e2e

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// kill kills the daemon without a shutdown.
func (l *live) kill() {
	l.t.Helper()
	testkit.Must(l.t, l.cmd.Process.Kill())
	<-l.done
	l.done = nil
}

// TestKilled checks that a daemon that is killed at any moment starts again
// with everything that it had acknowledged.
func TestKilled(t *testing.T) {
	t.Parallel()
	rounds := thorough(6, 100)
	const files = 300
	l := newLive(t, t.TempDir(), "")
	l.fill(files)
	want := map[string]string{} // the expected files
	for n := range files {
		path := fmt.Sprintf("2026-01-%02d/s%d.md", n%28+1, n)
		want[path] = fmt.Sprintf("- quince %d\n", n)
	}
	for round := range rounds {
		l.launch()
		end := time.Now().Add(time.Duration(20+rand.IntN(600)) * time.Millisecond)
		// Files are written, and those that a search finds are recorded.
		found := map[string]string{} // by path
		for n := 0; time.Now().Before(end); n++ {
			path := fmt.Sprintf("2026-02-%02d/w%d.md", n%28+1, rand.IntN(200))
			word := letters(round) + "x" + letters(n)
			want[path] = "- medlar\n- " + word + "\n"
			l.write(path, want[path])
			delete(found, path)
			var a api.SyncAnswer
			if n%4 == 0 && l.ask("sync", owner.with(fields{"timeout": "100ms"}), &a) == nil {
				found[path] = word
			}
		}
		l.kill()
		l.wantFirst(files)
		l.sync()
		for _, path := range sorted(found) {
			if got := texts(l.search(owner, found[path], nil)); len(got) != 1 || !strings.HasPrefix(got[0], path+":") {
				t.Errorf("round %d: %s was said to be found in %s, and now is as %q", round, found[path], path, got)
			}
		}
		l.wantTidy()
		if l.aside() > 0 {
			t.Error("a crash damages the index")
		}
		if round%5 == 4 || round == rounds-1 {
			l.sync()
			if c := l.check(); len(c.Differing) != 0 || c.Files != len(want) {
				t.Errorf("round %d: check says %+v", round, c)
			}
			if diff := cmp.Diff(want, l.tree()); diff != "" {
				t.Errorf("round %d: the files are not as they were written (-want +got):\n%s", round, diff)
			}
			testkit.Must(t, l.stop())
		} else {
			l.kill()
		}
		if t.Failed() {
			break
		}
	}
}

func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// temporary matches names that must not exist after a daemon has started, apart from
// its own cookie.
var temporary = regexp.MustCompile(`\.tmp$|^cookie-|^\.memwatchd-`)

// wantTidy checks that a killed daemon left no temporary files.
func (l *live) wantTidy() {
	l.t.Helper()
	left := func() (list []string) {
		base, own := filepath.Dir(l.config), fmt.Sprintf("cookie-%d-", l.cmd.Process.Pid)
		indexes := 0
		err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // it existed only for a moment
			}
			if temporary.MatchString(d.Name()) && !strings.HasPrefix(d.Name(), own) {
				list = append(list, path)
			}
			if strings.HasPrefix(d.Name(), "index-") {
				indexes++
				if indexes > 1 {
					list = append(list, path)
				}
			}
			return nil
		})
		testkit.Must(l.t, err)
		return list
	}
	l.until("nothing is left of the one that was killed", func() bool { return len(left()) == 0 })
}

// tree returns the contents of the files by path.
func (l *live) tree() map[string]string {
	l.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(l.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(l.root, path)
		files[rel] = string(text)
		return err
	})
	testkit.Must(l.t, err)
	return files
}

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
	for n := range thorough(120, 3000) {
		word, p := letters(n), savers[n%len(savers)]
		path := fmt.Sprintf("2026-02-%02d/s%d.md", n%20+1, n%37)
		if _, err := os.Stat(l.path(path)); err != nil {
			l.write(path, "# new\n\n")
		}
		syscall.ForkLock.RLock() // a program that another test starts would hold the file open
		err := p.save(l.path(path), "- "+word+"\n")
		syscall.ForkLock.RUnlock()
		testkit.Must(l.t, err)
		who := owner
		if n%2 == 0 {
			who = public
		}
		var a *api.SearchAnswer
		l.until("an answer includes the save", func() bool { // on a busy machine the time limit can end the wait
			a = l.search(who, word, nil)
			return a.Index.Synced
		})
		before, _, _ := strings.Cut(l.read(path), "- "+word)
		line := strings.Count(before, "\n") + 1
		if got, want := texts(a), fmt.Sprintf("%s:%d-%d - %s", path, line, line, word); len(got) != 1 || got[0] != want {
			l.t.Fatalf("round %d, %s: found %q, want %q; %+v", n, p.name, got, want, a.Index)
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
	var group sync.WaitGroup
	for part := range 4 {
		group.Go(func() {
			for d := part; d < dirs; d += 4 {
				for f := range each {
					if err := os.WriteFile(l.path(fmt.Sprintf("d%03d/f%d.md", d, f)), fmt.Appendf(nil, "- quince %d of %d\n", f, d), 0o600); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	group.Wait()
	l.within(10*time.Minute, "all files are indexed", func() bool { s, err := l.status(); return err == nil && s.Files == dirs*each })
	l.sync()
	s := l.mustStatus()
	t.Logf("%d overflows, peak %d MiB", s.Watch.Overflows, l.peak())
	if a := l.search(owner, "quince", fields{"limit": 1}); a.Total != dirs*each || s.Files != dirs*each {
		t.Errorf("of %d files %d are found, status says %d", dirs*each, a.Total, s.Files)
	}
	if limit := s.Watch.Limit; limit > 2*dirs && (s.Watch.Directories != dirs+1 || !s.Healthy) {
		t.Errorf("status %+v", s)
	}
}
