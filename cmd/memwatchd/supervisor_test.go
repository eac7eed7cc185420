package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc"
)

// A manager is the side of a service manager that is told how a daemon is.
type manager struct {
	t    *testing.T
	conn *net.UnixConn
}

// newManager listens at a path, or at an abstract address, which begins with @.
func newManager(t *testing.T, address string) *manager {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &manager{t, c}
}

// next is what the daemon says next, line by line. With no patience it is what it
// has said, or nothing.
func (m *manager) next(patience time.Duration) []string {
	m.t.Helper()
	m.conn.SetReadDeadline(time.Now().Add(max(patience, time.Millisecond)))
	b := make([]byte, 4096)
	n, err := m.conn.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.Split(string(b[:n]), "\n")
}

// await returns the first message that has a line, and what was said before it
// beside signs of life.
func (m *manager) await(line string) (message []string, before [][]string) {
	m.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		message = m.next(time.Second)
		if slices.Contains(message, line) {
			return message, before
		}
		if message != nil && message[0] != "WATCHDOG=1" {
			before = append(before, message)
		}
	}
	m.t.Fatalf("never told %s, but %q", line, before)
	return nil, nil
}

// quiet reports whether nothing was said since it was asked last.
func (m *manager) quiet() bool {
	quiet := true
	for m.next(0) != nil {
		quiet = false
	}
	return quiet
}

// A daemon says that it is ready when its clients are answered, that it reads its
// configuration again, whatever becomes of that, and that it ends.
func TestSupervisorIsTold(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), "")
	address := filepath.Join(filepath.Dir(l.config), "notify")
	if _, err := os.Stat("/proc/self"); err == nil { // where there are abstract addresses
		address = "@" + address
	}
	m := newManager(t, address)
	l.env = append(l.env, "NOTIFY_SOCKET="+address)
	l.launch()
	_, before := m.await("READY=1")
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
		{"one that makes no sense", "memory: {dri: x}\n", "STATUS=the new configuration is refused: "},
		{"one with which nothing starts", string(good) + "index: {dir: /proc/none}\n", "STATUS="},
	} {
		if err := os.WriteFile(l.config, []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		asked := monotonic(t)
		l.cmd.Process.Signal(syscall.SIGHUP)
		reloading, _ := m.await("RELOADING=1")
		at, ok := strings.CutPrefix(reloading[1], "MONOTONIC_USEC=")
		if since, err := strconv.ParseInt(at, 10, 64); ok && (err != nil || since < asked || since > monotonic(t)) {
			t.Errorf("%s: told %q, asked at %d", c.name, reloading, asked)
		} else if !ok && asked != 0 {
			t.Errorf("%s: told %q", c.name, reloading)
		}
		ready, before := m.await("READY=1")
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
	m.await("STOPPING=1")
}

// monotonic is the time that systemd compares with, in microseconds; zero where
// there is no systemd.
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

// How far an index is stands in the status.
func TestSupervisorIsToldHowFar(t *testing.T) {
	s, l, m := attended(t, time.Hour)
	serveOn(t, l)
	index := make(chan api.IndexStatus, 3)
	index <- api.IndexStatus{Degraded: true, Done: 3, Total: 12}
	index <- api.IndexStatus{Problem: "the disk is full\n"}
	index <- api.IndexStatus{}
	s.watchdog = 40 * time.Millisecond
	attend(t, s, l, m, func() api.IndexStatus { return <-index }, slog.New(slog.DiscardHandler))
	for _, want := range [][]string{
		{"READY=1", "WATCHDOG=1", "STATUS=indexing: 3 of 12 files"},
		{"WATCHDOG=1", `STATUS=the disk is full\n`},
		{"WATCHDOG=1", "STATUS=serving"},
	} {
		if got := m.next(time.Minute); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	close(index) // of which more can be read, all the same
	for range 2 {
		if got, want := m.next(time.Minute), []string{"WATCHDOG=1"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A daemon that accepts connections and does not answer is not ready, and shows no
// sign of life: not before it has answered, and not when it has stopped to.
func TestSilenceIsNoSignOfLife(t *testing.T) {
	s, l, m := attended(t, 200*time.Millisecond)
	var log printed
	attend(t, s, l, m, func() api.IndexStatus { return api.IndexStatus{} }, slog.New(slog.NewTextHandler(&log, nil)))
	silences := func() int { return strings.Count(log.String(), "own socket does not answer") }
	silent := func(n int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); silences() < n; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d silences, want %d:\n%s", silences(), n, log.String())
			}
		}
	}
	silent(2)
	if !m.quiet() {
		t.Error("there was a sign of life, and no answer")
	}
	stop := serveOn(t, l)
	m.await("READY=1")
	m.await("WATCHDOG=1")
	stop()
	silent(silences() + 1)
	m.quiet() // what was said before
	silent(silences() + 2)
	if !m.quiet() {
		t.Error("there was a sign of life after the last answer")
	}
	serveOn(t, l)
	m.await("WATCHDOG=1")
}

// attended is a supervisor that waits so long for signs of life, a socket of ours
// on which nobody answers yet, and who is told.
func attended(t *testing.T, watchdog time.Duration) (*supervisor, net.Listener, *manager) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "mw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	t.Setenv("NOTIFY_SOCKET", filepath.Join(dir, "n"))
	return &supervisor{listens: true, watchdog: watchdog}, l, newManager(t, filepath.Join(dir, "n"))
}

// attend runs the supervisor's side of a daemon until the test ends.
func attend(t *testing.T, s *supervisor, l net.Listener, m *manager, state func() api.IndexStatus, logger *slog.Logger) {
	ctx, cancel := context.WithCancel(context.Background())
	own := []*ipc.Listener{{Endpoint: ipc.Endpoint{Address: "127.0.0.1:1"}}, {Endpoint: ipc.Endpoint{Path: l.Addr().String()}}}
	ended := make(chan error, 1)
	go func() { ended <- s.attend(ctx, own, state, logger) }()
	t.Cleanup(func() {
		cancel()
		m.conn.Close() // who is told and does not listen makes it wait
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	})
}

// serveOn answers on a listener until it is stopped, and leaves it open.
func serveOn(t *testing.T, l net.Listener) (stop func()) {
	t.Helper()
	f, err := l.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	copied, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler()}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(copied) }()
	stop = func() {
		server.Close()
		<-ended
	}
	t.Cleanup(func() { server.Close() })
	return stop
}

// A daemon that is stopped in its tracks shows no sign of life.
func TestFrozenDaemonIsSilent(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), "")
	address := filepath.Join(filepath.Dir(l.config), "notify")
	m := newManager(t, address)
	l.env = append(l.env, "NOTIFY_SOCKET="+address, "WATCHDOG_USEC=40000")
	l.launch()
	m.await("READY=1")
	m.await("WATCHDOG=1")
	l.cmd.Process.Signal(syscall.SIGSTOP)
	l.until("it is stopped", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", l.cmd.Process.Pid))
		return !slices.ContainsFunc(threads, func(path string) bool {
			text, err := os.ReadFile(path)
			return err == nil && !bytes.Contains(text, []byte(") T "))
		})
	})
	m.quiet()
	if m.next(400*time.Millisecond) != nil {
		t.Error("there was a sign of life")
	}
	l.cmd.Process.Signal(syscall.SIGCONT)
	m.await("WATCHDOG=1")
}

// activated hands a daemon the sockets at the paths, with these names.
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

// Sockets of a service manager outlive the daemon: who asks while there is none is
// answered by the next, and so is who asks while the configuration changes.
func TestSocketsOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), "")
	bot := filepath.Join(filepath.Dir(l.config), "bot.sock")
	config := func(rate int) {
		put(t, l.config, fmt.Sprintf("memory: {dir: %q, timezone: UTC}\nipc: {rate: %d, listeners: [{path: %q}, {path: %q, context: public}]}\n", l.root, rate, l.socket, bot))
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

// Sockets that belong to no listener, or whose names say something else, are
// refused: their clients would wait for ever.
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

// What the service manager says is for this process alone.
func TestSupervisorLeavesNothingBehind(t *testing.T) {
	for name, value := range map[string]string{
		"LISTEN_PID": "1", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "s", "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": strconv.Itoa(os.Getpid()),
	} {
		t.Setenv(name, value)
	}
	s := findSupervisor()
	if s.sockets != nil || s.watchdog != 30*time.Second {
		t.Errorf("got %+v", s)
	}
	for _, pair := range os.Environ() {
		if strings.HasPrefix(pair, "LISTEN_") || strings.HasPrefix(pair, "WATCHDOG_") {
			t.Errorf("%s is left in the environment", pair)
		}
	}
}
