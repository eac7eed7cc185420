package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestKeepInvalid keeps lines, also where another user has put a link to a file of the
// caller.
func TestKeepInvalid(t *testing.T) {
	dir := t.TempDir()
	own, file := filepath.Join(dir, "own"), filepath.Join(dir, "a.jsonl")
	for range 2 {
		testkit.Must(t, keepInvalid(file, []byte("bad\n")))
	}
	if err := keepInvalid(file, []byte("worse\n")); err == nil {
		t.Error("other lines are replaced")
	}
	if got, err := os.ReadFile(file + ".invalid"); err != nil || string(got) != "bad\n" {
		t.Errorf("the file contains %q, %v", got, err)
	}
	linked := filepath.Join(dir, "b.jsonl")
	if err := os.Symlink(own, linked+".invalid"); err != nil {
		t.Skip(err)
	}
	if err := keepInvalid(linked, []byte("bad\n")); err == nil {
		t.Error("a link is followed")
	}
	if _, err := os.Stat(own); err == nil {
		t.Error("the target of a link was written")
	}
}
