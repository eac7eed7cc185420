package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/internal/fakes/llmtest"
)

// embedded waits until all texts have vectors, and returns the status.
func (l *live) embedded() *api.EmbedStatus {
	l.t.Helper()
	l.sync()
	var s *api.EmbedStatus
	l.until("all texts have vectors", func() bool {
		s = l.mustStatus().Embed
		return s != nil && s.Dimensions > 0 && s.Pending == 0
	})
	return s
}

func (l *live) vectorFiles() (size int64) {
	l.t.Helper()
	filepath.WalkDir(filepath.Dir(l.config), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it has just been deleted
		}
		info, err := e.Info()
		if err == nil && filepath.Ext(path) == ".vec" {
			size += info.Size()
			if info.Mode().Perm() != 0o600 {
				l.t.Errorf("%s has the mode %v", path, info.Mode())
			}
		}
		return nil
	})
	return size
}

// TestLiveEmbeddings checks that texts are found by meaning, that each is sent once
// even if its file moves and the daemon restarts, that private text and credentials
// are not sent, and that forget removes vectors.
func TestLiveEmbeddings(t *testing.T) {
	t.Parallel()
	service := llmtest.NewServer(t)
	l := newLive(t, t.TempDir(), "")
	key := filepath.Join(filepath.Dir(l.config), "key")
	testkit.Must(t, os.WriteFile(key, []byte("sk-local\n"), 0o600))
	settings := fmt.Sprintf("embed: {endpoint: %q, model: tiny, key_file: %q, query_timeout: 10s}\n", service.URL, key)
	l.configure(settings)
	l.write("2026-02-04/a.md", "# Log\n\n- We bought a new automobile in Berlin\n- The staging server listens on port 8080\n")
	l.write("2026-02-04/b.md", "- Lunch with Mira was really nice today\n")
	l.write("2026-02-04/b.private.md", "---\nvisibility: private_only\n---\n- Nobody knows of the zebra yet\n")
	l.start()
	if s := l.embedded(); s.Embedded != 3 || s.Model != "tiny" || s.LastError != "" {
		t.Errorf("%+v", s)
	}
	find := func(who fields, query string) string {
		t.Helper()
		var a api.SearchAnswer
		l.must("search", who.with(fields{"query": query, "mode": "hybrid"}), &a)
		if a.Index.Semantic == nil {
			t.Fatalf("%s: no state", query)
		}
		if len(a.Hits) == 0 {
			return a.Index.Semantic.State
		}
		return a.Index.Semantic.State + " " + a.Hits[0].Text
	}
	if got := find(fields{"subject": "owner", "context": "public"}, "purchase of some car there"); got != "used - We bought a new automobile in Berlin" {
		t.Errorf("found %q", got)
	}
	if got := find(owner, "who knows of the zebra"); !strings.HasPrefix(got, "private ") {
		t.Errorf("a private query: %q", got)
	}
	texts := func() (list []string) {
		for _, text := range service.Texts() {
			if strings.HasPrefix(text, "Log") || strings.HasPrefix(text, "2026") {
				list = append(list, text)
			}
		}
		return list
	}
	if n := len(texts()); n != 3 {
		t.Errorf("sent %d texts: %q", n, service.Texts())
	}
	for name, do := range map[string]func(){
		"restart": func() {
			testkit.Must(t, l.stop())
			l.start()
		},
		"rebuild": func() { l.must("rebuild", owner, new(api.RebuildAnswer)) },
		"move": func() {
			testkit.Must(t, os.Rename(l.path("2026-02-04/b.md"), l.path("2026-02-04/c.md")))
		},
		"touch": func() { l.write("2026-02-04/a.md", "# Log\n\n- The staging server listens on port 8080\n") },
		"restore": func() {
			l.write("2026-02-04/a.md", "# Log\n\n- The staging server listens on port 8080\n- We bought a new automobile in Berlin\n")
		},
	} {
		do()
		l.embedded()
		if n := len(texts()); n != 3 {
			t.Errorf("%s: sent %d texts: %q", name, n, service.Texts())
		}
	}

	l.write("2026-02-04/a.md", "# Log\n\n- The staging server listens on port 8080\n- We bought a new automobile in Berlin\n- The word "+quark+" is in a sentence\n")
	l.embedded()
	before := l.vectorFiles()
	l.forget(owner, quark)
	if s := l.embedded(); s.Embedded != 3 {
		t.Errorf("%+v", s)
	}
	if after := l.vectorFiles(); before-after != 12+llmtest.Dimensions {
		t.Errorf("vectors of %d bytes, then %d", before, after)
	}

	if sent := strings.Join(service.Texts(), "\n"); strings.Contains(sent, "zebra") {
		t.Errorf("sent %s", sent)
	}
	if got := service.Header().Get("Authorization"); got != "Bearer sk-local" {
		t.Errorf("key %q", got)
	}
	for _, never := range []string{"automobile", "zebra", "sk-local"} {
		if strings.Contains(l.log.String(), never) {
			t.Errorf("%q is in the log", never)
		}
	}
}

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
	config := fmt.Sprintf("capture: {ntfy: {topic: %q, token_file: %q}}\n", p.URL+"/"+phoneTopic, token)
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
