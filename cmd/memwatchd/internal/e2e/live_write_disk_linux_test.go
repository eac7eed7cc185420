package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
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

// A failing selects system calls that fail, and their error: see strace(1).
type failing struct {
	calls, err string
	when       string // which calls of each thread: 3 is the third, 3+ the third and all later ones
}

func (f failing) String() string {
	return f.calls + " " + f.when + " " + f.err
}

// fail makes calls of the running daemon on these paths fail, until end is called.
func (l *live) fail(f failing, on ...string) (end func()) {
	l.t.Helper()
	needs(l.t, "strace")
	pid := strconv.Itoa(l.cmd.Process.Pid)
	args := []string{"-f", "-qq", "-o", "/dev/null", "-e", "trace=" + f.calls,
		"-e", fmt.Sprintf("inject=%s:error=%s:when=%s", f.calls, f.err, f.when), "-p", pid}
	for _, path := range on {
		args = append(args, "-P", path)
	}
	cmd := exec.Command("strace", args...)
	var log testkit.Output
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	over := false
	end = func() {
		if !over {
			over = true
			cmd.Process.Signal(syscall.SIGINT)
			<-ended
		}
	}
	l.t.Cleanup(end)
	l.until("all threads are traced", func() bool {
		select {
		case <-ended:
			l.t.Skipf("calls of a process cannot be made to fail here: %s", log.String())
		default:
		}
		threads, err := filepath.Glob("/proc/" + pid + "/task/*/status")
		if err != nil || len(threads) == 0 {
			return false
		}
		for _, name := range threads {
			text, err := os.ReadFile(name)
			if err != nil || strings.Contains(string(text), "TracerPid:\t0\n") {
				return false
			}
		}
		return true
	})
	return end
}
