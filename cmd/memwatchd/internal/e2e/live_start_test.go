package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestStartedWhileItEnds checks that a second daemon that is started while the
// first one runs or shuts down ends at once and names the process of the first
// one. The first daemon's socket exists as long as the first daemon does. After
// that the next one starts.
func TestStartedWhileItEnds(t *testing.T) {
	t.Parallel()
	l := newLive(t, filepath.Join(t.TempDir(), "root"), "")
	l.env = append(l.env, "MEMWATCHD_IPC_DRAIN=1m", "MEMWATCHD_IPC_READ_BODY=1m")
	l.write("a.md", "- quince\n")
	l.start()
	refused := func(when string) {
		t.Helper()
		began := time.Now()
		out, err := l.command("serve").CombinedOutput()
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != cli.ExitFailed ||
			!strings.Contains(string(out), fmt.Sprintf("held by process %d, which answers at %s", l.cmd.Process.Pid, l.socket)) {
			t.Errorf("%s, it ends with %v, and says %q", when, err, out)
		}
		if took := time.Since(began); took > 40*time.Second {
			t.Errorf("%s, it takes %s to end", when, took)
		}
	}
	refused("while the first one runs")
	if a := l.search(owner, "quince", nil); a.Total != 1 {
		t.Errorf("the first one does not answer any more: %+v", a)
	}

	// The daemon completes a pending request, and so takes a while to end.
	c, err := net.Dial("unix", l.socket)
	testkit.Must(t, err)
	defer c.Close()
	const question = `{"query":"quince","context":"public"}`
	fmt.Fprintf(c, "POST /v1/search HTTP/1.1\r\nHost: m\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(question))
	c.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.ReadFull(c, make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))); err != nil {
		t.Fatal(err)
	}
	l.cmd.Process.Signal(syscall.SIGTERM)
	refused("while the first one ends")
	if _, err := os.Lstat(l.socket); err != nil {
		t.Errorf("the first one's socket: %v", err)
	}
	io.WriteString(c, question)
	if answer, err := io.ReadAll(c); !strings.Contains(string(answer), "200 OK") {
		t.Errorf("the request under way is answered %q, %v", answer, err)
	}
	if err := <-l.done; err != nil {
		t.Errorf("the first one ends with %v", err)
	}
	l.done = nil
	l.start()
	if a := l.search(owner, "quince", nil); a.Total != 1 {
		t.Errorf("the next one answers %+v", a)
	}
}

// TestRaceReloadAnswersAll checks that each request during a reload gets an answer,
// from the old or the new daemon.
func TestRaceReloadAnswersAll(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), "")
	l.env = append(l.env, "MEMWATCHD_IPC_DRAIN=1m")
	l.start()
	l.write("2026-02-04/a.md", "- quince\n")
	const reloads = 20
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for range 8 {
		group.Go(func() error {
			for ctx.Err() == nil {
				if err := l.ask("search", owner.with(fields{"query": "quince", "sync": false}), new(struct{})); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for n := range reloads {
		l.cmd.Process.Signal(syscall.SIGHUP)
		l.until("it began anew", func() bool {
			return ctx.Err() != nil || strings.Count(l.log.String(), "msg=serving ") == n+2
		})
	}
	cancel()
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// TestSupervisorIsTold checks the notifications of a daemon to its service
// manager: it is ready when it answers clients, it reloads its configuration
// (with any result), and it stops.
func TestSupervisorIsTold(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), "")
	address := filepath.Join(filepath.Dir(l.config), "notify")
	if _, err := os.Stat("/proc/self"); err == nil { // systems with abstract addresses
		address = "@" + address
	}
	m := testkit.NewManager(t, address)
	l.env = append(l.env, "NOTIFY_SOCKET="+address)
	l.launch()
	_, before := m.AwaitLine("READY=1")
	if before != nil {
		t.Errorf("told %q before it was ready", before)
	}
	if _, err := l.status(); err != nil {
		t.Errorf("it is ready, and does not answer: %v", err)
	}
	l.ready()
	good, err := os.ReadFile(l.config)
	testkit.Must(t, err)
	for _, c := range []struct{ name, config string }{
		{"the same", string(good)},
		{"one that makes no sense", "memory: {dri: x}\n"},
		{"one with which nothing starts", string(good) + "ipc: {listeners: [{path: /proc/none/x.sock}]}\n"},
	} {
		testkit.Must(t, os.WriteFile(l.config, []byte(c.config), 0o600))
		asked := monotonic(t)
		l.cmd.Process.Signal(syscall.SIGHUP)
		reloading, _ := m.AwaitLine("RELOADING=1")
		at, ok := strings.CutPrefix(reloading[1], "MONOTONIC_USEC=")
		if since, err := strconv.ParseInt(at, 10, 64); ok && (err != nil || since < asked || since > monotonic(t)) {
			t.Errorf("%s: told %q, asked at %d", c.name, reloading, asked)
		} else if !ok && asked != 0 {
			t.Errorf("%s: told %q", c.name, reloading)
		}
		if _, before := m.AwaitLine("READY=1"); before != nil {
			t.Errorf("%s: told %q before it was ready", c.name, before)
		}
		if _, err := l.status(); err != nil {
			t.Errorf("%s: it is ready, and does not answer: %v", c.name, err)
		}
	}
	if err := l.stop(); err != nil {
		t.Error(err)
	}
	m.AwaitLine("STOPPING=1")
}

// monotonic returns the clock that systemd compares with, in microseconds, or
// zero on systems without systemd.
func monotonic(t *testing.T) int64 {
	t.Helper()
	if _, err := os.Stat("/proc/self"); err != nil {
		return 0
	}
	var ts unix.Timespec
	testkit.Must(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts))
	return ts.Nano() / 1000
}

// TestFrozenDaemonIsSilent checks that a daemon sends no watchdog pings while
// SIGSTOP suspends it.
func TestFrozenDaemonIsSilent(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), "")
	address := filepath.Join(filepath.Dir(l.config), "notify")
	m := testkit.NewManager(t, address)
	l.env = append(l.env, "NOTIFY_SOCKET="+address, "WATCHDOG_USEC=40000")
	l.launch()
	m.AwaitLine("READY=1")
	m.AwaitLine("WATCHDOG=1")
	l.suspend()
	m.NonePending()
	if m.Next(400*time.Millisecond) != nil {
		t.Error("there was a sign of life")
	}
	l.resume()
	m.AwaitLine("WATCHDOG=1")
}
