package ui

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

const host = "127.0.0.1:40000"

type recorder struct {
	mu       sync.Mutex
	requests []string
	err      error
}

func (b *recorder) Do(_ context.Context, r *api.Request) (json.RawMessage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fields, err := json.Marshal(r.Fields())
	b.requests = append(b.requests, r.Operation().Name+" "+string(fields))
	return json.RawMessage(`{"answer": true}`), errors.Join(err, b.err)
}

func (b *recorder) Stream(_ context.Context, r *api.Request, f func(json.RawMessage) error) error {
	return errors.Join(f(json.RawMessage(`{"event": "listening"}`)), f(json.RawMessage(`{"event": "write"}`)))
}

// A call is a request to a console. Its zero fields have valid values.
type call struct {
	method, path, body, host, key string
	header                        map[string]string
}

// send sends a request and returns the status and the body of the answer.
func send(c *Console, r call) (int, string) {
	if r.method == "" {
		r.method = http.MethodPost
	}
	if r.host == "" {
		r.host = host
	}
	req := httptest.NewRequest(r.method, r.path, strings.NewReader(r.body))
	req.Host = r.host
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

func openSession(t *testing.T, c *Console) string {
	t.Helper()
	_, key, _ := strings.Cut(c.URL(), "#k=")
	status, body := send(c, call{path: "/session", body: `{"key": "` + key + `"}`})
	var answer struct{ Session string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK || answer.Session == "" {
		t.Fatalf("%d %s", status, body)
	}
	return answer.Session
}

// TestRequests checks which requests reach the daemon, and that these count no uses of entries.
func TestRequests(t *testing.T) {
	b := &recorder{}
	c := New(b, host, Options{})
	key := openSession(t, c)
	for name, test := range map[string]struct {
		call
		status  int
		request string // that reaches the daemon
	}{
		"search":         {call{path: "/v1/search", body: `{"query": "a"}`}, 200, `search {"count":false,"query":"a"}`},
		"counted search": {call{path: "/v1/search", body: `{"query": "a", "count": true}`}, 200, `search {"count":false,"query":"a"}`},
		"relevant context": {call{path: "/v1/context", body: `{"query": "a", "format": "relevant"}`}, 200,
			`context {"count":false,"format":"relevant","query":"a"}`},
		"full context":       {call{path: "/v1/context", body: `{"format": "full"}`}, 200, `context {"format":"full"}`},
		"no fields":          {call{path: "/v1/status"}, 200, `status {}`},
		"same origin":        {call{path: "/v1/status", header: map[string]string{"Origin": "http://" + host, "Sec-Fetch-Site": "same-origin"}}, 200, `status {}`},
		"undo":               {call{path: "/v1/undo", body: `{"id": "a"}`}, 200, `undo {"id":"a"}`},
		"another caller":     {call{path: "/v1/context", body: `{"context": "public"}`}, 200, `context {"context":"public"}`},
		"check that repairs": {call{path: "/v1/check", body: `{"fix": true}`}, 403, ""},
		"unknown field":      {call{path: "/v1/search", body: `{"q": "a"}`}, 400, ""},
		"not JSON":           {call{path: "/v1/search", body: `query=a`}, 400, ""},
		"forget":             {call{path: "/v1/forget", body: `{"match": "a"}`}, 200, `forget {"match":"a"}`},
		"not permitted":      {call{path: "/v1/write", body: `{"path": "a.md"}`}, 404, ""},
		"wipe":               {call{path: "/v1/wipe_subject"}, 404, ""},
		"no operation":       {call{path: "/v1/nothing"}, 404, ""},
		"no path":            {call{path: "/x"}, 404, ""},
		"GET":                {call{method: "GET", path: "/v1/status"}, 404, ""},
		"OPTIONS":            {call{method: "OPTIONS", path: "/v1/status"}, 404, ""},
		"too long":           {call{path: "/v1/search", body: strings.Repeat(" ", 2<<20)}, 413, ""},
		"another host name":  {call{path: "/v1/status", host: "localhost:40000"}, 403, ""},
		"rebound name":       {call{path: "/v1/status", host: "evil.example:40000"}, 403, ""},
		"another port":       {call{path: "/v1/status", host: "127.0.0.1:40001"}, 403, ""},
		"no port":            {call{path: "/v1/status", host: "127.0.0.1"}, 403, ""},
		"another origin":     {call{path: "/v1/status", header: map[string]string{"Origin": "http://127.0.0.1:40001"}}, 403, ""},
		"null origin":        {call{path: "/v1/status", header: map[string]string{"Origin": "null"}}, 403, ""},
		"another site":       {call{path: "/v1/status", header: map[string]string{"Sec-Fetch-Site": "cross-site"}}, 403, ""},
		"same site":          {call{path: "/v1/status", header: map[string]string{"Sec-Fetch-Site": "same-site"}}, 403, ""},
		"posted by a link":   {call{path: "/v1/status", header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}}, 403, ""},
		"no key":             {call{path: "/v1/status", key: "-"}, 404, ""},
		"a wrong key":        {call{path: "/v1/status", key: key + "x"}, 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b.requests = nil
			if test.key == "" {
				test.key = key
			}
			status, body := send(c, test.call)
			if got := strings.Join(b.requests, "\n"); status != test.status || got != test.request {
				t.Errorf("status %d, body %s, request %q; want %d, %q", status, body, got, test.status, test.request)
			}
		})
	}
}

// TestPermissions checks that a console for reading changes nothing, and that no
// operation changes something as one for reading.
func TestPermissions(t *testing.T) {
	b := &recorder{}
	c := New(b, host, Options{ReadOnly: true})
	key := openSession(t, c)
	for path, want := range map[string]int{
		`/v1/undo {"id": "a"}`:                       403,
		`/v1/undo {"id": "a", "dry_run": false}`:     403,
		`/v1/undo {"id": "a", "dry_run": true}`:      200,
		`/v1/todo {"text": "a"}`:                     403,
		`/v1/todo {"text": "a", "dry_run": true}`:    200,
		`/v1/search {"query": "a"}`:                  200,
		`/v1/forget {"match": "a"}`:                  403,
		`/v1/edit {"path": "a.md", "old_text": "a"}`: 403,
		`/v1/note {"text": "a"}`:                     403,
	} {
		path, body, _ := strings.Cut(path, " ")
		if status, answer := send(c, call{path: path, body: body, key: key}); status != want {
			t.Errorf("%s %s: %d %s", path, body, status, answer)
		}
	}
	for _, name := range readable {
		op, err := api.LookUp(name)
		if err != nil || !op.ReadOnly && name != "check" {
			t.Errorf("%s is not an operation that only reads (%v)", name, err)
		}
	}
	for _, name := range changing {
		op, err := api.LookUp(name)
		if err != nil || op.ReadOnly {
			t.Errorf("%s is not an operation that changes something (%v)", name, err)
			continue
		}
		if _, err := op.Param("dry_run"); err != nil && !slices.Contains(writing, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKeys checks that a URL opens one session, and that a second use is
// reported.
func TestKeys(t *testing.T) {
	var warnings []string
	opened := 0
	c := New(&recorder{}, host, Options{Warn: func(s string) { warnings = append(warnings, s) }, Opened: func() { opened++ }})
	if status, _ := send(c, call{path: "/session", body: `{"key": ""}`}); status != http.StatusForbidden {
		t.Errorf("an empty key before there is one: %d", status)
	}
	warnings = nil
	_, key, _ := strings.Cut(c.URL(), "#k=")
	body := `{"key": "` + key + `"}`
	if status, answer := send(c, call{path: "/session", body: body}); status != http.StatusOK || opened != 1 || len(warnings) > 0 {
		t.Fatalf("%d %s %d %q", status, answer, opened, warnings)
	}
	for _, body := range []string{body, `{"key": ""}`, `{"key": "x"}`} {
		warnings, c.warned = nil, time.Time{}
		if status, answer := send(c, call{path: "/session", body: body}); status != http.StatusForbidden || len(warnings) != 1 || opened != 1 {
			t.Errorf("%s: %d %s %q", body, status, answer, warnings)
		}
	}
	if status, _ := send(c, call{path: "/v1/status", key: key}); status != http.StatusNotFound {
		t.Errorf("the key of the URL as a session key: %d", status)
	}
	other := openSession(t, c)
	if status, _ := send(c, call{path: "/v1/status", key: other}); status != http.StatusOK {
		t.Errorf("a new URL: %d", status)
	}
}

// TestFiles checks that the page consists of its files only, and that each has
// the policy and a media type. Together they stay small.
func TestFiles(t *testing.T) {
	c := New(&recorder{}, host, Options{})
	sizes := make(map[string]int)
	err := fs.WalkDir(page, "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		r := httptest.NewRequest(http.MethodGet, "/"+path.Base(name), nil)
		r.Host = host
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), files[path.Ext(name)]) ||
			files[path.Ext(name)] == "" || w.Header().Get("Content-Security-Policy") != policy {
			t.Errorf("%s: %d %v", name, w.Code, w.Header())
		}
		sizes[path.Ext(name)] += w.Body.Len()
		if text := w.Body.String(); strings.Contains(text, "innerHTML") || strings.Contains(text, " style=") {
			t.Errorf("%s contains markup from text, or a style that the policy forbids", name)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if sizes[".js"] > 120<<10 || sizes[".css"] > 14<<10 {
		t.Errorf("%v bytes", sizes)
	}
	link := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
	for where, want := range map[string]int{"/": 200, "/app.js": 403} {
		if status, _ := send(c, call{method: "GET", path: where, header: link}); status != want {
			t.Errorf("%s by a link: %d", where, status)
		}
	}
	for _, where := range []string{"/page/index.html", "/../ui.go", "/.", "/x.js"} {
		if status, _ := send(c, call{method: "GET", path: where}); status != http.StatusNotFound {
			t.Errorf("%s: %d", where, status)
		}
	}
}

// TestErrors checks that the page gets the errors of the daemon, and one that
// says so if there is none.
func TestErrors(t *testing.T) {
	b := &recorder{err: api.Errorf(api.Busy, "wait")}
	c := New(b, host, Options{})
	key := openSession(t, c)
	if status, body := send(c, call{path: "/v1/status", key: key}); status != http.StatusConflict || !strings.Contains(body, "wait") {
		t.Errorf("%d %s", status, body)
	}
	b.err = errors.New("no daemon answers")
	if status, body := send(c, call{path: "/v1/status", key: key}); status != http.StatusServiceUnavailable || !strings.Contains(body, "no daemon answers") {
		t.Errorf("%d %s", status, body)
	}
}

// TestStream checks that events arrive as lines.
func TestStream(t *testing.T) {
	c := New(&recorder{}, host, Options{})
	key := openSession(t, c)
	if _, body := send(c, call{path: "/v1/events", key: key}); body != "{\"event\": \"listening\"}\n{\"event\": \"write\"}\n" {
		t.Errorf("%q", body)
	}
}

// TestKeepAlive checks that the time until the console ends counts while no page is
// open, and not before the last of them is closed.
func TestKeepAlive(t *testing.T) {
	c := New(&recorder{}, host, Options{Idle: time.Hour})
	c.idle = time.AfterFunc(time.Hour, func() {})
	for i, step := range []struct {
		streams int
		counts  bool
	}{{0, true}, {1, false}, {0, false}, {1, false}, {-1, false}, {-1, true}} {
		c.keepAlive(step.streams)
		if counts := c.idle.Stop(); counts != step.counts {
			t.Errorf("step %d: the time counts: %v", i, counts)
		}
	}
}

// TestServe checks that a console ends with its context, and when no request
// arrives.
func TestServe(t *testing.T) {
	serve := func(ctx context.Context, c *Console) <-chan error {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		c.host = l.Addr().String()
		go func() { done <- c.Serve(ctx, l) }()
		res, err := http.Get("http://" + c.host + "/")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if text, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(text), "<title>memwatchd") {
			t.Errorf("%v %s", err, text)
		}
		return done
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := serve(ctx, New(&recorder{}, "", Options{}))
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := <-serve(t.Context(), New(&recorder{}, "", Options{Idle: 2 * time.Second})); err != nil {
		t.Error(err)
	}
}

// TestStrangers checks the limits for programs without a session key: the size of
// their requests, their connections and the warnings that they cause.
func TestStrangers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	warnings := 0
	c := New(&recorder{}, l.Addr().String(), Options{ReadOnly: true, Warn: func(string) { warnings++ }})
	for range 20 {
		send(c, call{path: "/session", host: c.host, body: `{"key": "wrong"}`})
	}
	if warnings != 1 {
		t.Errorf("%d warnings", warnings)
	}
	if status, _ := send(c, call{path: "/session", host: c.host, body: `{"key": "` + strings.Repeat("a", maxKey) + `"}`}); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a long key: status %d", status)
	}
	_, url, _ := strings.Cut(c.URL(), "#k=")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Serve(ctx, l) }()
	defer func() { cancel(); <-ended }()
	post := func(client *http.Client, path, key, body string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.host+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return string(text)
	}
	page := &http.Client{Transport: &http.Transport{}}
	var answer struct{ Session string }
	if err := json.Unmarshal([]byte(post(page, "/session", "", `{"key": "`+url+`"}`)), &answer); err != nil {
		t.Fatal(err)
	}
	post(page, "/v1/search", answer.Session, "{}")
	for range 3 * maxConnections {
		conn, err := net.Dial("tcp", c.host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "POST /session HTTP/1.1\r\nHost: "+c.host+"\r\nContent-Length: 1000000\r\n\r\n{")
	}
	post(page, "/v1/search", answer.Session, "{}")
	post(&http.Client{Transport: &http.Transport{}}, "/v1/search", answer.Session, "{}")
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) > maxConnections || len(c.known) == 0 {
		t.Errorf("%d connections, %d of them known", len(c.open), len(c.known))
	}
}
