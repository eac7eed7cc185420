package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// TestKeepInvalid keeps lines where another user has put a link to a file of the
// caller, and beside a file in an archive.
func TestKeepInvalid(t *testing.T) {
	dir := t.TempDir()
	own, file := filepath.Join(dir, "own"), filepath.Join(dir, "a.jsonl")
	if err := os.WriteFile(own, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, file+".invalid"); err != nil {
		t.Skip(err)
	}
	for range 2 {
		if err := keepInvalid(file, []byte("bad\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := keepInvalid(file, []byte("worse\n")); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(file + ".invalid"); err != nil || to != own {
		t.Errorf("the link was replaced: %q, %v", to, err)
	}
	for name, want := range map[string]string{own: "kept", file + ".invalid2": "bad\n", file + ".invalid3": "worse\n"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s contains %q, %v", name, got, err)
		}
	}
}
