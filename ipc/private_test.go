package ipc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// socketDir returns a private directory with a path short enough for a socket.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "mw")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serveOn serves on endpoints until the test ends.
func serveOn(t *testing.T, backend Backend, logger *slog.Logger, endpoints ...Endpoint) {
	t.Helper()
	(&Server{Backend: backend, Logger: logger}).serveOn(t, endpoints...)
}

// serveOn runs a server until the test ends, or the returned function is called.
func (s *Server) serveOn(t *testing.T, endpoints ...Endpoint) (stop func()) {
	t.Helper()
	var listeners []*Listener
	for _, e := range endpoints {
		l, err := e.Listen()
		must(t, err)
		listeners = append(listeners, l)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, listeners...) }()
	t.Cleanup(func() {
		cancel()
		err := <-ended
		for _, l := range listeners {
			err = errors.Join(err, l.Close())
		}
		if err != nil {
			t.Errorf("the server ended with: %v", err)
		}
	})
	return cancel
}

// An emptyBackend is healthy and returns empty answers.
type emptyBackend struct{}

func (emptyBackend) Do(_ context.Context, _ api.Caller, req *api.Request) (any, error) {
	return req.Operation().NewAnswer(), nil
}

func (emptyBackend) Stream(ctx context.Context, _ api.Caller, _ *api.Request) (func(func(any) error) error, error) {
	return func(func(any) error) error { <-ctx.Done(); return nil }, nil
}

func (emptyBackend) Status() api.Status { return api.Status{Healthy: true} }

// A brokenBackend fails as the name of the operation indicates.
type brokenBackend struct{ emptyBackend }

func (brokenBackend) Do(_ context.Context, _ api.Caller, req *api.Request) (any, error) {
	if req.Operation().Name == "fail" {
		return nil, fmt.Errorf("open /secret/place: %w", os.ErrPermission)
	}
	panic("secret of the stack")
}

func (brokenBackend) Stream(context.Context, api.Caller, *api.Request) (func(func(any) error) error, error) {
	return func(send func(any) error) error {
		if err := send(1); err != nil {
			return err
		}
		panic("secret of the stream")
	}, nil
}

// sendRaw sends a request and returns the complete response.
func sendRaw(t *testing.T, network, address, request string) string {
	t.Helper()
	c, err := net.Dial(network, address)
	must(t, err)
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(c, request)
	answer, err := io.ReadAll(c)
	must(t, err)
	return string(answer)
}

// TestPanic checks that a panic affects only its own request: it is answered,
// counted and logged, and its text appears in the log only.
func TestPanic(t *testing.T) {
	type request struct {
		api.Scope
		api.For[struct{}]
	}
	before := api.Operations
	t.Cleanup(func() { api.Operations = before })
	api.Operations = slices.Clip(api.Operations)
	for name, stream := range map[string]bool{"panic_now": false, "panic_later": true, "fail": false} {
		api.Operations = append(api.Operations, api.NewOperation[request](api.Operation{Name: name, Stream: stream}))
	}
	var log strings.Builder
	socket := filepath.Join(socketDir(t), "s")
	serveOn(t, brokenBackend{}, slog.New(slog.NewTextHandler(&log, nil)), Endpoint{Path: socket})
	const form = "POST /v1/%s HTTP/1.1\r\nHost: m\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
	for _, op := range []string{"panic_now", "panic_later", "fail", "panic_now"} {
		answer := sendRaw(t, "unix", socket, fmt.Sprintf(form, op))
		if strings.Contains(answer, "secret") || strings.Contains(answer, "goroutine") {
			t.Errorf("%s tells %s", op, answer)
		}
		if op != "panic_later" && (!strings.HasPrefix(answer, "HTTP/1.1 500") || !strings.Contains(answer, `"code":"internal"`)) {
			t.Errorf("%s answers %s", op, answer)
		}
	}
	metrics := sendRaw(t, "unix", socket, "GET /metrics HTTP/1.1\r\nHost: m\r\nConnection: close\r\n\r\n")
	for _, want := range []string{
		"# HELP memwatchd_panics_total Panics in requests. Please report them as bugs.\n# TYPE memwatchd_panics_total counter\nmemwatchd_panics_total 3\n",
		"# TYPE memwatchd_request_seconds summary\nmemwatchd_request_seconds_count{operation=\"fail\"} 1\n",
		"memwatchd_requests_total{code=\"internal\",operation=\"panic_later\"} 1\nmemwatchd_requests_total{code=\"internal\",operation=\"panic_now\"} 2\n",
		"\n# HELP memwatchd_healthy 1 if the daemon is healthy.\n# TYPE memwatchd_healthy gauge\nmemwatchd_healthy 1\n",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %q: %s", want, metrics)
		}
	}
	for _, want := range []string{"brokenBackend.Do", "brokenBackend).Stream", "/secret/place"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "secret of") {
		t.Errorf("the value of a panic is in the log:\n%s", log.String())
	}
}

// TestSocketPlaces checks that a socket is created only where no other user can
// replace it.
func TestSocketPlaces(t *testing.T) {
	dir := socketDir(t)
	mkdir := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(path, 0o700))
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	private := mkdir("private", 0o700)
	must(t, os.Symlink(private, filepath.Join(dir, "link")))
	if err := os.WriteFile(filepath.Join(private, "file"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(private, "dangling")))
	long := filepath.Join(private, strings.Repeat("x", maxSocketPath-len(private)-1))
	for _, c := range []struct {
		path string
		want string // part of the error; empty for none
	}{
		{filepath.Join(private, "s"), ""},
		{filepath.Join(mkdir("readable", 0o755), "s"), ""},
		{filepath.Join(mkdir("sticky", os.ModeSticky|0o777), "s"), ""},
		{filepath.Join(dir, "new/below", "s"), ""},
		{long, ""},
		{long + "x", "108 bytes"},
		{"s", "not absolute"},
		{filepath.Join(mkdir("group", 0o770), "s"), "other users can write"},
		{filepath.Join(mkdir("world", 0o777), "s"), "other users can write"},
		{filepath.Join(mkdir("world/below", 0o700), "s"), "other users can write"},
		{filepath.Join(dir, "link", "s"), "symbolic links are not allowed"},
		{filepath.Join(private, "file"), "not a socket"},
		{filepath.Join(private, "file", "s"), "not a directory"},
		{filepath.Join(private, "dangling"), "not a socket"},
	} {
		for _, group := range []string{"", fmt.Sprint(os.Getegid())} {
			l, err := Endpoint{Path: c.path, Group: group}.Listen()
			if c.want == "" {
				if err != nil {
					t.Errorf("%s, group %q: %v", c.path, group, err)
					continue
				}
				info, err := os.Lstat(c.path)
				if err != nil || info.Mode().Type() != os.ModeSocket || info.Mode().Perm() != 0o600 {
					t.Errorf("%s is %v, %v", c.path, info.Mode(), err)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, group %q: %v, want %q", c.path, group, err, c.want)
			}
		}
	}
	if data, err := os.ReadFile(filepath.Join(private, "file")); err != nil || string(data) != "precious" {
		t.Errorf("a file in the way is now %q, %v", data, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "new")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("a directory of a socket is made as %v, %v", info.Mode(), err)
	}
}

// TestSocketOfAnother checks that Listen replaces only a socket on which no
// process answers, and that Close removes only its own socket.
func TestSocketOfAnother(t *testing.T) {
	path := filepath.Join(socketDir(t), "s")
	e := Endpoint{Path: path}
	first, err := e.Listen()
	must(t, err)
	if _, err := e.Listen(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d already listens", os.Getpid())) {
		t.Errorf("a live socket is taken over: %v", err)
	}
	if c, err := net.Dial("unix", path); err != nil {
		t.Errorf("the live one is gone: %v", err)
	} else {
		c.Close()
	}
	// The listener ends without cleaning up, as after a kill.
	must(t, first.net.Close())
	second, err := e.Listen()
	if err != nil {
		t.Fatalf("a stale socket is in the way: %v", err)
	}
	// Another process removes the socket, and a third listener starts.
	must(t, os.Remove(path))
	third, err := e.Listen()
	must(t, err)
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the second one took the third one's socket away: %v", err)
	}
	c.Close()
	if err := third.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket stays behind: %v", err)
	}
}

// TestTCP checks that TCP clients are admitted only over the loopback interface
// and with the token.
func TestTCP(t *testing.T) {
	const token = "0123456789abcdef"
	for _, c := range []struct{ address, token, want string }{
		{"0.0.0.0:0", token, "not a loopback address"}, {":0", token, "not a loopback address"}, {"[::]:0", token, "not a loopback address"},
		{"example.com:0", token, "not a loopback address"}, {"127.0.0.1", token, "missing port"}, {"127.0.0.1:0", "", "needs a token"}, {"127.0.0.1:0", "short", "needs a token"},
	} {
		l, err := Endpoint{Address: c.address, Token: c.token}.Listen()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q with %q: %v, want %q", c.address, c.token, err, c.want)
		}
		if err == nil {
			l.Close()
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skipf("there is no loopback interface here: %v", err)
	}
	address := free.Addr().String()
	free.Close()
	serveOn(t, emptyBackend{}, slog.New(slog.DiscardHandler), Endpoint{Address: address, Token: token})
	for _, c := range []struct {
		header string
		status int
	}{
		{"", http.StatusForbidden}, {"Authorization: Bearer \r\n", http.StatusForbidden}, {"Authorization: Bearer " + token[:15] + "\r\n", http.StatusForbidden},
		{"Authorization: Bearer " + token + "0\r\n", http.StatusForbidden}, {"Authorization: bearer " + token + "\r\n", http.StatusForbidden},
		{"Authorization: Bearer x\r\nAuthorization: Bearer " + token + "\r\n", http.StatusForbidden},
		{"Authorization: Bearer " + token + "\r\n", http.StatusOK},
	} {
		answer := sendRaw(t, "tcp", address, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+c.header+"\r\n")
		if !strings.HasPrefix(answer, fmt.Sprintf("HTTP/1.1 %d", c.status)) || strings.Contains(answer, token) {
			t.Errorf("%q: %s", c.header, answer)
		}
	}
}

// TestSlowBodyGivesWay checks that a client that does not finish its request
// gives way to another when all connections are in use, long before its own
// time is over.
func TestSlowBodyGivesWay(t *testing.T) {
	for _, path := range []string{"/v1/search", "/mcp"} {
		t.Run(path, func(t *testing.T) {
			socket := filepath.Join(socketDir(t), "s")
			s := &Server{
				Backend: emptyBackend{}, Logger: slog.New(slog.DiscardHandler),
				Limits: Limits{MaxConnections: 1, ReadBody: time.Hour, Drain: time.Millisecond},
			}
			s.serveOn(t, Endpoint{Path: socket})
			slow, err := net.Dial("unix", socket)
			must(t, err)
			defer slow.Close()
			slow.SetDeadline(time.Now().Add(time.Minute))
			fmt.Fprintf(slow, "POST %s HTTP/1.1\r\nHost: m\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
				"Expect: 100-continue\r\nContent-Length: 100\r\n\r\n", path)
			if line, err := bufio.NewReader(slow).ReadString('\n'); !strings.Contains(line, "100 Continue") {
				t.Fatalf("%q, %v", line, err) // the server reads the body from here on
			}
			if answer := sendRaw(t, "unix", socket, "GET /healthz HTTP/1.1\r\nHost: m\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 200") {
				t.Errorf("another client is answered %q", answer)
			}
		})
	}
}

// A slowBackend answers when the request ends.
type slowBackend struct {
	emptyBackend
	began chan struct{}
}

func (b slowBackend) Do(ctx context.Context, _ api.Caller, _ *api.Request) (any, error) {
	close(b.began)
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestStoppingAnswers checks that a request that does not finish within Limits.Drain is
// answered with an error.
func TestStoppingAnswers(t *testing.T) {
	socket := filepath.Join(socketDir(t), "s")
	began := make(chan struct{})
	s := &Server{
		Backend: slowBackend{began: began}, Logger: slog.New(slog.DiscardHandler),
		Limits: Limits{Drain: 10 * time.Millisecond},
	}
	stop := s.serveOn(t, Endpoint{Path: socket})
	go func() {
		<-began
		stop()
	}()
	answer := sendRaw(t, "unix", socket, "POST /v1/search HTTP/1.1\r\nHost: m\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
	if !strings.HasPrefix(answer, "HTTP/1.1 503") || !strings.Contains(answer, "the daemon stops or is reloaded") {
		t.Errorf("the request is answered %q", answer)
	}
}
