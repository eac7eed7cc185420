package ops

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// TestWriteBusy checks that an edit of a file that others keep saving returns
// Busy and loses none of their changes.
func TestWriteBusy(t *testing.T) {
	d := newDisk(t, map[string]string{"MEMORY.md": "- a\n"})
	parse, saved := d.memory.Parse, "- a"
	d.memory.Parse = func(f vault.File) *memory.Document {
		saved += " more" // simulates a save between read and write
		checkError(t, os.WriteFile(filepath.Join(d.dir, "MEMORY.md"), []byte(saved), 0o600))
		return parse(f)
	}
	_, err := do[api.EditAnswer](t, d.memory, owner, api.EditRequest{Path: "MEMORY.md", OldText: "- a", NewText: "- b"})
	if got := asError(err).Code; got != api.Busy {
		t.Errorf("the error is %v", err)
	}
	d.want(t, "MEMORY.md", saved)
}
