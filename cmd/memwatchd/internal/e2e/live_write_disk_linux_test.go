package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/api"
)

// wantHeld checks that nothing comes of what is wished while something is wrong:
// files are as they were, status says why, and it is not tried all the time.
func (w *wave) wantHeld(state, words string) {
	w.t.Helper()
	w.until("status says why", func() bool {
		s := w.mustStatus()
		reasons := s.Todosync.Problem
		for _, t := range s.Todosync.Waiting {
			reasons += t.Reason
		}
		return s.Todosync.Planned == w.files && strings.Contains(reasons, words)
	})
	w.wantCalm(state)
	if done := w.done(); done > 0 {
		w.t.Errorf("while %s %d files were changed", state, done)
	}
	w.wantSettled()
}

// There is no room beside the files: they stay as they are, and are written when
// there is.
func TestWriteFullDisk(t *testing.T) {
	faults(t)
	root := filepath.Join(t.TempDir(), "root")
	mountSmall(t, root, "1m")
	c := &chores{live: startLive(t, root, eager)}
	c.noted()
	w := c.newWave("parcel", 5)
	fillDisk(t, root, 0)
	w.come()
	w.wantHeld("the disk is full", "no space left on device")
	emptyDisk(t, root)
	w.wantOnce()
}

// There is no room for what must not be forgotten, nor for the journal: no file
// is changed before there is.
func TestWriteNoRoomForJournal(t *testing.T) {
	t.Parallel()
	c := startWaves(t)
	w := c.newWave("parcel", 5)
	c.limitFiles(0)
	w.come()
	w.wantHeld("nothing can be written", "file too large")
	c.limitFiles(unix.RLIM_INFINITY)
	w.wantOnce()
}

// Files in directories that cannot be written are refused, and written when they
// can be.
func TestWriteReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	c := &chores{live: newSomebodys(t, eager)}
	w := c.newWave("parcel", 5)
	c.own()
	c.start()
	c.noted()
	chmod := func(mode os.FileMode) {
		t.Helper()
		for n := range w.files {
			if err := os.Chmod(filepath.Dir(c.path(w.path(n))), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	chmod(0o500)
	t.Cleanup(func() { chmod(0o700) })
	w.come()
	w.wantHeld("directories are read-only", "allow memwatchd to write the file and its directory")
	refused := c.mustStatus().Write.Refused
	if len(refused) != w.files || !slices.ContainsFunc(refused, func(s api.Skipped) bool { return s.Path == w.path(0) }) {
		t.Errorf("refused are %+v", refused)
	}
	chmod(0o700)
	if os.Getenv("FAULTS") != "" {
		// By itself in a while, which is long.
		w.within(10*time.Minute, "all are ticked", func() bool { return w.done() == w.files })
	}
	for n := range w.files {
		if err := os.Chtimes(c.path(w.path(n)), time.Time{}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	w.wantOnce()
	if refused := c.mustStatus().Write.Refused; len(refused) > 0 {
		t.Errorf("still refused are %+v", refused)
	}
}

// System calls fail while the daemon writes, for as long as they like: files are
// the old or the new version, and all are written in the end, once.
func TestWriteFailing(t *testing.T) {
	t.Parallel()
	needs(t, "strace")
	all := []failing{
		{calls: "renameat2", err: "EIO", when: "1+"},
		{calls: "fsync", err: "EIO", when: "1+"},
		{calls: "renameat2", err: "ENOSPC", when: "2+"},
		{calls: "renameat2", err: "EINTR", when: "1+3"},
		{calls: "openat", err: "ENOSPC", when: "1+2"},
		{calls: "openat", err: "EMFILE", when: "1+"},
		{calls: "openat", err: "EIO", when: "2+3"},
		{calls: "unlinkat", err: "EIO", when: "1+"},
		{calls: "fsync", err: "EIO", when: "1+2"},
	}
	if os.Getenv("FAULTS") == "" {
		all = all[:2]
	}
	for _, f := range all {
		t.Run(f.String(), func(t *testing.T) {
			c := startWaves(t)
			w := c.newWave("parcel", 4)
			var dirs []string
			for n := range w.files {
				dirs = append(dirs, filepath.Dir(c.path(w.path(n))))
			}
			end := c.fail(f, dirs...)
			w.come()
			c.until("it is tried", func() bool {
				s := c.mustStatus()
				return len(s.Todosync.Waiting) > 0 && s.Todosync.Waiting[0].Reason != "" || w.done() == w.files
			})
			c.wantCalm("system calls fail")
			w.done()
			end()
			w.wantOnce()
		})
	}
}
