package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

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
		{"one with which nothing starts", string(good) + "index: {dir: /proc/none}\n"},
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
