package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestMergedCopiesCount checks that copies merged lately count as copies of their file,
// because other machines still have them: with them, a copy without a known common version
// is merged before Syncthing deletes it.
func TestMergedCopiesCount(t *testing.T) {
	g := startTarget(t, t.TempDir(), func(c *config.Config, _ string) { c.Compactor.Host = "another" })
	c, m := g.dial("s"), newCopyMerger(g.daemon)
	write := func(path, text string) {
		t.Helper()
		testkit.Must(t, os.WriteFile(filepath.Join(g.root, path), []byte(text), 0o600))
	}
	copies := 0
	// merge adds a copy with an entry that the file lacks, and merges it. Without a known
	// common version, the file is one that memwatchd has not written.
	merge := func(known bool) (merged bool) {
		t.Helper()
		g.mustSend(t, c, "remember", mergeObjects(ownerInPrivate, object{"text": fmt.Sprintf("own %d", copies), "explicit": true}))
		text, err := os.ReadFile(filepath.Join(g.root, "MEMORY.md"))
		if err != nil {
			t.Fatal(err)
		}
		copies++
		path := fmt.Sprintf("MEMORY.sync-conflict-20261127-13023%d-AAAAAAA.md", copies)
		write(path, string(text)+fmt.Sprintf("- other %d\n", copies))
		if !known {
			write("MEMORY.md", string(text)+fmt.Sprintf("- foreign %d\n", copies))
		}
		g.mustSend(t, c, "sync", object{})
		m.mergeKnown(t.Context())
		g.mustSend(t, c, "sync", object{})
		_, err = os.Stat(filepath.Join(g.root, path))
		return os.IsNotExist(err)
	}
	write("MEMORY.md", "# Long-Term Memory\n\n## Key Facts\n")
	if merge(false) {
		t.Fatal("a copy is merged without a common version")
	}
	os.Remove(filepath.Join(g.root, "MEMORY.sync-conflict-20261127-130231-AAAAAAA.md"))
	for range crowded - 1 {
		merge(true)
	}
	if !merge(false) {
		t.Errorf("after %d merges, a copy without a common version stays", crowded-1)
	}
}
