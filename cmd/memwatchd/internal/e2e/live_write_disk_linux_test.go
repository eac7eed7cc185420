package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
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
