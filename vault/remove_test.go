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

// TestRepairOfARemoval checks that a removal interrupted by a crash is either
// completed or reverted.
func TestRepairOfARemoval(t *testing.T) {
	for _, test := range []struct {
		name        string
		there, away string // contents at the path and under the temporary name
		want        map[string]string
		happened    bool
	}{
		{"before", "one\n", "", map[string]string{"a.md": "one\n"}, false},
		{"after", "", "one\n", map[string]string{}, true},
		{"saved meanwhile", "new\n", "one\n", map[string]string{"a.md": "new\n"}, true},
		{"saved to the old file", "", "one\nlate\n", map[string]string{"a.md": "one\nlate\n"}, false},
	} {
		w := newWriter(t, nil)
		r := recordOf("a.md", ".memwatchd-x.tmp", []byte("one\n"), nil)
		r, err := w.Journal.Begin(r)
		must(t, err)
		for name, text := range map[string]string{"a.md": test.there, r.Temp: test.away} {
			if text != "" {
				must(t, os.WriteFile(filepath.Join(w.Vault.Dir, name), []byte(text), 0o600))
			}
		}
		must(t, w.Repair(t.Context()))
		t.Log(test.name)
		wantFiles(t, w, test.want)
		if _, err := w.Journal.Get(r.ID); (err == nil) != test.happened || len(w.Journal.Pending()) > 0 {
			t.Errorf("%s: %v, pending %v", test.name, err, w.Journal.Pending())
		}
	}
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
