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

// gathered exceeds the time in which task reconciliation gathers changes.
const gathered = 3 * todosync.DefaultGather

// TestRebuildHidesNoSave checks that a save that a rebuild reads before the
// pipeline does still reaches task reconciliation.
func TestRebuildHidesNoSave(t *testing.T) {
	ownHome(t)
	root := t.TempDir()
	list, did := filepath.Join(root, testkit.Ago(1), "list.md"), filepath.Join(root, testkit.Ago(0), "did.md")
	testkit.Put(t, list, "## Tasks\n- [ ] Call Ann\n")
	testkit.Put(t, did, "## Tasks\n")
	g := startTarget(t, root, func(c *config.Config, _ string) { c.Write.Quiet = 0 })
	d := g.daemon
	eventually(t, "tasks are reconciled", func() bool { return d.todos != nil && d.todos.Started() })

	time.Sleep(gathered)
	d.pipeline.changing.Lock()
	testkit.Put(t, list, "## Tasks\n- [ ] Call Bob\n")
	err := d.Rebuild(t.Context())
	d.pipeline.changing.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(gathered)
	testkit.Put(t, did, "## Tasks\n- [x] Call Bob\n")
	eventually(t, "the other copy is ticked", func() bool {
		text, err := os.ReadFile(list)
		return err == nil && strings.Contains(string(text), "- [x] Call Bob")
	})
}
