package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestPresent checks that a file that is open for writing and not in the cache
// cannot be read. It does not count as deleted, and the record of its tasks is
// kept.
func TestPresent(t *testing.T) {
	root := t.TempDir()
	testkit.WriteFile(t, filepath.Join(root, "MEMORY.md"), "- [ ] one\n")
	d := startTarget(t, root, nil).daemon
	files := taskFiles{d}
	if _, err := files.Load("MEMORY.md"); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(root, "MEMORY.md"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if writing, _ := d.vault.Writing("MEMORY.md"); !writing {
		t.Skip("there are no leases here")
	}
	// The daemon may have read the file before it was opened, and still add it to
	// the cache.
	for end := time.Now().Add(20 * time.Second); err == nil && time.Now().Before(end); {
		d.pipeline.documents.dropFile("MEMORY.md")
		_, err = files.Load("MEMORY.md")
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("while it is written: %v", err)
	}
	f.Close()
	if _, err := files.Load("MEMORY.md"); err != nil {
		t.Error(err)
	}
	if _, err := files.Load("none.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that is not there: %v", err)
	}
}
