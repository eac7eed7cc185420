package llm

import (
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/memwatchd/memwatchd/internal/fakes/llmtest"
)

// newEmbedder returns a client of a test endpoint.
func newEmbedder(s *llmtest.Server) *Client {
	return &Client{Endpoint: s.URL, Model: "m", Setting: "embed"}
}

var embedded = []string{"the port is 8080", "lunch with Mira", "the word is " + secret}

// TestEmbed checks the vectors for each form of response, and the error for each
// fault.
func TestEmbed(t *testing.T) {
	var want [][]float32
	for _, text := range embedded {
		want = append(want, llmtest.Vector("m", strings.ReplaceAll(text, secret, masked)))
	}
	for _, test := range []struct {
		fault llmtest.Fault
		want  string // expected error; empty for vectors
	}{
		{llmtest.None, ""},
		{llmtest.Shuffled, ""},
		{llmtest.Ollama, ""},
		{llmtest.WrongCount, "model returned 2 vectors for 3 texts"},
		{llmtest.WrongIndex, "model response has wrong indexes"},
		{llmtest.NotANumber, "model response does not match the requested format"},
		{llmtest.Zero, "model returned a vector that is zero or not finite"},
		{llmtest.OtherDimension, "model returned vectors of different dimensions"},
		{llmtest.Cut, "model response does not match the requested format"},
		{llmtest.Failure, "model returned 500 Internal Server Error"},
		{llmtest.Busy, "model returned 429 Too Many Requests"},
		{llmtest.Unauthorized, "model returned 401 Unauthorized"},
	} {
		s := llmtest.NewServer(t)
		s.Set(test.fault)
		c := newEmbedder(s)
		got, err := c.Embed(t.Context(), embedded)
		if test.want != "" {
			if err == nil || err.Error() != test.want || RefusesText(err) {
				t.Errorf("fault %d: %v", test.fault, err)
			}
			if status := c.Status(); status.Failed != 1 || status.Failure != test.want {
				t.Errorf("fault %d: %+v", test.fault, status)
			}
			continue
		}
		if diff := gocmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" || err != nil {
			t.Errorf("fault %d: %v\n%s", test.fault, err, diff)
		}
	}
}

// TestEmbedResponses checks responses that the test endpoint does not have.
func TestEmbedResponses(t *testing.T) {
	for body, want := range map[string]string{
		`{"data":[{"embedding":[3,0,4]}]}`:                   "",
		`{"data":[{"embedding":[ 3 , 0.0 , 4e0 ]}]}`:         "",
		`{"embeddings":[[3,0,4]]}`:                           "",
		`{"data":[{"index":1,"embedding":[3,0,4]}]}`:         "model response has wrong indexes",
		`{"data":[{"index":-1,"embedding":[3,0,4]}]}`:        "model response has wrong indexes",
		`{"data":[{"embedding":[]}]}`:                        "model returned a vector of 0 dimensions: 1 to 8192 are supported",
		`{"data":[{}]}`:                                      "model returned a vector of 0 dimensions: 1 to 8192 are supported",
		`{"data":[]}`:                                        "model returned 0 vectors for 1 texts",
		`{}`:                                                 "model returned 0 vectors for 1 texts",
		`{"embeddings":[null]}`:                              "model response does not match the requested format",
		`{"data":[{"embedding":[1,"2"]}]}`:                   "model response does not match the requested format",
		`{"data":[{"embedding":[1,[2]]}]}`:                   "model response does not match the requested format",
		`{"data":[{"embedding":[1e39]}]}`:                    "model response does not match the requested format",
		`{"data":[{"embedding":[NaN]}]}`:                     "model response does not match the requested format",
		`{"data":[{"embedding":"AADAfwAAAAA="}]}`:            "model response does not match the requested format",
		`{"data":[{"embedding":{"a":1}}]}`:                   "model response does not match the requested format",
		`{"error":{"message":"the word is ` + secret + `"}}`: "model returned 0 vectors for 1 texts",
		`[]`: "model response does not match the requested format",
		`{"data":[{"embedding":[` + strings.Repeat("1,", 8192) + `1]}]}`: "model returned a vector of 8193 dimensions: 1 to 8192 are supported",
	} {
		c := newTestClient(t, respondWith(body))
		got, err := c.Embed(t.Context(), embedded[:1])
		if want == "" {
			if diff := gocmp.Diff([][]float32{{0.6, 0, 0.8}}, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" || err != nil {
				t.Errorf("%s: %v\n%s", body, err, diff)
			}
		} else if err == nil || err.Error() != want {
			t.Errorf("%.60s: %v, want %q", body, err, want)
		}
	}
}

// TestEmbedRequest checks that requests contain the texts without credentials
// and the current key, and that Ollama's own API has another path.
func TestEmbedRequest(t *testing.T) {
	s := llmtest.NewServer(t)
	c := newEmbedder(s)
	c.Key = func() (string, error) { return "sk-1", nil }
	got, err := c.Embed(t.Context(), embedded)
	if err != nil || len(got[0]) != llmtest.Dimensions {
		t.Fatalf("%v, %v", got, err)
	}
	if diff := gocmp.Diff([]string{"the port is 8080", "lunch with Mira", "the word is " + masked}, s.Texts()); diff != "" {
		t.Error(diff)
	}
	if h := s.Header(); h.Get("Authorization") != "Bearer sk-1" || h.Get("Content-Type") != "application/json" {
		t.Errorf("%v", h)
	}
	if got, err := c.Embed(t.Context(), nil); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	var path string
	ollama := newTestClient(t, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		respondWith(`{"embeddings":[[1]]}`)(w, r)
	})
	ollama.Endpoint = strings.TrimSuffix(ollama.Endpoint, "/v1") + "/api"
	if _, err := ollama.Embed(t.Context(), embedded[:1]); err != nil || path != "/api/embed" {
		t.Errorf("%s, %v", path, err)
	}
}
