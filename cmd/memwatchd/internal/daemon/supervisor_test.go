package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/ipc"
)

// TestSupervisorIsToldHowFar checks that the status contains the progress of
// the index.
func TestSupervisorIsToldHowFar(t *testing.T) {
	s, l, m := newTestSupervisor(t, time.Hour)
	serveOn(t, l)
	index := make(chan api.IndexStatus, 3)
	index <- api.IndexStatus{Degraded: true, Done: 3, Total: 12}
	index <- api.IndexStatus{Problem: "the disk is full\n"}
	index <- api.IndexStatus{}
	s.watchdog = 40 * time.Millisecond
	runSupervisor(t, s, l, m, func() api.IndexStatus { return <-index }, slog.New(slog.DiscardHandler))
	for _, want := range [][]string{
		{"READY=1", "WATCHDOG=1", "STATUS=indexing: 3 of 12 files"},
		{"WATCHDOG=1", `STATUS=the disk is full\n`},
		{"WATCHDOG=1", "STATUS=serving"},
	} {
		if got := m.Next(time.Minute); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	close(index) // further reads return the zero status
	for range 2 {
		if got, want := m.Next(time.Minute), []string{"WATCHDOG=1"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestSilenceIsNoSignOfLife checks that a daemon that accepts connections but
// does not answer is not ready and sends no keep-alive, neither before its
// first answer nor after its last.
func TestSilenceIsNoSignOfLife(t *testing.T) {
	s, l, m := newTestSupervisor(t, 200*time.Millisecond)
	var log testkit.Output
	runSupervisor(t, s, l, m, func() api.IndexStatus { return api.IndexStatus{} }, slog.New(slog.NewTextHandler(&log, nil)))
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
	if !m.NonePending() {
		t.Error("there was a sign of life, and no answer")
	}
	stop := serveOn(t, l)
	m.AwaitLine("READY=1")
	m.AwaitLine("WATCHDOG=1")
	stop()
	silent(silences() + 1)
	m.NonePending() // drains earlier notifications
	silent(silences() + 2)
	if !m.NonePending() {
		t.Error("there was a sign of life after the last answer")
	}
	serveOn(t, l)
	m.AwaitLine("WATCHDOG=1")
}

// newTestSupervisor returns a supervisor with a watchdog, a socket of the daemon that
// nothing serves yet, and the service manager that receives the notifications.
func newTestSupervisor(t *testing.T, watchdog time.Duration) (*supervisor, net.Listener, *testkit.Manager) {
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
	return &supervisor{notifies: true, watchdog: watchdog}, l, testkit.NewManager(t, filepath.Join(dir, "n"))
}

// runSupervisor runs the supervisor's side of a daemon until the test ends.
func runSupervisor(t *testing.T, s *supervisor, l net.Listener, m *testkit.Manager, state func() api.IndexStatus, logger *slog.Logger) {
	ctx, cancel := context.WithCancel(context.Background())
	own := []*ipc.Listener{{Endpoint: ipc.Endpoint{Address: "127.0.0.1:1"}}, {Endpoint: ipc.Endpoint{Path: l.Addr().String()}}}
	ended := make(chan error, 1)
	go func() { ended <- s.runNotifications(ctx, own, state, logger) }()
	t.Cleanup(func() {
		cancel()
		m.Conn.Close() // an open connection that is never read makes attend wait
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	})
}

// serveOn serves a listener until stop is called, and leaves it open.
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

// TestSupervisorLeavesNothingBehind checks that the service manager's
// variables, which are for this process alone, are removed.
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
