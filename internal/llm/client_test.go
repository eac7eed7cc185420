package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/memory"
)

// completion returns a response of the protocol with the given content.
func completion(content string) string {
	text, _ := json.Marshal(content)
	return fmt.Sprintf(`{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%s}}]}`, text)
}

func respondWith(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		io.WriteString(w, body)
	}
}

func newTestClient(t *testing.T, service http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	return &Client{Endpoint: server.URL + "/v1", Model: "m"}
}

// A credential, and its form in requests.
const (
	secret = "ghp_0123456789abcdefghijABCDEFGHIJ456789"
	masked = "RED_ACTEDREDACTEDREDACTEDREDACTEDREDACTE"
)

var (
	inFile  = []memory.Mergeable{{ID: "e1", Section: "Facts", Title: "Port", Text: "port 8080, the word " + secret}}
	inDraft = []memory.Mergeable{{ID: "d1", Section: "Facts", Title: "Where it listens", Text: "on port 8080"}}
)

func acceptProposal(*memory.Proposal) error { return nil }
func acceptText(string) error               { return nil }

const same = `{"same":[{"existing":"e1","draft":"d1","text":"on port 8080"}]}`

// TestServices checks that, for any behavior of a service, the result is a
// proposal or an error. The error contains neither the request nor the response
// nor the address.
func TestServices(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another server was asked") }))
	defer elsewhere.Close()
	sends := func(kind, piece string, times int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			for n := 0; (times == 0 || n < times) && r.Context().Err() == nil; n++ {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
				w.(http.Flusher).Flush()
			}
		}
	}
	for _, test := range []struct {
		name    string
		service http.HandlerFunc
		timeout time.Duration
		want    string // expected error; empty for a proposal
	}{
		{name: "well", service: respondWith(completion(same))},
		{name: "in a fence", service: respondWith(completion("Here it is:\n```json\n" + same + "\n```\n"))},
		{name: "thinking aloud", service: respondWith(completion("<think>maybe {e1}?</think>" + same))},
		{name: "with more than was asked for", service: respondWith(completion(`{"why":"so","same":[{"existing":"e1","draft":"d1","text":"on port 8080","sure":1}]}`))},
		{name: "hangs", service: func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // so that the server detects the disconnect of the client
			<-r.Context().Done()
		}, timeout: 50 * time.Millisecond, want: "no response from the model within 50ms"},
		{name: "hangs within the answer", service: func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"choices":[`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, timeout: 200 * time.Millisecond, want: "no response from the model within 200ms"},
		{name: "hangs up", service: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			want: "cannot reach the model: connection failed"},
		{name: "hangs up within the answer", service: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"choices":[`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, want: "model response is truncated"},
		{name: "401", service: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(401)
			io.Copy(w, r.Body) // echoes the request
		}, want: "model returned 401 Unauthorized"},
		{name: "429", service: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(429)
		}, want: "model returned 429 Too Many Requests"},
		{name: "500", service: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"error":{"message":"`+secret+`"}}`, 500) },
			want: "model returned 500 Internal Server Error"},
		{name: "599", service: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(599) }, want: "model returned 599"},
		{name: "no content", service: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, want: "model response does not match the requested format"},
		{name: "400 to everything", service: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) }, want: "model returned 400 Bad Request"},
		{name: "sends to itself", service: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/v2", http.StatusTemporaryRedirect) },
			want: "model redirects to another address, which is not followed: set llm.endpoint to that address"},
		{name: "sends elsewhere", service: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusPermanentRedirect)
		},
			want: "model redirects to another address, which is not followed: set llm.endpoint to that address"},
		{name: "a page", service: respondWith("<html>"), want: "model response does not match the requested format"},
		{name: "a stream without end", service: sends("application/json", strings.Repeat(" ", 1<<16), 0),
			want: "model response is larger than 1048576 bytes"},
		{name: "a huge answer", service: respondWith(completion(strings.Repeat("x", 2<<20))), want: "model response is larger than 1048576 bytes"},
		{name: "no answer", service: respondWith(""), want: "model response does not match the requested format"},
		{name: "no JSON", service: respondWith(secret), want: "model response does not match the requested format"},
		{name: "half of it", service: respondWith(completion(same)[:60]), want: "model response does not match the requested format"},
		{name: "other JSON", service: respondWith(`[1]`), want: "model response does not match the requested format"},
		{name: "no choices", service: respondWith(`{"choices":[]}`), want: "model response is empty"},
		{name: "says nothing", service: respondWith(completion("")), want: "model response is empty"},
		{name: "declines", service: respondWith(`{"choices":[{"message":{"role":"assistant","refusal":"no"}}]}`), want: "model response is empty"},
		{name: "talks", service: respondWith(completion("They are the same: " + secret + ".")), want: "model response does not match the requested format"},
		{name: "cut short", service: respondWith(completion(same[:30])), want: "model response does not match the requested format"},
		{name: "another object", service: respondWith(completion(`{"equal":[]}`)), want: "model response does not match the requested format"},
		{name: "other types", service: respondWith(completion(`{"same":{"e1":"d1"}}`)), want: "model response does not match the requested format"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked atomic.Int32
			c := newTestClient(t, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				test.service(w, r)
			})
			c.Timeout = cmp.Or(test.timeout, 10*time.Second)
			p, err := c.ProposeMerge(t.Context(), inFile, inDraft, acceptProposal)
			if test.want == "" {
				want := &memory.Proposal{Pairs: []memory.ItemPair{{Existing: "e1", Draft: "d1", Text: "on port 8080"}}}
				if diff := gocmp.Diff(want, p); err != nil || diff != "" {
					t.Errorf("err = %v, proposal (-want +got):\n%s", err, diff)
				}
			} else if err == nil || err.Error() != test.want {
				t.Errorf("got %v, %v, want %q", p, err, test.want)
			}
			if n := asked.Load(); n > 1 {
				t.Errorf("it was asked %d times", n)
			}
		})
	}
}

// TestWhatIsSent checks that a request contains the model, the current key and
// the expected text without credentials.
func TestWhatIsSent(t *testing.T) {
	var header http.Header
	var path, body string
	c := newTestClient(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		header, path, body = r.Header, r.URL.Path, string(text)
		respondWith(completion(same))(w, r)
	})
	key := "one"
	c.Key = func() (string, error) { return key, nil }
	tasks := []memory.Mergeable{{ID: "e2", Section: "Tasks " + secret, Text: "ask " + secret, Task: true, State: memory.Done}}
	for range 2 {
		if _, err := c.ProposeMerge(t.Context(), append(tasks, inFile...), inDraft, acceptProposal); err != nil {
			t.Fatal(err)
		}
		if got := header.Get("Authorization"); got != "Bearer "+key || path != "/v1/chat/completions" {
			t.Errorf("%s with %q, want the key %q", path, got, key)
		}
		key = "two"
	}
	var sent struct {
		Model    string
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal([]byte(body), &sent); err != nil || len(sent.Messages) != 2 {
		t.Fatalf("%v in %s", err, body)
	}
	if got := sent.Model + " " + sent.Messages[0].Role + " " + sent.Messages[1].Role; got != "m system user" {
		t.Errorf("sent %s", got)
	}
	const question = `{"sections":[{"section":"Tasks ` + masked + `","file":[{"id":"e2","text":"ask ` + masked + `","done":true}],"draft":[]},` +
		`{"section":"Facts","file":[{"id":"e1","title":"Port","text":"port 8080, the word ` + masked + `"}],"draft":[{"id":"d1","title":"Where it listens","text":"on port 8080"}]}]}`
	if diff := gocmp.Diff(question, sent.Messages[1].Content); diff != "" {
		t.Errorf("question (-want +got):\n%s", diff)
	}
}

// TestWhatIsNotSent checks that nothing is sent without the key, above the size
// limit or after cancellation.
func TestWhatIsNotSent(t *testing.T) {
	service := func(http.ResponseWriter, *http.Request) { t.Error("the model was asked") }
	for _, test := range []struct {
		name   string
		change func(*Client)
		text   string
		want   string
	}{
		{"without its key", func(c *Client) { c.Key = func() (string, error) { return "", errors.New("k: gone") } }, "a",
			"key of the model: k: gone"},
		{"too much", func(*Client) {}, strings.Repeat("a", maxRequest), "model request not sent: text has 98318 bytes, at most 98304"},
	} {
		c := newTestClient(t, service)
		test.change(c)
		if _, err := c.Summarize(t.Context(), []string{test.text}, acceptText); err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newTestClient(t, service).ProposeMerge(ended, inFile, inDraft, acceptProposal); !errors.Is(err, context.Canceled) {
		t.Errorf("a question whose asker has gone: %v", err)
	}
	gone := newTestClient(t, service)
	gone.Endpoint = "http://127.0.0.1:1/v1"
	if _, err := gone.ProposeMerge(t.Context(), inFile, inDraft, acceptProposal); err == nil || err.Error() != "cannot reach the model: connection refused" {
		t.Errorf("nobody there: %v", err)
	}
}

func TestSummarize(t *testing.T) {
	var body string
	answer := `{"summary":"They moved to port 8080."}`
	c := newTestClient(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body = string(text)
		respondWith(completion(answer))(w, r)
	})
	got, err := c.Summarize(t.Context(), []string{"the port is 8080", "the word is " + secret}, acceptText)
	if err != nil || got != "They moved to port 8080." {
		t.Errorf("got %q, %v", got, err)
	}
	if !strings.Contains(body, `{\"notes\":[\"the port is 8080\",\"the word is `+masked+`\"]}`) {
		t.Errorf("sent %s", body)
	}
	for _, answer = range []string{`{"summary":" "}`, `{}`} {
		if got, err := c.Summarize(t.Context(), []string{"a"}, acceptText); err == nil {
			t.Errorf("%s is taken for %q", answer, got)
		}
	}
}

// TestStatus checks that a rejected answer is returned to the caller as an
// error, and counted without any text of memory.
func TestStatus(t *testing.T) {
	c := newTestClient(t, respondWith(completion(same)))
	refuse := errors.New("8080 would be lost")
	if _, err := c.ProposeMerge(t.Context(), inFile, inDraft, func(p *memory.Proposal) error {
		if len(p.Pairs) != 1 {
			t.Errorf("checked %v", p)
		}
		return refuse
	}); !errors.Is(err, refuse) || err.Error() != "model response rejected: 8080 would be lost" {
		t.Errorf("a refused proposal: %v", err)
	}
	if s := c.Status(); s.Requests != 1 || s.Failed != 1 || s.FailedAt.IsZero() || strings.Contains(s.Failure, "8080") || s.Failure == "" {
		t.Errorf("%+v", s)
	}
	if _, err := c.ProposeMerge(t.Context(), inFile, inDraft, acceptProposal); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c.ProposeMerge(ended, inFile, inDraft, acceptProposal)
	if s := c.Status(); s.Requests != 3 || s.Failed != 1 {
		t.Errorf("%+v", s)
	}
	c.Endpoint = "http://127.0.0.1:1"
	c.ProposeMerge(t.Context(), inFile, inDraft, acceptProposal)
	if s := c.Status(); s.Failed != 2 || s.Failure != "cannot reach the model: connection refused" {
		t.Errorf("%+v", s)
	}
}
