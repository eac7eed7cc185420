package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// wantAgreement checks that files and index agree.
func (l *live) wantAgreement() {
	l.t.Helper()
	if c := l.check(); len(c.Differing) != 0 {
		l.t.Errorf("check says %+v", c.Differing)
	}
}

// bound mounts a directory at another path with a FUSE program, and returns the
// process.
func bound(t *testing.T, from, to string) *os.Process {
	t.Helper()
	needs(t, "bindfs", "umount")
	for _, dir := range []string{from, to} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// The kernel's cache would be stale for a second.
	cmd := exec.Command("bindfs", "-f", "-o", "attr_timeout=0,entry_timeout=0,negative_timeout=0", from, to)
	var out testkit.Output
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGCONT)
		exec.Command("umount", "-l", to).Run()
		cmd.Process.Kill()
		<-ended
	})
	var parent, st unix.Stat_t
	if err := unix.Stat(filepath.Dir(to), &parent); err != nil {
		t.Fatal(err)
	}
	for unix.Stat(to, &st) != nil || st.Dev == parent.Dev {
		select {
		case <-ended:
			t.Skipf("bindfs does not work here: %s", out.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return cmd.Process
}

// TestDiskHangs checks that while the disk hangs, requests are answered from
// the index, and answers do not claim to be up to date. The daemon still
// responds and can be stopped, and continues by itself when the disk answers
// again.
func TestDiskHangs(t *testing.T) {
	faults(t)
	base := t.TempDir()
	elsewhere := filepath.Join(base, "elsewhere")
	for n := range 40 {
		testkit.WriteFile(t, filepath.Join(elsewhere, fmt.Sprintf("d%d/s%d.md", n%4, n)), fmt.Sprintf("- quince %d\n", n))
	}
	disk := bound(t, elsewhere, filepath.Join(base, "root"))
	l := startLive(t, filepath.Join(base, "root"), quick)
	l.wantWell(40)
	for round := range 2 {
		disk.Signal(syscall.SIGSTOP)
		testkit.WriteFile(t, filepath.Join(elsewhere, "meanwhile.md"), fmt.Sprintf("- quince %d meanwhile\n", round))
		// Until the daemon has detected the hang, a caller waits for a few
		// seconds.
		if err := l.ask("sync", owner.with(fields{"timeout": "1s"}), &struct{}{}); err == nil || !strings.Contains(err.Error(), "unavailable") {
			t.Errorf("sync answers %v, want unavailable", err)
		}
		l.until("it is told", func() bool {
			s, err := l.status()
			return err == nil && !s.Healthy && s.RootState == "missing" && strings.Contains(s.Index.Problem, "does not answer")
		})
		if a := l.search(owner, "quince", nil); a.Total < 40 || a.Index.Synced || !a.Index.Degraded {
			t.Errorf("%d are found, want 40; %+v", a.Total, a.Index)
		}
		if file, err := l.get(owner, "d1/s1.md"); err == nil && !file.Stale {
			t.Errorf("get answers %+v", file)
		}
		if err := l.ask("sync", owner.with(fields{"timeout": "1s"}), &struct{}{}); err == nil || !strings.Contains(err.Error(), "unavailable") {
			t.Errorf("sync answers %v, want unavailable", err)
		}
		l.wantCalm("the disk does not answer")
		if round == 1 {
			break
		}
		disk.Signal(syscall.SIGCONT)
		l.wantWell(41)
	}
	began := time.Now()
	if err := l.stop(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s to end", took)
	}
	if _, err := net.Dial("unix", l.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its socket: %v", err)
	}
	disk.Signal(syscall.SIGCONT)
}
