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

// wantHeld checks that no pending write is done while a fault lasts: files stay
// unchanged, the status contains the reason, and retries are limited.
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

// TestWriteFullDisk checks that without free space beside the files, they stay
// unchanged. They are written when there is space.
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

// TestWriteNoRoomForJournal checks that without free space for the record of
// tasks or for the journal, no file is changed.
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

// TestWriteReadOnlyDirectory checks that files in read-only directories are
// refused, and written when the directories become writable.
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
		// Without a change this takes long.
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

// TestWriteFailing makes system calls fail for an unlimited time while the
// daemon writes. Each file has its old or its new version, and in the end all
// are written, once.
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
