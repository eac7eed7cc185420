package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/hook"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// hookPatience bounds a hook even on a busy machine. A hook takes longer only
// if it ignores its own limit and waits for a daemon or for the end of its
// input.
const hookPatience = time.Minute

// hook runs a hook as an agent does. It returns the output and the reason for
// missing output.
func (l *live) hook(event string, input io.Reader) (string, string) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), hookPatience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "memwatchd", "--config", l.config, "hook", event, "--debug")
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = l.env, input, &stdout, &stderr
	cmd.WaitDelay = 20 * time.Second // a writer of endless input ends only when it is killed
	err := cmd.Run()
	if ctx.Err() != nil {
		l.t.Fatalf("hook %s took more than %s", event, hookPatience)
	}
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 0 {
		l.t.Errorf("hook %s: %v\n%s", event, err, stderr.String())
	}
	return stdout.String(), stderr.String()
}

// hookInputs returns malformed and unusual inputs.
func hookInputs(t *testing.T) map[string]func() io.Reader {
	fifo := filepath.Join(t.TempDir(), "fifo")
	testkit.Must(t, syscall.Mkfifo(fifo, 0o600))
	text := func(s string) func() io.Reader { return func() io.Reader { return strings.NewReader(s) } }
	return map[string]func() io.Reader{
		"nothing":       text(""),
		"cut off":       text(`{"prompt": "the billing data`),
		"other types":   text(`{"prompt": {"a": 1}, "session_id": 7, "transcript_path": [], "source": null, "stop_hook_active": "yes"}`),
		"deep":          text(strings.Repeat("[", 100_000)),
		"a pipe":        text(fmt.Sprintf(`{"session_id": "s", "transcript_path": %q}`, fifo)),
		"a device":      text(`{"session_id": "s", "transcript_path": "/dev/zero"}`),
		"a huge prompt": text(`{"prompt": "` + strings.Repeat("billing database ", 6<<20)),
		"without an end": func() io.Reader {
			zeros, err := os.Open("/dev/zero")
			testkit.Must(t, err)
			t.Cleanup(func() { zeros.Close() })
			return struct{ io.Reader }{zeros} // a pipe, as of an agent
		},
	}
}

// TestHookInput checks that a hook exits with status 0 and prints nothing for
// any malformed input.
func TestHookInput(t *testing.T) {
	t.Parallel()
	l := startLive(t, t.TempDir(), "hooks: {store_responses: true}\n")
	l.write("MEMORY.md", "- Tea at three.\n")
	l.write("2026-02-05/a.md", "---\nsummary: about\n---\n- The billing database runs in eu-central-1.\n")
	l.sync()
	for _, e := range hook.Events {
		if e.Name == "session-start" {
			continue // useful even without input
		}
		for what, input := range hookInputs(t) {
			out, why := l.hook(e.Name, input())
			special := e.Name == "pre-compact" && (what == "a pipe" || what == "a device")
			for n := 0; n < 50 && special && strings.Contains(why, "time limit reached"); n++ { // the machine is busy
				out, why = l.hook(e.Name, input())
			}
			if out != "" || why == "" {
				t.Errorf("%s, given %s, prints %q, and says %q", e.Name, what, out, why)
			}
			if special && !strings.Contains(why, "is not a regular file") {
				t.Errorf("%s, given %s, says %q", e.Name, what, why)
			}
		}
	}
	if text := l.noted(); text != "" {
		t.Errorf("it is noted\n%s", text)
	}

	// An agent may leave its end of the pipe open and may not read the output.
	r, w, err := os.Pipe()
	testkit.Must(t, err)
	defer w.Close()
	defer r.Close()
	if _, why := l.hook("prompt", r); !strings.Contains(why, "time limit reached") {
		t.Errorf("a prompt that does not come: %q", why)
	}
	fmt.Fprint(w, `{"prompt": "where is the billing database?"}`)
	l.hook("prompt", r) // the end of the object is enough
}

// TestHookDaemon checks that a hook exits with status 0 and prints nothing, or what
// waits to be saved, while the daemon is missing, stopped, slow or another program, without
// waiting for an answer.
func TestHookDaemon(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), "hooks: {store_responses: true}\n")
	talk := filepath.Join(t.TempDir(), "s1.jsonl")
	testkit.WriteFile(t, talk, `{"type":"user","message":{"role":"user","content":"We decided to use PostgreSQL."}}`+"\n")
	input := fmt.Sprintf(`{"session_id": "s", "source": "startup", "prompt": "where is the billing database?", "transcript_path": %q, "last_assistant_message": "Fixed the race."}`, talk)
	silent := func(how string) {
		t.Helper()
		for _, e := range hook.Events {
			out, why := l.hook(e.Name, strings.NewReader(input))
			if e.Name == "session-start" && strings.Contains(out, "Memory:Waiting") {
				out = ""
			}
			if out != "" || why == "" {
				t.Errorf("%s, with a daemon that is %s, prints %q, and says %q", e.Name, how, out, why)
			}
		}
	}
	silent("away")

	var answer atomic.Value // connections of hooks that gave up may get their answer late
	answer.Store("")
	listener, err := net.Listen("unix", l.socket)
	testkit.Must(t, err)
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { // the server sends nothing more and closes only after the client
				io.WriteString(conn, answer.Load().(string))
				io.Copy(io.Discard, conn)
				conn.Close()
			})
		}
	})
	silent("silent")
	for how, says := range map[string]string{
		"no daemon":  "SSH-2.0-x\r\n",
		"slow":       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"text\": \"[Memory",
		"of no use":  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n[7}]",
		"in trouble": "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
	} {
		answer.Store(says)
		silent(how)
	}
	listener.Close()
	open.Wait()
	os.Remove(l.socket)

	l.start()
	l.write("2026-02-05/a.md", "---\nsummary: about\n---\n- The billing database runs in eu-central-1.\n")
	l.sync()
	l.suspend()
	silent("stopped")
	l.resume()
}
