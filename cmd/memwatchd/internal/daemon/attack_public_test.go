package daemon

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
)

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
