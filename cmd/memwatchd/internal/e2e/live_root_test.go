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
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// fill creates a memory with a number of files.
func (l *live) fill(files int) {
	l.t.Helper()
	for n := range files {
		l.write(fmt.Sprintf("2026-01-%02d/s%d.md", n%28+1, n), fmt.Sprintf("- quince %d\n", n))
	}
}

// wantWell waits until the daemon is healthy and finds a quince in each file.
func (l *live) wantWell(files int) {
	l.t.Helper()
	l.until("all is well", func() bool {
		s, err := l.status()
		return err == nil && s.Healthy && s.RootState == "watched" && s.Files == files && !s.Index.Degraded && s.Index.Problem == ""
	})
	a := l.search(owner, "quince", nil)
	if a.Total != files || !a.Index.Synced || a.Index.Degraded || a.Index.Problem != "" {
		l.t.Errorf("%d entries are found, want %d; %+v", a.Total, files, a.Index)
	}
	if c := l.check(); len(c.Differing) != 0 || c.Files != files {
		l.t.Errorf("check says %+v", c)
	}
}

// command returns a command of the program for this daemon.
func (l *live) command(args ...string) *exec.Cmd {
	cmd := exec.Command("memwatchd", append([]string{"--config", l.config}, args...)...)
	cmd.Env = l.env
	return cmd
}

// wantCalm checks that the daemon neither keeps a processor busy nor fills its
// log while it cannot improve its state.
func (l *live) wantCalm(state string) {
	l.t.Helper()
	watched := time.Second
	if os.Getenv("FAULTS") != "" {
		watched = 10 * time.Second
	}
	began, before, lines := time.Now(), l.cpu(), l.lines()
	time.Sleep(watched) // the interval of the measurement
	used, said, took := l.cpu()-before, l.lines()-lines, time.Since(began)
	l.t.Logf("while %s, in %s it uses %s of a processor and logs %d lines", state, took, used, said)
	if used > took/2 && !raced() || said > 10 {
		l.t.Errorf("while %s, in %s it uses %s of a processor and logs %d lines", state, took, used, said)
	}
}

// lines returns the number of lines in the daemon's log.
func (l *live) lines() int { return strings.Count(l.log.String(), "\n") }

// cpu returns the processor time that the daemon has used.
func (l *live) cpu() time.Duration {
	l.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", l.cmd.Process.Pid))
	if err != nil {
		l.t.Skip("the processor time of a process can only be read where there is /proc")
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the end of the program's name
	ticks := 0
	for _, field := range strings.Fields(rest)[11:13] {
		n, err := strconv.Atoi(field)
		testkit.Must(l.t, err)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// bound mounts a directory at another path with a FUSE program, and returns the
// process.
func bound(t *testing.T, from, to string) *os.Process {
	t.Helper()
	needs(t, "bindfs", "umount")
	for _, dir := range []string{from, to} {
		testkit.Must(t, os.MkdirAll(dir, 0o700))
	}
	// The kernel's cache would be stale for a second.
	cmd := exec.Command("bindfs", "-f", "-o", "attr_timeout=0,entry_timeout=0,negative_timeout=0", from, to)
	var out testkit.Output
	cmd.Stdout, cmd.Stderr = &out, &out
	testkit.Must(t, cmd.Start())
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGCONT)
		exec.Command("umount", "-l", to).Run()
		cmd.Process.Kill()
		<-ended
	})
	var parent, st unix.Stat_t
	testkit.Must(t, unix.Stat(filepath.Dir(to), &parent))
	for unix.Stat(to, &st) != nil || st.Dev == parent.Dev {
		select {
		case <-ended:
			t.Skipf("bindfs does not work here: %s", out.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return cmd.Process
}

// TestFUSE checks that files that change behind a FUSE file system are found by polling.
// With FAULTS, it checks that while the disk hangs, requests are answered from the index,
// answers do not claim to be up to date, the daemon can be stopped, and it continues by
// itself when the disk answers again.
func TestFUSE(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	elsewhere := filepath.Join(base, "elsewhere")
	write := func(n int) {
		testkit.WriteFile(t, filepath.Join(elsewhere, fmt.Sprintf("d%d/s%d.md", n%4, n)), fmt.Sprintf("- quince %d\n", n))
	}
	for n := range 40 {
		write(n)
	}
	disk := bound(t, elsewhere, filepath.Join(base, "root"))
	l := startLive(t, filepath.Join(base, "root"), "watch: {reconcile: 5s, poll: 100ms}\n")
	l.wantWell(40)
	write(40)
	l.until("the file of another machine is found", func() bool { return l.count("quince") == 41 })
	if polled := l.mustStatus().Watch.Polled; len(polled) == 0 {
		t.Error("the status names no polled directory")
	}
	if os.Getenv("FAULTS") == "" {
		return
	}
	for round := range 2 {
		disk.Signal(syscall.SIGSTOP)
		write(41 + round)
		// Until the daemon has detected the hang, a caller waits for a few seconds.
		for range 2 {
			if err := l.ask("sync", owner.with(fields{"timeout": "1s"}), &struct{}{}); err == nil || !strings.Contains(err.Error(), "unavailable") {
				t.Errorf("sync answers %v, want unavailable", err)
			}
			l.until("it is told", func() bool {
				s, err := l.status()
				return err == nil && !s.Healthy && s.RootState == "missing" && strings.Contains(s.Index.Problem, "does not respond")
			})
		}
		if a := l.search(owner, "quince", nil); a.Total < 41 || a.Index.Synced || !a.Index.Degraded {
			t.Errorf("%d are found, want 41; %+v", a.Total, a.Index)
		}
		if file, err := l.get(owner, "d1/s1.md"); err == nil && !file.Stale {
			t.Errorf("get answers %+v", file)
		}
		l.wantCalm("the disk does not answer")
		if round == 0 {
			disk.Signal(syscall.SIGCONT)
			l.wantWell(42)
		}
	}
	began := time.Now()
	if err := l.stop(); err != nil || time.Since(began) > 20*time.Second {
		t.Errorf("it ends with %v after %s", err, time.Since(began))
	}
}
