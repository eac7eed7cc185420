package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/todosync"
)

// gatherTime exceeds the time in which task reconciliation gathers changes.
const gatherTime = 3 * todosync.DefaultDebounce

// TestRebuildHidesNoSave checks that a save that a rebuild reads before the
// pipeline does still reaches task reconciliation.
func TestRebuildHidesNoSave(t *testing.T) {
	isolateHome(t)
	root := t.TempDir()
	list, did := filepath.Join(root, testkit.DaysAgo(1), "list.md"), filepath.Join(root, testkit.DaysAgo(0), "did.md")
	testkit.WriteFile(t, list, "## Tasks\n- [ ] Call Ann\n")
	testkit.WriteFile(t, did, "## Tasks\n")
	g := startTarget(t, root, func(c *config.Config, _ string) { c.Write.Quiet = 0 })
	d := g.daemon
	waitUntil(t, "tasks are reconciled", func() bool { return d.todos != nil && d.todos.Started() })

	time.Sleep(gatherTime)
	d.pipeline.applyMu.Lock()
	testkit.WriteFile(t, list, "## Tasks\n- [ ] Call Bob\n")
	err := d.Rebuild(t.Context())
	d.pipeline.applyMu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(gatherTime)
	testkit.WriteFile(t, did, "## Tasks\n- [x] Call Bob\n")
	waitUntil(t, "the other copy is ticked", func() bool {
		text, err := os.ReadFile(list)
		return err == nil && strings.Contains(string(text), "- [x] Call Bob")
	})
}
