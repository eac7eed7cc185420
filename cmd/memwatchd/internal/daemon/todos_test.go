package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestPresent checks that a file that is open for writing and not in the cache
// cannot be read. It does not count as deleted, and the record of its tasks is
// kept.
func TestPresent(t *testing.T) {
	isolateHome(t)
	root := t.TempDir()
	testkit.WriteFile(t, filepath.Join(root, "MEMORY.md"), "- [ ] one\n")
	d := startTarget(t, root, nil).daemon
	files := taskFiles{d}
	if _, err := files.Load("MEMORY.md"); err != nil {
		t.Fatal(err)
	}
	d.pipeline.documents.dropFile("MEMORY.md")
	f, err := os.OpenFile(filepath.Join(root, "MEMORY.md"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if writing, _ := d.vault.Writing("MEMORY.md"); !writing {
		t.Skip("there are no leases here")
	}
	if _, err := files.Load("MEMORY.md"); err == nil || errors.Is(err, fs.ErrNotExist) {
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
