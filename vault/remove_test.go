package vault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/memwatchd/memwatchd/vault/journal"
)

func removalChange(path string) Change {
	return Change{Path: path, Cause: "undo", Requested: true, Edit: func(f *File) ([]byte, error) {
		if f == nil {
			return nil, nil
		}
		return nil, ErrRemove
	}}
}

func TestRemove(t *testing.T) {
	for _, noLeases := range []bool{false, true} {
		w := newWriter(t, map[string]string{"a.md": "one\n", "b.md": "two\n"})
		w.Vault.noLeases = noLeases
		got, err := w.Write(t.Context(), removalChange("a.md"))
		must(t, err)
		if !got.Changed {
			t.Errorf("%+v", got)
		}
		wantFiles(t, w, map[string]string{"b.md": "two\n"})
		r, err := w.Journal.Get(got.ID)
		if err != nil || r.State != journal.StateDone || r.Before != journal.Digest([]byte("one\n")) || r.After != "" {
			t.Errorf("%+v, %v", r, err)
		}
		if got, err := w.Write(t.Context(), removalChange("a.md")); err != nil || got.Changed {
			t.Errorf("nothing to remove: %+v, %v", got, err)
		}
	}
}

// TestRemoveLosesTheRace checks that Edit is called again with a version saved
// during a removal.
func TestRemoveLosesTheRace(t *testing.T) {
	w := newWriter(t, map[string]string{"a.md": "one\n"})
	wants := errors.New("changed")
	_, err := w.Write(t.Context(), Change{Path: "a.md", Requested: true, Edit: func(f *File) ([]byte, error) {
		if string(f.Data) != "one\n" {
			return nil, wants
		}
		must(t, os.WriteFile(filepath.Join(w.Vault.Dir, "a.md"), []byte("two\n"), 0o600))
		return nil, ErrRemove
	}})
	if !errors.Is(err, wants) {
		t.Errorf("got %v, want %v", err, wants)
	}
	wantFiles(t, w, map[string]string{"a.md": "two\n"})
}

// TestRemoveAndSave checks that a save to a removed file that was still open
// puts the file back.
func TestRemoveAndSave(t *testing.T) {
	w := newWriter(t, map[string]string{"a.md": "one\n"})
	w.Vault.noLeases = true
	saved := false
	w.fault = func(call string, do func() error) error {
		if call != "sync directory" || saved {
			return do()
		}
		saved = true // by a program that opened the file just before its removal
		away, err := filepath.Glob(filepath.Join(w.Vault.Dir, tempPrefix+"*"))
		if err != nil || len(away) != 1 {
			return fmt.Errorf("%q, %v", away, err)
		}
		return os.WriteFile(away[0], []byte("late\n"), 0o600)
	}
	_, err := w.Write(t.Context(), removalChange("a.md"))
	must(t, err)
	wantFiles(t, w, map[string]string{"a.md": "late\n"})
}
