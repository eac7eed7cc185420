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
			testkit.WriteFile(t, filepath.Join(g.root, "new.md"), "- coffee\n")
			return g.daemon.pipeline.applyMu.Unlock
		},
		"the root is away": func() func() {
			testkit.Must(t, os.Rename(g.root, g.root+".away"))
			return func() { testkit.Must(t, os.Rename(g.root+".away", g.root)) }
		},
	} {
		release := hold()
		for range 3 {
			began := time.Now()
			status, body, fresh := synced()
			if status != http.StatusServiceUnavailable || errorCode(t, body) != api.Unavailable || fresh || time.Since(began) > time.Minute {
				t.Errorf("while %s: sync answers %d %s after %v, and an answer is fresh: %t", name, status, body, time.Since(began), fresh)
			}
		}
		release()
		waitUntil(t, "everything is indexed", func() bool {
			status, _, fresh := synced()
			return status == http.StatusOK && fresh
		})
	}
}
