package watcher_test

import (
	"fmt"
	"os"
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
			if r.index.content(fmt.Sprintf("%s/%03d.md", dir, i)) != "" {
				count++
			}
		}
		return count
	}
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
	const away = "../away"
	r.rename("", away)
	r.start()
	if s := r.Status(); s.Root != watcher.RootMissing || len(s.Warnings) != 1 || s.Directories != 0 {
		t.Errorf("status %+v", s)
	}
	r.rename(away, "")
	r.save("d/x.md", "here at last")
	r.wantHealthy()
	for i := range 3 {
		before := r.index.content("d/x.md")
		r.rename("", away)
		r.eventually("missing", func() bool { return r.Status().Root == watcher.RootMissing })
		r.sync()
		r.want("d/x.md", before)
		r.write(away+"/d/x.md", fmt.Sprint("written while away ", i))
		r.rename(away, "")
		r.sync()
		r.want("d/x.md", fmt.Sprint("written while away ", i))
		r.save("d/x.md", fmt.Sprint("written after ", i))
		r.wantHealthy()
	}
	r.wantLogged("WARN memory directory is missing, waiting", 4)
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
	r.save("d/x.md", "one again")
	r.must(os.Remove(r.root))
	r.must(os.Symlink("two", r.root))
	r.sync()
	r.want("d/x.md", "two")
	r.save("d/x.md", "two again")
	r.wantHealthy()
}

// TestHold checks that half of all files missing at once are held until a
// second scan agrees, and that the second scan must not be too soon.
func TestHold(t *testing.T) {
	r := newRig(t)
	known := r.fill("most", 30)
	r.fill("rest", 10)
	r.start()
	r.rename("most", "../away")
	r.save("rest/000.md", "changed")
	r.rescan()
	if s := r.Status(); s.Held != 30 || known() != 30 || len(s.Warnings) != 1 {
		t.Errorf("%d are known, status %+v, want 30 held", known(), s)
	}
	r.must(os.Remove(r.path("../away/007.md")))
	r.rename("../away", "most")
	r.rescan()
	if known() != 29 {
		t.Errorf("%d are known, want 29", known())
	}
	r.wantDisk()
	r.wantHealthy()
	r.wantLogged("WARN many files disappeared at once, keeping their entries until a second scan", 1)
}

func TestHoldEnds(t *testing.T) {
	r := newRig(t)
	r.Reconcile = 100 * time.Millisecond
	known := r.fill("d/most", 30)
	r.start()
	r.rename("d", "../d") // atomic, unlike RemoveAll
	r.eventually("believed", func() bool { return known() == 0 })
	r.eventually("over", func() bool { return r.Status().Held == 0 })
	r.wantHealthy()
	r.wantLogged("WARN many files disappeared at once, keeping their entries until a second scan", 1)
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
			r.rename("d", "../d")
			r.rescan()
			if s := r.Status(); known() != c.want || s.Held != c.want {
				t.Errorf("%d are known, %d held, want %d", known(), s.Held, c.want)
			}
		})
	}
}
