package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// serveOlder serves, in front of the daemon, one that does not know the operation history and some
// fields of other operations, and has another version. It returns the socket.
func (l *live) serveOlder(unknown map[string][]string) (socket string) {
	socket = l.socket + "o"
	os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	testkit.Must(l.t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "memwatchd" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", l.socket)
		}},
		ModifyResponse: func(r *http.Response) error {
			body, err := io.ReadAll(r.Body)
			body = bytes.Replace(body, []byte(`{"version":"`), []byte(`{"version":"0.0-`), 1)
			body = bytes.Replace(body, []byte(`"state":"healthy",`), nil, 1)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Set("Content-Length", fmt.Sprint(len(body)))
			return err
		},
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op := strings.TrimPrefix(r.URL.Path, "/v1/")
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		failure := api.Errorf(api.NotFound, "unknown operation %q", op)
		if op != "history" {
			failure = nil
		}
		for _, name := range unknown[op] {
			if bytes.Contains(body, fmt.Appendf(nil, "%q:", name)) {
				failure = api.Errorf(api.Invalid, "unknown field %q", name)
			}
		}
		if failure == nil {
			proxy.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(failure.Code.Status())
		json.NewEncoder(w).Encode(api.Failure{Error: failure})
	})}
	go server.Serve(listener)
	l.t.Cleanup(func() { server.Close() })
	return socket
}

// TestOlderDaemon checks that agents and people get their memory from a daemon that is older
// than the program, and that no command changes what it means.
func TestOlderDaemon(t *testing.T) {
	t.Parallel()
	l := startLive(t, t.TempDir(), "")
	l.write("MEMORY.md", "- The billing database runs in eu-central-1.\n")
	l.sync()
	socket := l.serveOlder(map[string][]string{
		"context": {"project"}, "search": {"group", "count"}, "note": {"project"}, "capture": {"session"},
	})
	const older = "the daemon is older than this program"
	run := func(input string, args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "memwatchd", append([]string{"--config", l.config, "--socket", socket}, args...)...)
		cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = l.env, strings.NewReader(input), &out, &errs
		_ = cmd.Run() // the output shows whether it failed
		return out.String(), errs.String()
	}
	check := func(input, want string, warns bool, args ...string) {
		t.Helper()
		out, warning := run(input, args...)
		// On a busy machine, a prompt is answered without a block.
		for tries := 0; tries < 30 && !strings.Contains(out, want) && args[0] == "hook"; tries++ {
			more := ""
			out, more = run(input, args...)
			warning += more
		}
		if !strings.Contains(out, want) || want == "" && out != "" || strings.Contains(warning, older) != warns ||
			strings.Contains(warning, " restart`") != warns {
			t.Errorf("%q prints %q and %q; want %q, warning %v", args, out, warning, want, warns)
		}
	}
	const start, prompt = `{"session_id": %q, "cwd": "/", "source": "startup"}`, `{"session_id": %q, "cwd": "/", "prompt": "where does the billing database run?"}`
	check(fmt.Sprintf(start, "a"), "billing", false, "hook", "session-start")
	check(fmt.Sprintf(prompt, "other"), "billing", false, "hook", "prompt") // the session a was shown it
	check("", "billing", true, "search", "billing")
	check("", ".md:", false, "note", "The lamp is green")
	check("", "", true, "note", "--project", "x", "The lamp is red")
	check("", "", true, "history", "MEMORY.md")
	check("", "healthy: memwatchd 0.0-", true, "status")
	if text := l.noted(); !strings.Contains(text, "green") || strings.Contains(text, "red") {
		t.Errorf("noted: %q", text)
	}

	repository := filepath.Join(t.TempDir(), "shop")
	testkit.Must(t, os.MkdirAll(filepath.Join(repository, ".git"), 0o700))
	work := func(input, session string) string {
		return strings.Replace(fmt.Sprintf(input, session), `"/"`, strconv.Quote(repository), 1)
	}
	check(work(start, "b"), "billing", true, "hook", "session-start")
	check(work(prompt, "b"), "", false, "hook", "prompt") // reported for this session
	check(work(prompt, "c"), "billing", true, "hook", "prompt")

	// What a hook saves waits for a daemon that knows all of its fields.
	talk := filepath.Join(t.TempDir(), "s1.jsonl")
	testkit.WriteFile(t, talk, `{"type":"user","message":{"role":"user","content":"We decided to use PostgreSQL."}}`+"\n")
	end := fmt.Sprintf(`{"session_id": "d", "transcript_path": %q}`, talk)
	check(end, "", true, "hook", "session-end")
	if text := l.noted(); strings.Contains(text, "PostgreSQL") {
		t.Errorf("noted without its session: %q", text)
	}
	l.serveOlder(nil)
	check(fmt.Sprintf(prompt, "e"), "billing", false, "hook", "prompt")
	if text := l.noted(); strings.Count(text, "PostgreSQL") != 1 {
		t.Errorf("noted after the update: %q", text)
	}
}
