package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// wantFailing checks that everything works while nothing can be written, and
// that the status reports it in these words.
func (l *live) wantFailing(round, files int, words string) {
	l.t.Helper()
	for n := range 40 {
		l.write(fmt.Sprintf("2026-03-%02d/n%d.md", n%20+1, n), fmt.Sprintf("- quince\n- medlar %s\n", letters(round*100+n)))
		if n%10 == 0 {
			if a := l.search(owner, "medlar "+letters(round*100+n), nil); a.Total == 0 || a.Hits[0].Path != fmt.Sprintf("2026-03-%02d/n%d.md", n%20+1, n) {
				l.t.Errorf("what was saved is found as %q; %+v", texts(a), a.Index)
			}
		}
	}
	files += 40
	l.until("status says it", func() bool {
		s := l.mustStatus()
		return !s.Healthy && s.Index.Degraded && strings.Contains(s.Index.Problem, words)
	})
	out, err := l.command("status").CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != cli.ExitUnhealthy || !strings.Contains(string(out), words) {
		l.t.Errorf("the command ends with %v, and prints:\n%s", err, out)
	}
	for _, who := range []fields{owner, public} {
		if a := l.search(who, "quince", fields{"limit": 1}); a.Total != files || !a.Index.Synced {
			l.t.Errorf("%v finds %d of %d: %+v", who, a.Total, files, a.Index)
		}
	}
}

// limitFiles makes writes beyond a file size fail.
func (l *live) limitFiles(most uint64) {
	l.t.Helper()
	limit := unix.Rlimit{Cur: most, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(l.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		l.t.Skipf("the size of files cannot be limited here: %v", err)
	}
}

// TestNothingCanBeWritten checks that if no file can be written, the daemon
// continues, reports it, and recovers afterwards.
func TestNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	const files = 60
	l := newLive(t, t.TempDir(), "")
	l.fill(files)
	l.start()
	l.limitFiles(0)
	l.wantFailing(0, files, "file too large")
	l.wantCalm("nothing can be written")
	l.limitFiles(unix.RLIM_INFINITY)
	l.wantWell(files + 40)
	l.until("the log says that it is over", func() bool {
		return strings.Contains(l.log.String(), "index is saved to disk again")
	})
	// It was written to disk.
	l.kill()
	l.wantFirst(files + 40)
	l.wantWell(files + 40)
	l.limitFiles(0)
	l.wantFailing(1, files, "file too large")
	if err := l.stop(); err != nil { // it tries, but not for long
		t.Errorf("it ended with: %v", err)
	}
	l.wantFirst(files + 40)
	l.wantWell(files + 40)
	if l.aside() != 0 {
		t.Error("an index that could not be written is not damaged")
	}
	away := filepath.Join(t.TempDir(), "away")
	testkit.Must(t, os.Rename(l.root, away))
	l.until("the root is missing", func() bool { return l.mustStatus().RootState == "missing" })
	l.wantCalm("the root is missing")
	testkit.Must(t, os.Rename(away, l.root))
	l.wantWell(files + 40)
}

// TestForgetFullDisk checks that if forget fails because files cannot be written, a repeated
// request finds what is left once they can.
func TestForgetFullDisk(t *testing.T) {
	t.Parallel()
	l := startLive(t, t.TempDir(), "")
	failed := 0
	for n := range thorough(1, 60) {
		r := rand.New(rand.NewPCG(uint64(n), 3))
		l.age(r)
		l.limitFiles(uint64(r.IntN(2000)))
		if n%2 == 0 {
			l.age(r)
		}
		if done, err := l.tryForget(owner, quark); err != nil || done.Problem != "" || len(done.Failed) > 0 {
			failed++
		} else if held := l.holding(quark); held != nil {
			t.Fatalf("round %d: no problem is reported, but it is held in %q", n, held)
		}
		l.limitFiles(unix.RLIM_INFINITY)
		l.ready()
		l.forget(owner, quark)
		if held := l.holding(quark); held != nil {
			t.Fatalf("round %d: it is held in %q", n, held)
		}
	}
	t.Logf("%d removals failed", failed)
}

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
