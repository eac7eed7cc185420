package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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

func acceptText(string) error { return nil }

const same = `{"same":[{"existing":"e1","draft":"d1"}]}`

// TestServices checks that, for any response of a service, the result is a proposal or an
// error, which contains neither the request nor the response.
func TestServices(t *testing.T) {
	const other, empty = "model response does not match the requested format", "model response is empty"
	for _, test := range []struct {
		name, body string
		want       string // expected error; empty for a proposal
	}{
		{"well", completion(same), ""},
		{"in a fence", completion("Here it is:\n```json\n" + same + "\n```\n"), ""},
		{"thinking aloud", completion("<think>maybe {e1}?</think>" + same), ""},
		{"more than requested", completion(`{"why":"so","same":[{"existing":"e1","draft":"d1","sure":1}]}`), ""},
		{"a page", "<html>", other},
		{"a huge answer", completion(strings.Repeat("x", 2<<20)), "model response is larger than 1048576 bytes"},
		{"no answer", "", other},
		{"no JSON", secret, other},
		{"half of it", completion(same)[:60], other},
		{"other JSON", `[1]`, other},
		{"no choices", `{"choices":[]}`, empty},
		{"says nothing", completion(""), empty},
		{"declines", `{"choices":[{"message":{"role":"assistant","refusal":"no"}}]}`, empty},
		{"talks", completion("They are the same: " + secret + "."), other},
		{"cut short", completion(same[:30]), other},
		{"another object", completion(`{"equal":[]}`), other},
		{"other types", completion(`{"same":{"e1":"d1"}}`), other},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := newTestClient(t, respondWith(test.body)).ProposeMerge(t.Context(), inFile, inDraft)
			if test.want == "" {
				want := []memory.ItemPair{{Existing: "e1", Draft: "d1"}}
				if diff := gocmp.Diff(want, p); err != nil || diff != "" {
					t.Errorf("err = %v, proposal (-want +got):\n%s", err, diff)
				}
			} else if err == nil || err.Error() != test.want {
				t.Errorf("got %v, %v, want %q", p, err, test.want)
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
		if _, err := c.ProposeMerge(t.Context(), append(tasks, inFile...), inDraft); err != nil {
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

// TestTooLarge checks that nothing is sent above the size limit.
func TestTooLarge(t *testing.T) {
	c := newTestClient(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	_, err := c.Summarize(t.Context(), []string{strings.Repeat("a", maxRequest)}, acceptText)
	if err == nil || err.Error() != "model request not sent: text has 98318 bytes, at most 98304" {
		t.Error(err)
	}
	if _, err := c.Embed(t.Context(), []string{strings.Repeat("a", maxEmbedRequest)}); err == nil ||
		err.Error() != "model request not sent: text has 4194330 bytes, at most 4194304" {
		t.Error(err)
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
	answer := `{"summary":"port 8080"}`
	c := newTestClient(t, func(w http.ResponseWriter, r *http.Request) { respondWith(completion(answer))(w, r) })
	refuse := errors.New("8080 would be lost")
	if _, err := c.Summarize(t.Context(), []string{"a"}, func(string) error {
		return refuse
	}); !errors.Is(err, refuse) || err.Error() != "model response rejected: 8080 would be lost" {
		t.Errorf("a refused summary: %v", err)
	}
	if s := c.Status(); s.Requests != 1 || s.Failed != 1 || s.FailedAt.IsZero() || strings.Contains(s.Failure, "8080") || s.Failure == "" {
		t.Errorf("%+v", s)
	}
	answer = same
	if _, err := c.ProposeMerge(t.Context(), inFile, inDraft); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c.ProposeMerge(ended, inFile, inDraft)
	if s := c.Status(); s.Requests != 3 || s.Failed != 1 {
		t.Errorf("%+v", s)
	}
	c.Endpoint = "http://127.0.0.1:1"
	c.ProposeMerge(t.Context(), inFile, inDraft)
	if s := c.Status(); s.Failed != 2 || s.Failure != "cannot reach the model: connection refused" {
		t.Errorf("%+v", s)
	}
}
