package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A rawAgent exchanges lines with memwatchd mcp.
type rawAgent struct {
	t       *testing.T
	in      io.WriteCloser
	answers chan string // lines with an id
	updates chan string // URIs of updates
	others  chan string // other lines
	next    int
}

// rawBridge starts memwatchd mcp and initializes an old version of the protocol.
func (l *live) rawBridge(t *testing.T, flags ...string) *rawAgent {
	t.Helper()
	cmd := exec.Command("memwatchd", append([]string{"mcp", "--config", l.config}, flags...)...)
	cmd.Env, cmd.Stderr = append(slices.Clip(l.env), patience+"=1"), &l.log
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a := &rawAgent{t: t, in: in, answers: make(chan string, 1000), updates: make(chan string, 1000), others: make(chan string, 1000)}
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var m struct {
				ID     any
				Method string
				Params struct{ URI string }
			}
			switch err := json.Unmarshal(lines.Bytes(), &m); {
			case err == nil && m.ID != nil:
				a.answers <- lines.Text()
			case err == nil && m.Method == "notifications/resources/updated":
				a.updates <- m.Params.URI
			default:
				a.others <- lines.Text()
			}
		}
	}()
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the command ended with %v", err)
		}
		if len(a.others) > 0 {
			t.Errorf("it sent %s", <-a.others)
		}
	})
	a.call("initialize", fields{"protocolVersion": "2025-06-18", "capabilities": fields{}, "clientInfo": fields{"name": "x", "version": "1"}})
	return a
}

// call returns the response to a request, with the id removed.
func (a *rawAgent) call(method string, params fields) string {
	a.t.Helper()
	a.next++
	line, err := json.Marshal(fields{"jsonrpc": "2.0", "id": a.next, "method": method, "params": params})
	if err != nil {
		a.t.Fatal(err)
	}
	fmt.Fprintf(a.in, "%s\n", line)
	select {
	case answer := <-a.answers:
		return strings.Replace(answer, fmt.Sprintf(`"id":%d,`, a.next), "", 1)
	case <-time.After(time.Minute):
		a.t.Fatalf("%s is not answered", method)
	}
	return ""
}

// nextUpdate returns the URI of the next update.
func (a *rawAgent) nextUpdate() string {
	a.t.Helper()
	select {
	case uri := <-a.updates:
		return uri
	case <-time.After(time.Minute):
		a.t.Fatal("there is no update")
	}
	return ""
}

const subscribed = `{"jsonrpc":"2.0","result":{}}`

// subscribedFiles is a memory whose owner may not read all files.
var subscribedFiles = map[string]string{
	"MEMORY.md":                    "# Long-Term Memory\n\n- **Staging**: db-staging.internal\n",
	"notes/report.md":              "# Report\n\nThe page reads one table.\n",
	"notes/last.md":                "# Last\n\nzero\n",
	"_longterms/acct_42/_index.md": "---\nsubject_id: acct:42\n---\n\n- hidden words\n",
	"2026-02-03/secret.md":         "---\nsubject_id: acct:42\nvisibility: private_only\n---\n\n- hidden words\n",
	"notes/public.md":              "---\nsubject_id: acct:42\nvisibility: public_ok\n---\n\n- words of another subject\n",
}

// startSubscribed starts a daemon on subscribedFiles.
func startSubscribed(t *testing.T) *live {
	t.Helper()
	l := newLive(t, t.TempDir(), "")
	for path, text := range subscribedFiles {
		l.write(path, text)
	}
	l.start()
	return l
}

// TestLiveSubscriptions checks that an agent is notified of changes of the files
// that it has subscribed to, and that these may be new, deleted or changed while
// the daemon is away.
func TestLiveSubscriptions(t *testing.T) {
	t.Parallel()
	l := startSubscribed(t)
	a := l.rawBridge(t)
	for _, uri := range []string{"memory://MEMORY.md", "memory://notes/new.md", "memory://notes/%6cast.md"} {
		if got := a.call("resources/subscribe", fields{"uri": uri}); got != subscribed {
			t.Fatalf("%s: %s", uri, got)
		}
	}
	want := func(uri string) {
		t.Helper()
		if got := a.nextUpdate(); got != uri {
			t.Errorf("updated is %s, not %s", got, uri)
		}
	}
	l.write("MEMORY.md", subscribedFiles["MEMORY.md"]+"- more\n")
	want("memory://MEMORY.md")
	if text := a.call("resources/read", fields{"uri": "memory://MEMORY.md"}); !strings.Contains(text, "- more") {
		t.Errorf("the updated file is %s", text)
	}
	a.call("tools/call", fields{"name": "memory_edit", "arguments": fields{"path": "MEMORY.md", "old_text": "- more\n", "new_text": ""}})
	want("memory://MEMORY.md")
	l.write("notes/report.md", "no subscription\n")
	l.write("notes/new.md", "new\n")
	want("memory://notes/new.md")
	if err := os.Remove(filepath.Join(l.root, "notes/new.md")); err != nil {
		t.Fatal(err)
	}
	want("memory://notes/new.md")

	// Changes while the daemon is away.
	l.stop()
	l.write("MEMORY.md", "- all new\n")
	l.start()
	want("memory://MEMORY.md") // the others are as before

	// The end of subscriptions.
	if got := a.call("resources/unsubscribe", fields{"uri": "memory://MEMORY.md"}); got != subscribed {
		t.Fatal(got)
	}
	l.write("MEMORY.md", "- newer\n")
	l.sync()
	l.write("notes/last.md", "one\n")
	want("memory://notes/%6cast.md")
	for _, uri := range []string{"memory://notes/%6cast.md", "memory://notes/new.md", "memory://never"} {
		if got := a.call("resources/unsubscribe", fields{"uri": uri}); got != subscribed {
			t.Fatalf("%s: %s", uri, got)
		}
	}
	if got := a.call("resources/subscribe", fields{"uri": "memory://MEMORY.md"}); got != subscribed {
		t.Fatal(got)
	}
	l.write("MEMORY.md", "- newest\n")
	want("memory://MEMORY.md")
}

// TestLiveSubscriptionsHide checks that an agent learns nothing from subscriptions
// about files and entries that it may not read: neither from the response, nor
// from updates, nor from a flood of events.
func TestLiveSubscriptionsHide(t *testing.T) {
	t.Parallel()
	l := startSubscribed(t)
	a := l.rawBridge(t)
	hidden := []string{"_longterms/acct_42/_index.md", "2026-02-03/secret.md", "notes/public.md"}
	for _, path := range append([]string{"notes/missing.md", "notes/last.md"}, hidden...) {
		if got := a.call("resources/subscribe", fields{"uri": "memory://" + path}); got != subscribed {
			t.Fatalf("%s: %s", path, got)
		}
	}
	// Each change of hidden text is followed by one of a readable file, whose
	// update shows that the events before it were processed.
	for i, change := range []func(){
		func() { l.write(hidden[0], subscribedFiles[hidden[0]]+"- more hidden words\n") },
		func() { l.write(hidden[1], subscribedFiles[hidden[1]]+"- more hidden words\n") },
		func() { l.write(hidden[2], subscribedFiles[hidden[2]]+"- more hidden words\n") },
		func() { os.Remove(filepath.Join(l.root, hidden[1])) },
		func() { l.write(hidden[1], subscribedFiles[hidden[1]]) },
		func() {
			l.write("2026-02-03/other.md", strings.Replace(subscribedFiles[hidden[1]], "words", "others", 1))
		},
		func() {
			for j := range 1500 { // more than the daemon queues for a listener
				l.write(fmt.Sprintf("2026-02-03/flood%d.md", j), subscribedFiles[hidden[1]])
			}
		},
		func() { l.stop(); l.write(hidden[1], subscribedFiles[hidden[1]]+"- later\n"); l.start() },
	} {
		change()
		l.sync()
		l.write("notes/last.md", fmt.Sprintf("%d\n", i))
		if got := a.nextUpdate(); got != "memory://notes/last.md" {
			t.Errorf("after change %d, %s is updated", i, got)
		}
	}
	// A file that becomes readable is updated, and so is one that ceases to be.
	l.write(hidden[1], "- readable words\n")
	if got := a.nextUpdate(); got != "memory://"+hidden[1] {
		t.Errorf("updated is %s", got)
	}
	l.write(hidden[1], subscribedFiles[hidden[1]])
	if got := a.nextUpdate(); got != "memory://"+hidden[1] {
		t.Errorf("updated is %s", got)
	}
	if len(a.updates) > 0 {
		t.Errorf("%s is updated", <-a.updates)
	}
}

// TestLiveSubscriptionsRefused checks the bounds of subscriptions, and that only
// the owner in private has them.
func TestLiveSubscriptionsRefused(t *testing.T) {
	t.Parallel()
	l := startSubscribed(t)
	a := l.rawBridge(t)
	for _, uri := range []string{"", "memory:", "memory://", "file:///etc/passwd", "memory://%zz", "memory://" + strings.Repeat("a", 5000)} {
		if got := a.call("resources/subscribe", fields{"uri": uri}); !strings.Contains(got, "-32602") {
			t.Errorf("%.40s: %.200s", uri, got)
		}
	}
	for i := range 100 {
		if got := a.call("resources/subscribe", fields{"uri": fmt.Sprintf("memory://notes/%d.md", i)}); got != subscribed {
			t.Fatal(got)
		}
	}
	if got := a.call("resources/subscribe", fields{"uri": "memory://MEMORY.md"}); !strings.Contains(got, "too many subscriptions") {
		t.Error(got)
	}
	if got := a.call("resources/subscribe", fields{"uri": "memory://notes/5.md"}); got != subscribed {
		t.Error(got)
	}
	a.call("resources/unsubscribe", fields{"uri": "memory://notes/5.md"})
	if got := a.call("resources/subscribe", fields{"uri": "memory://MEMORY.md"}); got != subscribed {
		t.Error(got)
	}
	for _, flags := range [][]string{{"--context", "public"}, {"--subject", "acct:42"}, {"--subject", ""}, {"--external-key", "telegram:1"}} {
		other := l.rawBridge(t, flags...)
		var answers []string
		for _, path := range []string{"MEMORY.md", "2026-02-03/secret.md", "missing.md"} {
			answers = append(answers, other.call("resources/subscribe", fields{"uri": "memory://" + path}))
		}
		if diff := cmp.Diff(slices.Repeat(answers[:1], 3), answers); diff != "" || !strings.Contains(answers[0], "subscriptions need the owner in a private context") {
			t.Errorf("%v: %v\n%s", flags, answers, diff)
		}
	}
}

// TestLiveSubscriptionsListen checks subscriptions with the current version of the
// protocol, which have a stream of their own.
func TestLiveSubscriptionsListen(t *testing.T) {
	t.Parallel()
	l := startSubscribed(t)
	cmd := exec.Command("memwatchd", "mcp", "--config", l.config)
	cmd.Env, cmd.Stderr = l.env, &l.log
	updates, acknowledged := make(chan string, 100), make(chan struct{}, 1)
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { updates <- r.Params.URI },
	})
	client.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method == "notifications/subscriptions/acknowledged" {
				acknowledged <- struct{}{}
			}
			return next(ctx, method, req)
		}
	})
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if caps := session.InitializeResult().Capabilities; !caps.Resources.Subscribe || caps.Resources.ListChanged {
		t.Errorf("the capabilities are %+v", caps.Resources)
	}
	if err := session.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "memory://MEMORY.md"}); err != nil {
		t.Fatal(err)
	}
	<-acknowledged
	for i := range 3 {
		l.write("2026-02-03/secret.md", subscribedFiles["2026-02-03/secret.md"]+fmt.Sprintf("- %d\n", i))
		l.write("MEMORY.md", fmt.Sprintf("- %d\n", i))
		select {
		case uri := <-updates:
			if uri != "memory://MEMORY.md" {
				t.Errorf("%s is updated", uri)
			}
		case <-time.After(time.Minute):
			t.Fatal("there is no update")
		}
	}
	if err := session.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: "memory://MEMORY.md"}); err != nil {
		t.Fatal(err)
	}
}
