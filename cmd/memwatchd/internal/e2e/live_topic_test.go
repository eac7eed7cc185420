package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// A phone is a server with one topic. It stores the messages sent to it.
type phone struct {
	*httptest.Server
	mu         sync.Mutex
	ids, lines []string
}

const phoneTopic, phoneToken = "my-phone", "tk_of_the_phone"

func newPhone(t *testing.T) *phone {
	t.Helper()
	p := &phone{}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

// send adds a message to the topic.
func (p *phone) send(id, title, text string, ago ...time.Duration) {
	at := time.Now()
	for _, d := range ago {
		at = at.Add(-d)
	}
	line, _ := json.Marshal(map[string]any{
		"id": id, "time": at.Unix(), "event": "message", "topic": phoneTopic, "title": title, "message": text,
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids, p.lines = append(p.ids, id), append(p.lines, string(line)+"\n")
}

// ServeHTTP streams the messages after the requested one.
func (p *phone) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+phoneToken {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	p.mu.Lock()
	next := len(p.ids)
	if since := r.URL.Query().Get("since"); since != "" {
		next = slices.Index(p.ids, since) + 1
	}
	p.mu.Unlock()
	fmt.Fprintf(w, `{"id":"o","time":%d,"event":"open","topic":%q}`+"\n", time.Now().Unix()-1, phoneTopic)
	for ; r.Context().Err() == nil; time.Sleep(5 * time.Millisecond) {
		p.mu.Lock()
		for ; next < len(p.lines); next++ {
			fmt.Fprint(w, p.lines[next])
		}
		p.mu.Unlock()
		w.(http.Flusher).Flush()
	}
}

// TestTopic checks that messages to the topic become notes of the day, each
// once. This holds when the connection breaks and when the daemon is killed.
func TestTopic(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.send("before", "", "sent before anybody listened", time.Minute)
	root := t.TempDir()
	l := newLive(t, root, "")
	token := filepath.Join(filepath.Dir(l.config), "token")
	testkit.WriteFile(t, token, "tk_wrong\n")
	config := fmt.Sprintf("capture: {ntfy: {server: %q, topic: %s, token_file: %q}}\n", p.URL, phoneTopic, token)
	l.configure(config)
	l.start()
	l.until("the wrong token is told", func() bool {
		s := l.mustStatus().Topic
		return s != nil && !s.Connected && strings.Contains(s.Problem, "token")
	})
	testkit.WriteFile(t, token, phoneToken+"\n")
	l.until("the topic is heard", func() bool { return l.mustStatus().Topic.Connected })

	heard := func(n int) {
		t.Helper()
		l.until(fmt.Sprintf("%d messages are noted", n), func() bool { return strings.Count(l.noted(), "source=ntfy:"+phoneTopic+":") >= n })
		if text := l.noted(); strings.Count(text, "source=ntfy:") != n || strings.Contains(text, "before anybody") {
			t.Fatalf("after %d messages, it is noted:\n%s", n, text)
		}
	}
	p.send("one", "Shopping", "buy oolong tea")
	heard(1)
	l.sync()
	if a := l.search(owner, "oolong", nil); len(a.Hits) != 1 || a.Hits[0].Type != "request" || a.Hits[0].Visibility != "private_only" {
		t.Errorf("the message is found as %+v", a.Hits)
	}
	if a := l.search(owner.with(public), "oolong shopping", nil); len(a.Hits) != 0 {
		t.Errorf("everybody finds %v", texts(a))
	}

	// The connection breaks.
	p.CloseClientConnections()
	p.send("two", "", "while nobody listened")
	heard(2)

	l.kill()
	p.send("three", "", "while nobody ran")
	l.start()
	heard(3)
	p.send("four", "", "the last one")
	heard(4)
	if s := l.mustStatus().Topic; s.Messages == 0 || s.Problem != "" || s.Last.IsZero() || s.Refused != 0 {
		t.Errorf("in the end the status is %+v", s)
	}
	p.send("five", "\x00", " ")
	l.until("a message without a word is not noted", func() bool { return l.mustStatus().Topic.Refused == 1 })
	heard(4)
}

// noted returns the text of all daily logs.
func (l *live) noted() string {
	l.t.Helper()
	files, err := filepath.Glob(l.path("memory/*.md"))
	testkit.Must(l.t, err)
	var b strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		testkit.Must(l.t, err)
		b.Write(text)
	}
	return b.String()
}
