package daemon

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestNotSynced checks that while the daemon cannot confirm that everything is
// indexed, sync fails in time, and answers report that they may be old.
func TestNotSynced(t *testing.T) {
	g := serveTree(t, map[string]string{"MEMORY.md": "- tea\n"}, func(c *config.Config, _ string) { c.Tuning.SyncTimeout = 200 * time.Millisecond })
	c := g.dial("s")
	scope := object{"subject": "owner", "context": "private"}
	synced := func() (status int, body string, fresh bool) {
		t.Helper()
		status, body = g.sendRequest(t, c, "sync", mergeObjects(scope, object{"timeout": "200ms"}))
		return status, body, strings.Contains(g.mustSend(t, c, "search", mergeObjects(scope, object{"query": "coffee"})), `"synced":true`)
	}
	for name, hold := range map[string]func() (release func()){
		"nothing can be taken over": func() func() {
			g.daemon.pipeline.applyMu.Lock()
			return g.daemon.pipeline.applyMu.Unlock
		},
		"the root is away": func() func() {
			rename := func(from, to string) {
				t.Helper()
				testkit.Must(t, os.Rename(from, to))
			}
			rename(g.root, g.root+".away")
			return func() { rename(g.root+".away", g.root) }
		},
	} {
		release := hold()
		if name != "the root is away" {
			testkit.Must(t, os.WriteFile(filepath.Join(g.root, "new.md"), []byte("- coffee\n"), 0o600))
		}
		for range 3 {
			began := time.Now()
			status, body, fresh := synced()
			if status != http.StatusServiceUnavailable || errorCode(t, body) != api.Unavailable {
				t.Errorf("while %s: sync answers %d %s", name, status, body)
			}
			if fresh {
				t.Errorf("while %s: an answer is said to be fresh", name)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("while %s: it takes %s to say so", name, took)
			}
		}
		release()
		waitUntil(t, "everything is indexed", func() bool {
			status, _, fresh := synced()
			return status == http.StatusOK && fresh
		})
	}
}
