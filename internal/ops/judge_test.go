package ops

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/llm"
)

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
2. **Token**: the token is ` + liveToken + `
3. **Diary**: Alice is unhappy <!-- visibility=private_only -->
4. **Host**: it runs on atlas

## Tasks
- [ ] Write the report for Bob

## Elsewhere
- **Lunch**: soup
`

var judgedDraft = api.Draft{
	Facts: []api.DraftItem{
		{Title: "Where it listens", Text: "the service moved to port 8081"}, {Title: "Host", Text: "it runs on hermes"},
		{Title: "New token", Text: "now " + liveToken}, {Title: "Mood", Text: "Alice is happy again", Visibility: "private_only"},
	},
	Tasks: []api.DraftTask{{Text: "Finish the report for Bob", Done: true}},
}

// A judgedCase is a memory whose sessions write while a test model runs.
type judgedCase struct {
	*testMemory
	mu       sync.Mutex
	received string // by the model, also of aborted requests
	requests int
}

func newJudgedCase(t *testing.T, file string, service func(c *judgedCase, w http.ResponseWriter, r *http.Request)) *judgedCase {
	t.Helper()
	c := &judgedCase{testMemory: newDisk(t, map[string]string{judgedPath: file,
		"2026-02-05/other.md": "# Other\n\n## Temporary Facts\n- **Port**: of another session\n"})}
	if service == nil {
		return c
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		c.received += fmt.Sprintf("%s %v %s\n", r.URL, r.Header, body)
		c.requests++
		c.mu.Unlock()
		service(c, w, r)
	}))
	t.Cleanup(server.Close)
	c.memory.Judge = &llm.Client{Endpoint: server.URL, Model: "m", Timeout: 10 * time.Second}
	return c
}

// write writes a draft and returns the answer, and the requests that the model received. It
// fails if these contain text that no model may receive.
func (c *judgedCase) write(t *testing.T, by api.Caller, draft api.Draft, day string) (*api.SessionAnswer, string) {
	t.Helper()
	answer, err := do[api.SessionAnswer](t, c.memory, by, api.SessionRequest{Session: "s", Draft: draft, Day: day})
	checkError(t, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, never := range []string{liveToken, "happy again", "soup", "another session", "moving", "owner", c.dir} {
		if strings.Contains(c.received, never) {
			t.Errorf("the model was sent %q", never)
		}
	}
	return answer, c.received
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

// TestSemanticMerge checks that a good proposal merges matching items and changes nothing
// else, and that the model is not called for a new file and for items with the same words.
func TestSemanticMerge(t *testing.T) {
	c := newJudgedCase(t, judgedFile, proposes(validProposal))
	same := api.Draft{Facts: []api.DraftItem{{Title: "host", Text: "it runs on atlas"}}, Tasks: []api.DraftTask{{Text: "write the report for Bob"}}}
	for day, draft := range map[string]api.Draft{"": same, "2026-02-04": judgedDraft} {
		if answer, _ := c.write(t, owner, draft, day); answer.Merge != "rules" || c.requests > 0 {
			t.Errorf("%+v, %d requests", answer, c.requests)
		}
	}
	checkError(t, os.WriteFile(filepath.Join(c.dir, judgedPath), []byte(judgedFile), 0o600))
	answer, _ := c.write(t, owner, judgedDraft, "")
	want := strings.NewReplacer(
		"updated_at: 2026-02-05T09:00:00Z", "updated_at: 2026-02-05T12:00:00Z", `"0/1"`, `"1/1"`,
		"session_id: s\n", "session_id: s\nsummary_at: 2026-02-05T09:00:00Z\n",
		"the service listens on 8080, see docs/net.md", "the service moved to port 8081, see docs/net.md",
		"it runs on atlas", "it runs on hermes", "- [ ]", "- [x]",
	).Replace(judgedFile)
	if diff := cmp.Diff(want, c.read(t, judgedPath)); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	if answer.Merge != "semantic" || len(answer.Updated) != 3 || len(answer.Added) != 0 || len(answer.LeftOut) != 2 || c.requests != 1 {
		t.Errorf("%+v, %d requests", answer, c.requests)
	}
}

// TestSemanticMergeFallsBack checks that after any failure of the model the
// draft is merged by the rules as without a model, and that the answer contains
// the reason.
func TestSemanticMergeFallsBack(t *testing.T) {
	rules := newJudgedCase(t, judgedFile, nil)
	answer, _ := rules.write(t, owner, judgedDraft, "")
	want := rules.read(t, judgedPath)
	if answer.Merge != "rules" || strings.Contains(strings.Join(answer.Hints, "\n"), "merged by rules") ||
		!strings.Contains(want, "- [ ] Write the report for Bob\n- [x] Finish") || !strings.Contains(want, "it runs on hermes\n") {
		t.Errorf("without a model: %+v\n%s", answer, want)
	}
	for hint, service := range map[string]func(*judgedCase, http.ResponseWriter, *http.Request){
		"no response from the model within 500ms":               func(c *judgedCase, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		`model response rejected: item "e7" is not in the file`: proposes(`{"same":[{"existing":"e7","draft":"d1","text":"the service moved to port 8081"}]}`),
		"the file changed during the request to the model": func(c *judgedCase, w http.ResponseWriter, r *http.Request) {
			proposes(validProposal)(c, w, r)
			path := filepath.Join(c.dir, judgedPath)
			checkError(t, os.WriteFile(path+"~", []byte(judgedFile+"- by a person\n"), 0o600))
			checkError(t, os.Rename(path+"~", path))
		},
	} {
		t.Run(hint, func(t *testing.T) {
			c := newJudgedCase(t, judgedFile, service)
			if strings.HasPrefix(hint, "no response") {
				c.memory.Judge.(*llm.Client).Timeout = 500 * time.Millisecond
			}
			answer, sent := c.write(t, owner, judgedDraft, "")
			if diff := cmp.Diff(want, strings.Replace(c.read(t, judgedPath), "- by a person\n", "", 1)); diff != "" {
				t.Errorf("the file (-by rules +got):\n%s", diff)
			}
			if !strings.Contains(strings.Join(answer.Hints, "\n"), "merged by rules: "+hint) || answer.Merge != "rules" || sent == "" {
				t.Errorf("merged by %s, hints %q", answer.Merge, answer.Hints)
			}
		})
	}
}

// TestWhatAModelIsTold checks that private text is sent only if configured, for any caller.
func TestWhatAModelIsTold(t *testing.T) {
	private := strings.Replace(judgedFile, "session_id: s\n", "session_id: s\nvisibility: private_only\nsubject_id: owner\n", 1)
	for name, test := range map[string]struct {
		file    string
		by      api.Caller
		allowed bool
		told    string // of the private and the public text
		hint    string
	}{
		"the owner, in private":                           {judgedFile, owner, false, "public", ""},
		"the owner, in private, where that is configured": {judgedFile, owner, true, "public and private", ""},
		"the owner, in public, where it is configured":    {judgedFile, as("owner", "public"), true, "", ""},
		"somebody else":                                   {judgedFile, as("acct:42", "private"), true, "", ""},
		"a private file":                                  {private, owner, false, "", "merged by rules: private text is not sent to the model"},
		"a private file, where that is configured":        {private, owner, true, "public and private", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newJudgedCase(t, test.file, proposes(`{"same":[]}`))
			c.memory.JudgePrivate = test.allowed
			answer, sent := c.write(t, test.by, judgedDraft, "")
			if strings.Contains(sent, "docs/net.md") != strings.Contains(test.told, "public") ||
				strings.Contains(sent, "unhappy") != strings.Contains(test.told, "private") {
				t.Errorf("the model was sent %s", sent)
			}
			if got := strings.Join(answer.Hints, "\n"); strings.Contains(got, "merged by") != (test.hint != "") || !strings.Contains(got, test.hint) {
				t.Errorf("hints %q", answer.Hints)
			}
		})
	}
}
