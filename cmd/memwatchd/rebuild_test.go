package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/todosync"
)

// gathered is longer than reconciliation gathers changes.
const gathered = 3 * todosync.DefaultGather

// A save that a rebuild reads before the pipeline does is not lost to
// reconciliation.
func TestRebuildHidesNoSave(t *testing.T) {
	ownHome(t)
	root := t.TempDir()
	list, did := filepath.Join(root, ago(1), "list.md"), filepath.Join(root, ago(0), "did.md")
	put(t, list, "## Tasks\n- [ ] Call Ann\n")
	put(t, did, "## Tasks\n")
	g := startTarget(t, root, func(c *Config, _ string) { c.Write.Quiet = 0 })
	d := g.daemon
	eventually(t, "tasks are reconciled", func() bool { return d.todos != nil && d.todos.Started() })

	time.Sleep(gathered)
	d.pipeline.changing.Lock()
	put(t, list, "## Tasks\n- [ ] Call Bob\n")
	err := d.Rebuild(t.Context())
	d.pipeline.changing.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(gathered)
	put(t, did, "## Tasks\n- [x] Call Bob\n")
	eventually(t, "the other copy is ticked", func() bool {
		text, err := os.ReadFile(list)
		return err == nil && strings.Contains(string(text), "- [x] Call Bob")
	})
}
