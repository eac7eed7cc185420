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

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// A failing selects system calls that fail, and their error: see strace(1).
type failing struct {
	calls, err string
	when       string // which calls of each thread: 3 is the third, 3+ the third and all later ones
	index      bool   // only calls on files of the index
}

func (f failing) String() string {
	where := "anywhere"
	if f.index {
		where = "on the index"
	}
	return strings.NewReplacer(",", "|").Replace(f.calls) + " " + f.when + " " + f.err + " " + where
}

// strace returns the arguments of strace that make the calls fail, on the given
// paths or, without paths, on any.
func (l *live) strace(f failing, on ...string) []string {
	args := []string{"-f", "-qq", "-o", "/dev/null", "-e", "trace=" + f.calls,
		"-e", fmt.Sprintf("inject=%s:error=%s:when=%s", f.calls, f.err, f.when)}
	for _, path := range on {
		args = append(args, "-P", path)
	}
	if f.index {
		store := l.store()
		args = append(args, "-P", filepath.Join(store, "store", "root.bolt"))
		for n := range 128 { // future segments
			args = append(args, "-P", filepath.Join(store, "store", fmt.Sprintf("%012x.zap", n)))
		}
	}
	return args
}

// fail makes calls of the running daemon fail, on these paths or on any, until
// end is called.
func (l *live) fail(f failing, on ...string) (end func()) {
	l.t.Helper()
	needs(l.t, "strace")
	pid := strconv.Itoa(l.cmd.Process.Pid)
	cmd := exec.Command("strace", append(l.strace(f, on...), "-p", pid)...)
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

// TestFailingForEver makes system calls fail for an unlimited time.
func TestFailingForEver(t *testing.T) {
	t.Parallel()
	all := []failing{
		{"fsync,fdatasync", "EIO", "1+", false},
		{"write,pwrite64", "ENOSPC", "1+", true},
		{"write,pwrite64", "EIO", "2+", true},
		{"openat", "EIO", "1+", true},
		{"openat", "EMFILE", "1+", true},
		{"mmap", "ENOMEM", "1+", true},
	}
	if os.Getenv("FAULTS") == "" {
		all = all[:1]
	}
	for _, f := range all {
		t.Run(f.String(), func(t *testing.T) {
			needs(t, "strace")
			const files = 60
			l := newLive(t, t.TempDir(), "")
			l.fill(files)
			l.start()
			if err := l.stop(); err != nil {
				t.Fatal(err)
			}
			l.start()
			end := l.fail(f)
			words := map[string]string{
				"ENOSPC": "disk full", "EIO": "input/output error", "EMFILE": "too many open files", "ENOMEM": "cannot allocate memory",
			}
			l.wantFailing(0, files, words[f.err])
			l.wantCalm("system calls fail")
			end()
			l.wantWell(files + 40)
			if l.aside() != 0 {
				t.Error("an index that could not be written is not damaged")
			}
			l.kill()
			l.wantFirst(files + 40)
			l.wantWell(files + 40)
		})
	}
}
