package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// A modelService implements the OpenAI protocol and returns a preset text.
type modelService struct {
	*httptest.Server
	mu       sync.Mutex
	says     string // the text; empty to fail
	received []string
}

func newModelService(t *testing.T) *modelService {
	t.Helper()
	s := &modelService{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.received = append(s.received, r.Header.Get("Authorization")+" "+string(body))
		if s.says == "" {
			http.Error(w, string(body), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		text, _ := json.Marshal(s.says)
		fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%s}}]}`, text)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *modelService) say(content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.says = content
}

// sent returns the requests that the service has received.
func (s *modelService) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.received)
}

// TestLiveModel checks that a daemon with a model merges entries about the same
// subject and summarizes in the model's words, and continues by its rules if
// the model fails. The daemon reports which of the two it used. Private text is
// not sent, and no text of memory is logged.
func TestLiveModel(t *testing.T) {
	t.Parallel()
	service := newModelService(t)
	root := t.TempDir()
	testkit.WriteFile(t, filepath.Join(root, "2026-01-05/old.md"), "- We chose PostgreSQL 17.\n- Rent is 900. <!-- visibility=private_only -->\n")
	l := newLive(t, root, "")
	key := filepath.Join(filepath.Dir(l.config), "key")
	testkit.Must(t, os.WriteFile(key, []byte("sk-local\n"), 0o600))
	l.configure(fmt.Sprintf("llm: {endpoint: %q, model: tiny, key_file: %q, timeout: 30s}\n", service.URL+"/v1", key))
	l.start()
	write := func(draft fields) *api.SessionAnswer {
		t.Helper()
		var a api.SessionAnswer
		l.must("session", owner.with(fields{"session": "s", "draft": draft}), &a)
		return &a
	}
	first := write(fields{"summary": "moving", "facts": []fields{{"title": "Port", "text": "it listens on 80801380"}}})
	l.write(first.Path, l.read(first.Path)+"- **Secret**: the zebra <!-- visibility=private_only -->\n")
	l.sync()
	if len(service.sent()) > 0 || first.Merge != "rules" {
		t.Fatalf("a new file: %+v, sent %q", first, service.sent())
	}

	service.say(`{"same":[{"existing":"e1","draft":"d1","text":"it listens on 80801380"}]}`)
	a := write(fields{"facts": []fields{{"title": "Address", "text": "it listens on 8081"}}})
	if a.Merge != "semantic" || len(a.Updated) != 1 || !strings.Contains(l.read(a.Path), "**Port**: it listens on 8081\n") {
		t.Errorf("%+v\n%s", a, l.read(a.Path))
	}

	service.say("")
	a = write(fields{"facts": []fields{{"title": "New address", "text": "it listens on 90901390"}}})
	if a.Merge != "rules" || len(a.Added) != 1 || !slices.Contains(a.Hints, "merged by rules: model returned 500 Internal Server Error") {
		t.Errorf("%+v", a)
	}
	if s := l.mustStatus(); s.LLM == nil || s.LLM.Requests != 2 || s.LLM.Failed != 1 || s.LLM.Model != "tiny" || !strings.Contains(s.LLM.Failure, "500") || !s.Healthy {
		t.Errorf("status %+v", s.LLM)
	}

	service.say(`{"summary":"They chose PostgreSQL 17."}`)
	var c api.CompressAnswer
	l.must("compress", owner, &c)
	if c.Applied != 1 || !strings.Contains(l.read("_longterms/owner/profile.md"), "They chose PostgreSQL 17. <!--") ||
		!strings.Contains(l.read("_longterms/owner/profile.md"), "Rent is 900. <!--") {
		t.Errorf("%+v\n%s", c, l.read("_longterms/owner/profile.md"))
	}

	for _, sent := range service.sent() {
		if !strings.HasPrefix(sent, "Bearer sk-local ") || strings.Contains(sent, "zebra") || strings.Contains(sent, "900") {
			t.Errorf("sent %s", sent)
		}
	}
	for _, never := range []string{"80801380", "90901390", "zebra", "PostgreSQL", "sk-local"} {
		if strings.Contains(l.log.String(), never) {
			t.Errorf("%q is in the log", never)
		}
	}
}
