package daemon

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestHeavyDrafts checks that clients that send large drafts and leave at once do
// not keep the owner from writing, and that such a draft succeeds afterwards.
func TestHeavyDrafts(t *testing.T) {
	g := startGuarded(t)
	var large strings.Builder
	large.WriteString("---\nsession_id: large\n---\n# Day\n\n## Temporary Facts\n")
	for i := range 20_000 {
		fmt.Fprintf(&large, "- **Fact %d**: the value of fact %d\n", i, i)
	}
	name := filepath.Join(g.root, testkit.DaysAgo(0), "large.md")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(large.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	g.mustSend(t, g.dial("s"), "sync", object{"timeout": "2m"})

	draft := func(items, size int) object {
		facts := make([]object, items)
		for i := range facts {
			facts[i] = object{"title": fmt.Sprintf("Fact %d", i*40), "text": fmt.Sprint(strings.Repeat("the same words again ", size/21), i)}
		}
		return object{"session": "large", "draft": object{"summary": "Many facts", "facts": facts}}
	}
	heavy := draft(500, 740) // 397 KB
	status, body := g.sendRequest(t, g.dial("public"), "session", draft(20_000, 0))
	if errorCode(t, body) != api.TooLarge || !strings.Contains(body, "maximum 500") {
		t.Errorf("a draft of 20,000 titles: %d %.200s", status, body)
	}
	for socket, scope := range map[string]object{"public": nil, "s": {"subject": "acct:42", "context": "public"}} {
		text, err := json.Marshal(mergeObjects(heavy, scope))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			c, err := net.Dial("unix", g.socket(socket))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c, "POST /v1/session HTTP/1.1\r\nHost: memwatchd\r\nContent-Length: %d\r\n\r\n", len(text))
			if _, err := c.Write(text); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(300*time.Millisecond, func() { c.Close() }) // a merge may have begun
		}
	}
	owner := g.dial("s")
	for i := range 5 {
		g.mustSend(t, owner, "note", object{"text": fmt.Sprint("a note of the owner ", i), "subject": "owner", "context": "private"})
	}
	g.mustSend(t, g.dial("public"), "session", heavy)
	g.mustSend(t, owner, "session", mergeObjects(heavy, object{"subject": "acct:42", "context": "public"}))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if missing := firstMissingLine(strings.Split(strings.TrimSpace(large.String()), "\n")[4:], string(data)); missing != "" {
		t.Errorf("the file has lost %q", missing)
	}
}

// otherRequests holds requests that would succeed for the owner in private.
var otherRequests = map[string]object{
	"search": {"query": "zorbowner zorbmine zorbbob openall", "include_archived": true}, "get": {"path": "MEMORY.md"}, "recent": {"hours": 876000},
	"related": {"path": "MEMORY.md"}, "context": {"format": "full"}, "todos": {"state": "all"}, "todo": {"text": "openall"}, "complete": {"what": "path"}, "files": {},
	"note": {"text": "a note"}, "capture": {"bullets": []string{"a bullet"}}, "remember": {"title": "a", "text": "b", "explicit": true},
	"forget": {"match": "zorb"}, "session": {"session": "s", "draft": object{"summary": "mine", "tasks": []object{{"text": "openall", "done": true}}}},
	"edit": {"path": "2026-02-04/s.md", "old_text": "openall", "new_text": "x"}, "write": {"path": "notes/new.md", "text": "x"},
	"profile": {"text": "x", "evidence": []string{"MEMORY.md"}}, "project": {"name": "x", "text": "x", "evidence": []string{"MEMORY.md"}},
	"item_put": {"namespace": "preference", "key": "zorbkey", "value": "x"}, "item_get": {"namespace": "preference", "key": "zorbkey"},
	"item_delete": {"namespace": "preference", "key": "zorbkey"}, "item_delete_namespace": {"namespace": "preference"},
	"item_visibility": {"id": "k1", "visibility": "public_ok"}, "restore": {"id": "a.md#k1"}, "wipe_subject": {"confirm": "acct:42"}, "undo": {"since": "1h"},
}

// TestEveryOperationAsAnother sends every operation on the owner's socket with
// the scope of another subject in public. Nothing hidden is in the answers,
// administration and changes are refused, and no existing file changes.
func TestEveryOperationAsAnother(t *testing.T) {
	g := startGuarded(t)
	c := g.dial("s")
	before := g.readTree(t)
	for _, op := range api.Operations {
		request := mergeObjects(otherRequests[op.Name], object{"subject": "acct:9", "context": "public"})
		if op.Name == "link" || op.Name == "unlink" || op.Name == "resolve" { // they name subjects themselves
			request = object{"external_key": "telegram:1", "context": "public"}
		}
		status, body := g.sendRequest(t, c, op.Name, request)
		echo := strings.NewReplacer("MEMORY.md", "", "zorbkey", "") // an error repeats the request
		if strings.Contains(echo.Replace(withoutEcho(body)), "zorb") || strings.Contains(withoutEcho(body), "openmine") || strings.Contains(body, g.root) {
			t.Errorf("%s shows %s", op.Name, body)
		}
		refused := op.Needs >= api.InPrivate
		if refused && (status != http.StatusForbidden || errorCode(t, body) != api.Forbidden) || status >= http.StatusInternalServerError {
			t.Errorf("%s: %d %s", op.Name, status, body)
		}
	}
	after := g.readTree(t)
	for path, was := range before {
		if after[path] != was {
			t.Errorf("%s has become\n%s", path, after[path])
		}
	}
	for path, text := range after {
		if _, ok := before[path]; !ok && !strings.Contains(text, "acct:9") {
			t.Errorf("%s is new and does not name its author:\n%s", path, text)
		}
	}
}

// readTree returns the files of the memory by path.
func (g *target) readTree(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(g.root), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".memwatchd-") {
			return err
		}
		data, err := os.ReadFile(filepath.Join(g.root, path))
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
