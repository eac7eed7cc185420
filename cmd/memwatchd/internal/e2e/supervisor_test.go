package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
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
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, config, status string }{
		{"the same", string(good), "STATUS="},
		{"one that makes no sense", "memory: {dri: x}\n", "STATUS=the new configuration is invalid: "},
		{"one with which nothing starts", string(good) + "index: {dir: /proc/none}\n", "STATUS="},
	} {
		if err := os.WriteFile(l.config, []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		asked := monotonic(t)
		l.cmd.Process.Signal(syscall.SIGHUP)
		reloading, _ := m.AwaitLine("RELOADING=1")
		at, ok := strings.CutPrefix(reloading[1], "MONOTONIC_USEC=")
		if since, err := strconv.ParseInt(at, 10, 64); ok && (err != nil || since < asked || since > monotonic(t)) {
			t.Errorf("%s: told %q, asked at %d", c.name, reloading, asked)
		} else if !ok && asked != 0 {
			t.Errorf("%s: told %q", c.name, reloading)
		}
		ready, before := m.AwaitLine("READY=1")
		if !slices.ContainsFunc(ready, func(s string) bool { return strings.HasPrefix(s, c.status) }) || before != nil {
			t.Errorf("%s: told %q after %q, want %s", c.name, ready, before, c.status)
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
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
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

// activated passes sockets at the paths to the daemon, with the given names.
func (l *live) activated(names string, paths ...string) {
	l.t.Helper()
	for _, path := range paths {
		made, err := net.Listen("unix", path)
		if err != nil {
			l.t.Fatal(err)
		}
		l.t.Cleanup(func() { made.Close() })
		if err := os.Chmod(path, 0o600); err != nil {
			l.t.Fatal(err)
		}
		f, err := made.(*net.UnixListener).File()
		if err != nil {
			l.t.Fatal(err)
		}
		l.t.Cleanup(func() { f.Close() })
		l.files = append(l.files, f)
	}
	l.env = append(l.env, "LISTEN_FDNAMES="+names, fmt.Sprintf("LISTEN_FDS=%d", len(paths)))
	l.limits = "export LISTEN_PID=$$"
}

// TestSocketsOutliveTheDaemon checks that sockets of a service manager survive
// the daemon: requests without a running daemon, or during a change of the
// configuration, are answered by the next one.
func TestSocketsOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), "")
	bot := filepath.Join(filepath.Dir(l.config), "bot.sock")
	config := func(rate int) {
		testkit.WriteFile(t, l.config, fmt.Sprintf("memory: {dir: %q, timezone: %s}\nipc: {listeners: [{path: %q, rate: %d}, {path: %q, context: public}]}\n", l.root, testkit.Zone, l.socket, rate, bot))
	}
	config(1000)
	l.activated("bot.sock:s", bot, l.socket)
	l.start()
	for round := range 2 {
		node := inode(t, l.socket)
		config(2000 + round) // another endpoint on the same socket
		l.cmd.Process.Signal(syscall.SIGHUP)
		l.until("it began anew", func() bool { return strings.Count(l.log.String(), "msg=serving ") == 2*round+2 })
		l.sync()
		if err := l.stop(); err != nil {
			t.Fatal(err)
		}
		if inode(t, l.socket) != node {
			t.Fatal("the socket is another one")
		}
		answered := make(chan error, 1)
		go func() { answered <- l.ask("status", fields{}, new(struct{})) }()
		l.start()
		if err := <-answered; err != nil {
			t.Errorf("who asked while there was no daemon got: %v", err)
		}
	}
	l.socket = bot
	if err := l.ask("status", fields{}, new(struct{})); err != nil {
		t.Errorf("the other socket: %v", err)
	}
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

// TestSocketsOfNobodyAreRefused checks that the daemon rejects sockets without
// a listener or with a wrong name, because their clients would wait forever.
func TestSocketsOfNobodyAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, names, file, want string }{
		{"another name", "work.sock", "s", `is named "work.sock": set FileDescriptorName=s`},
		{"no name", "", "s", `set FileDescriptorName=s`},
		{"another path", "other.sock", "other.sock", "no listener of the configuration is at "},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLive(t, t.TempDir(), "")
			l.activated(c.names, filepath.Join(filepath.Dir(l.socket), c.file))
			l.launch()
			var err error
			select {
			case err = <-l.done:
				l.done = nil
			case <-time.After(time.Minute):
			}
			if err == nil || !strings.Contains(l.log.String(), c.want) {
				t.Errorf("%v, and logged %s, want %s", err, l.log.String(), c.want)
			}
		})
	}
}
