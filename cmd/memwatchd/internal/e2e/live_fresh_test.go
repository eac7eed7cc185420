package e2e

import (
	"crypto/sha256"
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
	rounds := 300
	if os.Getenv("FAULTS") != "" {
		rounds = 3000
	}
	missed := 0
	for n := range rounds {
		word := letters(n)
		path := fmt.Sprintf("2026-02-%02d/s%d.md", n%20+1, n%37)
		line := 1
		switch n % 3 {
		case 0: // in place
			l.write(path, "- "+word+"\n")
		case 1: // another file, renamed
			l.write(path+".tmp", "# renamed\n\n- "+word+"\n")
			if err := os.Rename(l.path(path+".tmp"), l.path(path)); err != nil {
				l.t.Fatal(err)
			}
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
			if err != nil {
				l.t.Fatal(err)
			}
			if _, err := fmt.Fprintf(f, "- %s\n", word); err != nil {
				l.t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				l.t.Fatal(err)
			}
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

// TestSavedIsChanged checks that edit and write, requested right after a save,
// know the saved text: in new and in existing files, saved in place or by
// renaming.
func TestSavedIsChanged(t *testing.T) {
	t.Parallel()
	l := startLive(t, t.TempDir(), "")
	const rounds = 60
	save := func(path, text string, rename bool) {
		t.Helper()
		if !rename {
			l.write(path, text)
			return
		}
		l.write(path+".tmp", text)
		if err := os.Rename(l.path(path+".tmp"), l.path(path)); err != nil {
			t.Fatal(err)
		}
	}
	changed := map[string]int{}
	change := func(op, path, want string, request fields) {
		t.Helper()
		var a api.EditAnswer
		err := l.ask(op, owner.with(fields{"path": path}).with(request), &a)
		got, readErr := os.ReadFile(l.path(path))
		if err != nil || readErr != nil || !a.Changed || string(got) != want {
			t.Errorf("%s %s: %v, %v; changed %v, the file is %q", op, path, err, readErr, a.Changed, got)
			return
		}
		changed[op]++
	}
	for n := range rounds {
		path, word := fmt.Sprintf("notes/n%d.md", n%(rounds/2)), letters(n) // each file is new, later there
		save(path, "- "+word+" is saved\n", n%4 < 2)
		change("edit", path, "- "+word+" is edited\n", fields{"old_text": word + " is saved", "new_text": word + " is edited"})
		saved := "- " + word + " is saved again\n"
		save(path, saved, n%4 >= 2)
		change("write", path, "- "+word+" is written\n",
			fields{"text": "- " + word + " is written\n", "hash": fmt.Sprintf("%x", sha256.Sum256([]byte(saved)))})
	}
	t.Logf("of %d saves each, %d were edited and %d written", rounds, changed["edit"], changed["write"])
}

// letters returns a word for each number. A word with digits would be split.
func letters(n int) string {
	return "x" + strings.Map(func(r rune) rune { return rune("bcdfghjklm"[r-'0']) }, fmt.Sprint(n))
}

// TestNewDirectories checks that files written into new directories are found.
func TestNewDirectories(t *testing.T) {
	t.Parallel()
	l := startLive(t, t.TempDir(), "")
	const trees = 100
	for n := range trees {
		for depth := 1; depth <= 3; depth++ {
			dir := fmt.Sprintf("n%d", n) + strings.Repeat("/d", depth-1)
			l.write(dir+"/f.md", fmt.Sprintf("- quince %d %d\n", n, depth))
		}
		if n%10 != 0 {
			continue
		}
		a := l.search(owner, fmt.Sprintf("quince %d", n), fields{"path": fmt.Sprintf("n%d/**", n)})
		if a.Total != 3 || !a.Index.Synced {
			t.Errorf("of 3 files in directories that are milliseconds old %d are found: %+v", a.Total, a.Index)
		}
	}
	if a := l.search(owner, "quince", nil); a.Total != 3*trees || !a.Index.Synced {
		t.Errorf("of %d files in new directories %d are found: %+v", 3*trees, a.Total, a.Index)
	}
	s := l.mustStatus()
	if s.Watch.Overflows != 0 || len(s.Watch.Polled) != 0 || s.Watch.Directories != 3*trees+1 {
		t.Errorf("%+v: the watches should have been enough", s.Watch)
	}
}

// TestRaceMovedDirectories checks that a moved directory is found at its new path
// only.
func TestRaceMovedDirectories(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	l := newLive(t, filepath.Join(base, "root"), "")
	for n := range 40 { // so that never half of all files is missing at once
		l.write(fmt.Sprintf("2026-01-%02d/stays.md", n%28+1), "- stays\n")
		l.write(fmt.Sprintf("notes/stays%d.md", n), "- stays\n")
	}
	l.write("2026-02-04/a.md", "- quince at the top\n")
	l.write("2026-02-04/deep/er/b.md", "- quince below\n")
	l.start()
	want := func(how, dir string) {
		t.Helper()
		var list []string
		if dir != "" {
			list = []string{dir + "/a.md:1-1 - quince at the top", dir + "/deep/er/b.md:1-1 - quince below"}
		}
		a := l.search(owner, "quince", nil)
		if got := texts(a); fmt.Sprint(got) != fmt.Sprint(list) {
			t.Errorf("%s: found %q, want %q; %+v", how, got, list, a.Index)
		}
	}
	before := "2026-02-04"
	move := func(how, from, to string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
		dir, err := filepath.Rel(l.root, to)
		if err != nil || strings.HasPrefix(dir, "..") {
			dir = ""
		}
		want(how, dir)
		// It is watched at its new path, two levels down too.
		if dir != "" {
			l.write(dir+"/deep/er/c.md", "- medlar "+how+"\n")
			if got := texts(l.search(owner, "medlar", nil)); len(got) != 1 || !strings.HasPrefix(got[0], dir+"/deep/er/c.md:1-1 ") {
				t.Errorf("%s: what is written there afterwards is found as %q", how, got)
			}
			if err := os.Remove(l.path(dir + "/deep/er/c.md")); err != nil {
				t.Fatal(err)
			}
			want(how, dir)
		}
		if before != "" {
			for _, path := range []string{before + "/a.md", before + "/deep/er/b.md"} {
				if _, err := l.get(owner, path); err == nil || !strings.Contains(err.Error(), "not_found") {
					t.Errorf("%s: the old path %s answers %v, want not_found", how, path, err)
				}
			}
		}
		before = dir
	}
	away := filepath.Join(base, "away")
	want("at first", "2026-02-04")
	move("renamed", l.path("2026-02-04"), l.path("2026-02-05"))
	move("renamed and back", l.path("2026-02-05"), l.path("2026-02-04"))
	move("moved out", l.path("2026-02-04"), away)
	// Changes outside the memory are ignored.
	testkit.WriteFile(t, filepath.Join(away, "deep/er/ghost.md"), "- ghost\n")
	if a := l.search(owner, "ghost", nil); a.Total != 0 {
		t.Errorf("what happens in a directory that was moved out is found: %q", texts(a))
	}
	if err := os.Remove(filepath.Join(away, "deep/er/ghost.md")); err != nil {
		t.Fatal(err)
	}
	move("moved in", away, l.path("2026-02-06"))
	move("nested in another", l.path("2026-02-06"), l.path("notes/old/2026-02-06"))
	move("up again", l.path("notes/old/2026-02-06"), l.path("2026-02-07"))
	l.sync()
	if c := l.check(); len(c.Differing) != 0 {
		t.Errorf("afterwards check finds %+v", c.Differing)
	}
}

// TestFiftyThousandFiles checks that all of very many files saved at once are
// found after sync.
func TestFiftyThousandFiles(t *testing.T) {
	faults(t)
	l := startLive(t, t.TempDir(), "")
	l.manyFiles(500, 100)
}

// TestTenThousandFiles checks that after more events than the system queues,
// one scan finds all files.
func TestTenThousandFiles(t *testing.T) {
	t.Parallel()
	l := startLive(t, t.TempDir(), "")
	const dirs, each = 100, 100
	for d := range dirs {
		if err := os.Mkdir(l.path(fmt.Sprintf("d%03d", d)), 0o700); err != nil {
			t.Fatal(err)
		}
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

// TestAppender checks that a file that a program keeps open and appends to is
// found. Until it is complete, only its owner sees it.
func TestAppender(t *testing.T) {
	t.Parallel()
	l := startLive(t, t.TempDir(), "watch: {max_wait: 4s}\n") // time for a search on a busy machine
	const path = "2026-02-04/log.md"
	l.write(path, "- quince 0\n")
	l.sync()
	f, err := os.OpenFile(l.path(path), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	began := time.Now()
	for n := 1; n <= 3; n++ {
		if _, err := fmt.Fprintf(f, "- quince %d\n", n); err != nil {
			t.Fatal(err)
		}
		if n == 1 && l.search(public, "quince", nil).Total != 1 {
			t.Error("what it was before is gone while it is written")
		}
		l.until("what was appended is found", func() bool { return l.search(owner, "quince", nil).Total == n+1 })
		if a := l.search(public, "quince", nil); a.Total != 0 {
			t.Errorf("what is still being written is shown in public: %q", texts(a))
		}
		if c := l.check(); len(c.Differing) != 0 {
			t.Errorf("check finds %+v", c.Differing)
		}
	}
	t.Logf("3 times appended and found in %.1f s", time.Since(began).Seconds())
	// A closed file is complete, although closing changes nothing.
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, who := range []fields{owner, public} {
		if a := l.search(who, "quince", nil); a.Total != 4 {
			t.Errorf("when it is closed %v finds %q; %+v", who, texts(a), a.Index)
		}
	}
}

// TestRaceVerySlowWriter checks that if a write takes longer than the maximum
// wait, only the owner sees the half-written file. After the write no reader
// does.
func TestRaceVerySlowWriter(t *testing.T) {
	t.Parallel()
	l := startLive(t, t.TempDir(), "watch: {max_wait: 300ms}\n")
	const path = "2026-02-04/slow.md"
	l.write(path, "- quince of the old version\n- quince too\n")
	want := []string{path + ":1-1 - quince of the old version", path + ":2-2 - quince too"}
	if got := texts(l.search(public, "quince", nil)); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("at first %q", got)
	}
	f, err := os.Create(l.path(path))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for n := range 20 {
		if _, err := fmt.Fprintf(f, "- quince %d of the new version\n", n); err != nil {
			t.Fatal(err)
		}
		for _, sync := range []bool{true, false} {
			got := texts(l.search(public, "quince", fields{"sync": sync}))
			if len(got) != 0 && fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("after %d lines the public sees %q", n+1, got)
			}
		}
		time.Sleep(50 * time.Millisecond) // a slow writer
	}
	l.until("the owner sees what there is", func() bool { return l.search(owner, "new version", nil).Total > 0 })
	syscall.ForkLock.RLock() // ensures that no program started by another test inherits the file
	err = f.Close()
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []fields{public, owner} {
		if a := l.search(who, "quince", nil); a.Total != 20 || !a.Index.Synced {
			t.Errorf("in the end %v finds %d lines, want 20; %+v", who, a.Total, a.Index)
		}
	}
	var gone api.SearchAnswer
	l.must("search", owner.with(fields{"query": `"old version"`, "phrase": "required"}), &gone)
	if gone.Total != 0 {
		t.Errorf("the old version is still found: %q", texts(&gone))
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
		if err := l.stop(); err != nil {
			t.Fatal(err)
		}
		if is {
			if err := os.Remove(l.path("carol/MEMORY.md")); err != nil {
				t.Fatal(err)
			}
		} else {
			l.write("carol/MEMORY.md", "# Carol\n")
		}
		l.start()
	}
}
