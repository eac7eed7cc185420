package ops

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
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/llm"
	"github.com/memwatchd/memwatchd/memory"
)

// testKey has the form of a live key. It is split so that secret scanners do
// not match this file.
var testKey = "ghp_" + "R8xk2LmQ9vTz4WcYb7NpJ3hSd6FgA1eUoIiK"

const judgedPath = "2026-02-05/s.md"

// judgedFile is the file of a session with text that a model must not receive.
var judgedFile = `---
created_at: 2026-02-05T09:00:00Z
updated_at: 2026-02-05T09:00:00Z
summary: "moving"
tasks: "0/1"
follow_ups: "0/0"
session_id: s
---

# 2026-02-05 Short-Term Memory

## Temporary Facts
1. **Port**: the service listens on 8080, see docs/net.md
2. **Token**: the token is ` + testKey + `
3. **Diary**: Alice is unhappy <!-- visibility=private_only -->
4. **Host**: it runs on atlas

## Tasks
- [ ] Write the report for Bob

## Elsewhere
- **Lunch**: soup
`

var judgedDraft = api.Draft{
	Facts: []api.DraftItem{
		{Title: "Where it listens", Text: "the service moved to port 8081"},
		{Title: "Host", Text: "it runs on hermes"},
		{Title: "New token", Text: "now " + testKey},
		{Title: "Mood", Text: "Alice is happy again", Visibility: "private_only"},
	},
	Tasks: []api.DraftTask{{Text: "Finish the report for Bob", Done: true}},
}

// A judgedCase is a memory whose sessions write while a test model runs.
type judgedCase struct {
	*diskCase
	t        *testing.T
	mu       sync.Mutex
	received []string
}

func newJudgedCase(t *testing.T, file string, service func(c *judgedCase, w http.ResponseWriter, r *http.Request)) *judgedCase {
	t.Helper()
	root := &txtar.Archive{Files: []txtar.File{
		{Name: judgedPath, Data: []byte(file)},
		{Name: "2026-02-05/other.md", Data: []byte("# Other\n\n## Temporary Facts\n- **Port**: of another session\n")},
	}}
	c := &judgedCase{t: t, diskCase: readOpsCase(t, root).disk(t)}
	if service == nil {
		return c
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		c.received = append(c.received, fmt.Sprintf("%s %v %s", r.URL, r.Header, body))
		c.mu.Unlock()
		service(c, w, r)
	}))
	t.Cleanup(server.Close)
	c.memory.Judge = &llm.Client{Endpoint: server.URL, Model: "m", Timeout: 10 * time.Second}
	return c
}

// write writes the draft and returns the answer and the file.
func (c *judgedCase) write(subject string, context memory.Context, r api.SessionRequest) (*api.SessionAnswer, string) {
	c.t.Helper()
	scope := c.Scope(subject, context)
	view, err := c.View(scope)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Session = "s"
	answer, err := c.memory.adminOps().session(c.t.Context(), Call{Scope: scope, View: view}, &r)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer, c.file()
}

func (c *judgedCase) file() string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, judgedPath))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// proposes answers with a proposal in the format of the protocol.
func proposes(content string) func(*judgedCase, http.ResponseWriter, *http.Request) {
	return func(_ *judgedCase, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text, _ := json.Marshal(content)
		fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%s}}]}`, text)
	}
}

// The ids in the model's request: e1 is the port, e2 the host, e3 the task; d1
// the port, d2 the host, d3 the task.
const validProposal = `{"same":[
 {"existing":"e1","draft":"d1","text":"the service moved to port 8081, see docs/net.md"},
 {"existing":"e2","draft":"d2","text":"it runs on hermes"},
 {"existing":"e3","draft":"d3","text":""}]}`

// TestSemanticMerge checks that a good proposal merges matching items and
// changes nothing else.
func TestSemanticMerge(t *testing.T) {
	c := newJudgedCase(t, judgedFile, proposes(validProposal))
	answer, got := c.write("owner", memory.Private, api.SessionRequest{Draft: judgedDraft})
	want := strings.NewReplacer(
		"updated_at: 2026-02-05T09:00:00Z", "updated_at: 2026-02-05T12:00:00Z", `"0/1"`, `"1/1"`,
		"session_id: s\n", "session_id: s\nsummary_at: 2026-02-05T09:00:00Z\n",
		"the service listens on 8080, see docs/net.md", "the service moved to port 8081, see docs/net.md",
		"it runs on atlas", "it runs on hermes", "- [ ]", "- [x]",
	).Replace(judgedFile)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	if answer.Merge != "semantic" || len(answer.Updated) != 3 || len(answer.Added) != 0 || len(answer.LeftOut) != 2 {
		t.Errorf("%+v", answer)
	}
	if asked := c.requestTexts(); len(asked) != 1 {
		t.Errorf("the model was asked %d times", len(asked))
	}
}

// TestSemanticMergeFallsBack checks that after any failure of the model the
// draft is merged by the rules as without a model, and that the answer contains
// the reason.
func TestSemanticMergeFallsBack(t *testing.T) {
	byRules := newJudgedCase(t, judgedFile, nil)
	answer, want := byRules.write("owner", memory.Private, api.SessionRequest{Draft: judgedDraft})
	if answer.Merge != "rules" || strings.Contains(strings.Join(answer.Hints, "\n"), "merged by rules") {
		t.Errorf("without a model: %+v", answer)
	}
	if !strings.Contains(want, "- [ ] Write the report for Bob\n- [x] Finish") || !strings.Contains(want, "it runs on hermes\n") {
		t.Errorf("by rules:\n%s", want)
	}
	text := func(existing, draft, text string) func(*judgedCase, http.ResponseWriter, *http.Request) {
		p, _ := json.Marshal(memory.Proposal{Pairs: []memory.ItemPair{{Existing: existing, Draft: draft, Text: text}}})
		return proposes(string(p))
	}
	const refused = "model response rejected: "
	for _, test := range []struct {
		name    string
		service func(*judgedCase, http.ResponseWriter, *http.Request)
		hint    string
	}{
		{"hangs", func(c *judgedCase, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no response from the model within 100ms"},
		{"an invented item", text("e7", "d1", "the service moved to port 8081"), refused + `item "e7" is not in the file`},
		{"saved meanwhile", func(c *judgedCase, w http.ResponseWriter, r *http.Request) {
			proposes(validProposal)(c, w, r)
			path := filepath.Join(c.dir, judgedPath)
			if err := os.WriteFile(path+"~", []byte(judgedFile+"- by a person\n"), 0o600); err != nil {
				t.Error(err)
			}
			if err := os.Rename(path+"~", path); err != nil {
				t.Error(err)
			}
		}, "the file changed during the request to the model"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newJudgedCase(t, judgedFile, test.service)
			if test.name == "hangs" {
				c.memory.Judge.(*llm.Client).Timeout = 100 * time.Millisecond
			}
			answer, got := c.write("owner", memory.Private, api.SessionRequest{Draft: judgedDraft})
			if test.name == "saved meanwhile" {
				got = strings.Replace(got, "- by a person\n", "", 1)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the file (-by rules +got):\n%s", diff)
			}
			if !slices.ContainsFunc(answer.Hints, func(h string) bool { return strings.HasPrefix(h, "merged by rules: "+test.hint) }) || answer.Merge != "rules" {
				t.Errorf("merged by %s, hints %q, want %q", answer.Merge, answer.Hints, test.hint)
			}
			c.checkNothingSent(t)
		})
	}
}

// requestTexts returns the requests that the model received, including aborted ones.
func (c *judgedCase) requestTexts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.received)
}

// checkNothingSent fails if the model received text that it must not receive.
func (c *judgedCase) checkNothingSent(t *testing.T) {
	t.Helper()
	asked := c.requestTexts()
	if len(asked) == 0 {
		t.Error("the model was not asked")
	}
	for _, sent := range asked {
		for _, what := range []string{testKey, "unhappy", "Diary", "happy again", "soup", "another session", "moving", "owner", c.dir} {
			if strings.Contains(sent, what) {
				t.Errorf("the model was sent %q", what)
			}
		}
	}
}

// TestWhatAModelIsTold checks that private text is sent only if configured, and
// that a credential is never sent, for any caller.
func TestWhatAModelIsTold(t *testing.T) {
	private := strings.Replace(judgedFile, "session_id: s\n", "session_id: s\nvisibility: private_only\nsubject_id: owner\n", 1)
	for _, test := range []struct {
		name    string
		file    string
		subject string
		context memory.Context
		allowed bool
		told    bool // public text is sent
		secret  bool // private text is sent
		hint    string
	}{
		{"the owner, in private", judgedFile, "owner", memory.Private, false, true, false, ""},
		{"the owner, in private, where that is configured", judgedFile, "owner", memory.Private, true, true, true, ""},
		{"the owner, in public", judgedFile, "owner", memory.Public, false, false, false, ""},
		{"the owner, in public, where it is configured", judgedFile, "owner", memory.Public, true, false, false, ""},
		{"somebody else", judgedFile, "acct:42", memory.Private, true, false, false, ""},
		{"a private file", private, "owner", memory.Private, false, false, false, "merged by rules: private text is not sent to the model"},
		{"a private file, where that is configured", private, "owner", memory.Private, true, true, true, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newJudgedCase(t, test.file, proposes(`{"same":[]}`))
			c.memory.JudgePrivate = test.allowed
			answer, _ := c.write(test.subject, test.context, api.SessionRequest{Draft: judgedDraft})
			sent := strings.Join(c.requestTexts(), "\n")
			if got := strings.Contains(sent, "docs/net.md"); got != test.told {
				t.Errorf("told what is public: %v", got)
			}
			if got := strings.Contains(sent, "unhappy"); got != test.secret {
				t.Errorf("told what is private: %v", got)
			}
			for _, never := range []string{testKey, "happy again", "soup", "another session"} {
				if strings.Contains(sent, never) {
					t.Errorf("the model was sent %q", never)
				}
			}
			if got := strings.Join(answer.Hints, "\n"); strings.Contains(got, "merged by") != (test.hint != "") || !strings.Contains(got, test.hint) {
				t.Errorf("hints %q", answer.Hints)
			}
		})
	}
}

// TestNothingToJudge checks that the model is not called for a new file and for
// items with the same words.
func TestNothingToJudge(t *testing.T) {
	c := newJudgedCase(t, judgedFile, proposes(validProposal))
	same := api.Draft{Facts: []api.DraftItem{{Title: "host", Text: "it runs on atlas"}}, Tasks: []api.DraftTask{{Text: "write the report for Bob"}, {Text: "A new one"}}}
	if answer, _ := c.write("owner", memory.Private, api.SessionRequest{Draft: same}); answer.Merge != "rules" || len(c.requestTexts()) > 0 {
		t.Errorf("%+v, asked %q", answer, c.requestTexts())
	}
	if answer, _ := c.write("owner", memory.Private, api.SessionRequest{Draft: judgedDraft, Day: "2026-02-04"}); answer.Merge != "rules" || len(c.requestTexts()) > 0 {
		t.Errorf("%+v, asked %q", answer, c.requestTexts())
	}
}
