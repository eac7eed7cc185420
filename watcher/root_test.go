package watcher_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/watcher"
)

// fill writes n files and returns a function that counts the known ones.
func (r *rig) fill(dir string, n int) (known func() int) {
	r.t.Helper()
	for i := range n {
		r.write(fmt.Sprintf("%s/%03d.md", dir, i), dir)
	}
	return func() int {
		count := 0
		for i := range n {
			if _, ok := r.index.content(fmt.Sprintf("%s/%03d.md", dir, i)); ok {
				count++
			}
		}
		return count
	}
}

func (r *rig) waitRootState(want string) {
	r.t.Helper()
	r.eventually("root "+want, func() bool { return r.Status().Root == want })
}

// wantHealthy checks that the status contains no problem.
func (r *rig) wantHealthy() {
	r.t.Helper()
	if s := r.Status(); s.Root != watcher.RootWatched || s.Held != 0 || len(s.Polled) != 0 || len(s.Warnings) != 0 {
		r.t.Errorf("status %+v, want a healthy one", s)
	}
}

// TestRootMissing checks that the watcher waits for a missing root and keeps
// the known files.
func TestRootMissing(t *testing.T) {
	r := newRig(t)
	away := r.root + ".away"
	r.must(os.Rename(r.root, away))
	r.start()
	if s := r.Status(); s.Root != watcher.RootMissing || len(s.Warnings) != 1 || s.Directories != 0 {
		t.Errorf("status %+v", s)
	}
	r.must(os.Rename(away, r.root))
	r.write("d/x.md", "here at last")
	r.sync() // the sync finds the root
	r.want("d/x.md", "here at last")
	r.wantHealthy()
	for i := range 3 {
		before, _ := r.index.content("d/x.md")
		r.must(os.Rename(r.root, away))
		r.waitRootState(watcher.RootMissing)
		r.sync()
		r.want("d/x.md", before)
		r.must(os.WriteFile(filepath.Join(away, "d/x.md"), fmt.Append(nil, "written while away ", i), 0o600))
		r.must(os.Rename(away, r.root))
		r.sync()
		r.want("d/x.md", fmt.Sprint("written while away ", i))
		r.write("d/x.md", fmt.Sprint("written after ", i))
		r.sync()
		r.want("d/x.md", fmt.Sprint("written after ", i))
		r.wantHealthy()
	}
	if n := r.logs.count("WARN memory directory is missing, waiting"); n != 4 {
		t.Errorf("%d lines about a missing root, want 4: %q", n, r.logs.lines)
	}
}

// TestRootIsLink checks that the root may be a link and that its target may
// change at any time.
func TestRootIsLink(t *testing.T) {
	r := newRig(t)
	r.must(os.Remove(r.root))
	for _, name := range []string{"one", "two"} {
		r.write("../"+name+"/d/x.md", name)
	}
	r.must(os.Symlink("one", r.root))
	r.start()
	r.want("d/x.md", "one")
	r.write("d/x.md", "one again")
	r.sync()
	r.want("d/x.md", "one again")
	r.must(os.Remove(r.root))
	r.must(os.Symlink("two", r.root))
	r.sync()
	r.want("d/x.md", "two")
	r.write("d/x.md", "two again")
	r.sync()
	r.want("d/x.md", "two again")
	r.wantHealthy()
}

// TestHold checks that half of all files missing at once are held until a
// second scan agrees, and that the second scan must not be too soon.
func TestHold(t *testing.T) {
	r := newRig(t)
	known := r.fill("most", 30)
	r.fill("rest", 10)
	r.start()
	away := filepath.Join(r.dir, "away")
	r.must(os.Rename(r.path("most"), away))
	r.write("rest/000.md", "changed")
	r.sync()
	r.want("rest/000.md", "changed")
	r.Rescan()
	r.sync()
	if s := r.Status(); s.Held != 30 || known() != 30 || len(s.Warnings) != 1 {
		t.Errorf("%d are known, status %+v, want 30 held", known(), s)
	}
	r.must(os.Remove(filepath.Join(away, "007.md")))
	r.must(os.Rename(away, r.path("most")))
	r.Rescan()
	r.sync()
	if known() != 29 {
		t.Errorf("%d are known, want 29", known())
	}
	r.wantDisk()
	r.wantHealthy()
	if n := r.logs.count("WARN many files disappeared at once, keeping their entries until a second scan"); n != 1 {
		t.Errorf("%d lines about files that are gone, want 1: %q", n, r.logs.lines)
	}
}

func TestHoldEnds(t *testing.T) {
	r := newRig(t)
	r.Reconcile = 100 * time.Millisecond
	known := r.fill("d/most", 30)
	r.start()
	r.must(os.Rename(r.path("d"), filepath.Join(r.t.TempDir(), "d"))) // atomic, unlike RemoveAll
	r.eventually("believed", func() bool { return known() == 0 })
	r.eventually("over", func() bool { return r.Status().Held == 0 })
	r.wantHealthy()
	if n := r.logs.count("WARN many files disappeared at once, keeping their entries until a second scan"); n != 1 {
		t.Errorf("%d lines about files that are gone, want 1: %q", n, r.logs.lines)
	}
}

// TestGitRemoves checks that many files that git removes are not held, and that a
// change of git before the last scan is no reason for that.
func TestGitRemoves(t *testing.T) {
	for _, c := range []struct {
		name    string
		changed time.Duration // of git, after the start
		want    int           // known files
	}{{"checkout", time.Hour, 0}, {"earlier commit", -time.Hour, 30}} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			changed := time.Now().Add(c.changed)
			r.GitChanged = func(since time.Time) bool { return changed.After(since) }
			known := r.fill("d", 30)
			r.start()
			r.must(os.Rename(r.path("d"), filepath.Join(t.TempDir(), "d")))
			r.Rescan()
			r.sync()
			if s := r.Status(); known() != c.want || s.Held != c.want {
				t.Errorf("%d are known, %d held, want %d", known(), s.Held, c.want)
			}
		})
	}
}
