package vault

import (
	"errors"
	"os"
	"testing"
	"time"
)

// TestRepairWaitsForTheDisk checks that an empty root, as of an unmounted disk,
// does not make pending changes count as not made.
func TestRepairWaitsForTheDisk(t *testing.T) {
	w := newWriter(t, map[string]string{"d/a.md": "theirs\n", "d/.memwatchd-x.tmp": "old\n", "b.md": "new\n"})
	_, err := w.Journal.Begin(recordOf("d/a.md", ".memwatchd-x.tmp", []byte("old\n"), []byte("new\n")))
	must(t, err)
	made, err := w.Journal.Begin(recordOf("b.md", ".memwatchd-y.tmp", []byte("old\n"), []byte("new\n")))
	must(t, err)

	disk := w.Vault.Dir + "~"
	must(t, os.Rename(w.Vault.Dir, disk))
	must(t, os.Mkdir(w.Vault.Dir, 0o700))
	w = writerOn(t, w.Vault, w.Journal.Dir)
	if err := w.Repair(t.Context()); !errors.Is(err, ErrRoot) {
		t.Errorf("got %v, want %v", err, ErrRoot)
	}
	if _, err := w.Write(t.Context(), newChange("c.md", "", "c\n")); !errors.Is(err, ErrRoot) {
		t.Errorf("write: got %v, want %v", err, ErrRoot)
	}
	wantFiles(t, w, map[string]string{})
	if n := len(w.Journal.Pending()); n != 2 {
		t.Errorf("%d changes are pending, want 2", n)
	}

	must(t, os.Remove(w.Vault.Dir))
	must(t, os.Rename(disk, w.Vault.Dir))
	_, err = w.Write(t.Context(), newChange("c.md", "", "c\n")) // which repairs first
	must(t, err)
	wantFiles(t, w, map[string]string{"d/a.md": "theirs\n", "b.md": "new\n", "c.md": "c\n"})
	if list := w.Journal.List(time.Time{}, "b.md", 0); len(list) != 1 || list[0].ID != made.ID || len(w.Journal.Pending()) > 0 {
		t.Errorf("the journal has %+v, pending %+v", list, w.Journal.Pending())
	}
}
