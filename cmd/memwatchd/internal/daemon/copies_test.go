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
	file := filepath.Join(g.root, "MEMORY.md")
	testkit.WriteFile(t, file, "# Long-Term Memory\n\n## Key Facts\n")
	// merges adds a copy with an entry that the file lacks, and returns a function that
	// tries to merge it. Without a known common version, the file is one that memwatchd
	// has not written.
	merges := func(n int, known bool) (merged func() bool) {
		t.Helper()
		g.mustSend(t, c, "remember", mergeObjects(ownerInPrivate, object{"text": fmt.Sprintf("own %d", n), "explicit": true}))
		text, err := os.ReadFile(file)
		testkit.Must(t, err)
		path := filepath.Join(g.root, fmt.Sprintf("MEMORY.sync-conflict-20261127-13023%d-AAAAAAA.md", n))
		testkit.WriteFile(t, path, string(text)+fmt.Sprintf("- other %d\n", n))
		if !known {
			testkit.WriteFile(t, file, string(text)+fmt.Sprintf("- foreign %d\n", n))
		}
		return func() bool {
			g.mustSend(t, c, "sync", object{})
			m.mergeKnown(t.Context())
			_, err := os.Stat(path)
			return os.IsNotExist(err)
		}
	}
	if merges(1, false)() {
		t.Fatal("a copy is merged without a common version")
	}
	os.Remove(filepath.Join(g.root, "MEMORY.sync-conflict-20261127-130231-AAAAAAA.md"))
	for n := range crowded - 1 {
		merges(n+2, true)()
	}
	waitUntil(t, "after many merges, a copy without a common version is merged", merges(crowded+1, false))
}
