package vault

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestWriteSettings checks that, outside memory, only the listed settings are
// written. They are changed, journalled and undone like memory, and new ones
// are private.
func TestWriteSettings(t *testing.T) {
	const path = "_longterms/_links.yaml"
	w := newWriter(t, map[string]string{"a.md": "a"})
	_, err := w.Write(t.Context(), newChange(path, "", "x: y\n"))
	if refused := (*RefusedError)(nil); !errors.As(err, &refused) {
		t.Fatalf("it is written: %v", err)
	}
	w.Settings = []string{path}
	must(t, os.Chmod(w.Vault.Dir, 0o775))
	must(t, os.Mkdir(filepath.Join(w.Vault.Dir, "_longterms"), 0o775))
	must(t, os.Chmod(filepath.Join(w.Vault.Dir, "_longterms"), 0o775))
	_, err = w.Write(t.Context(), newChange(path, "", "x: y\n"))
	must(t, err)
	info, err := os.Stat(filepath.Join(w.Vault.Dir, path))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v", info.Mode())
	}
	must(t, os.Chmod(filepath.Join(w.Vault.Dir, path), 0o640))
	written, err := w.Write(t.Context(), newChange(path, "y", "z"))
	must(t, err)
	wantFiles(t, w, map[string]string{"a.md": "a", path: "x: z\n"})
	if info, err := os.Stat(filepath.Join(w.Vault.Dir, path)); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	u := &Undoer{w}
	list, err := u.Undo(context.Background(), written.ID, false)
	must(t, err)
	if len(list) != 1 || list[0].Err != nil {
		t.Errorf("it is not undone: %+v", list)
	}
	wantFiles(t, w, map[string]string{"a.md": "a", path: "x: y\n"})
	if _, err := w.Write(t.Context(), newChange("_longterms/other.yaml", "", "x")); err == nil {
		t.Error("another one is written")
	}
}
