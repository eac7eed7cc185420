package vault

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// newWriter returns a writer that does not wait for anybody, on a new root.
func newWriter(t *testing.T, files map[string]string) *Writer {
	t.Helper()
	return writerOn(t, newVault(t, files), filepath.Join(t.TempDir(), "journal"))
}

func writerOn(t *testing.T, v *Vault, journal string) *Writer {
	t.Helper()
	j, err := OpenJournal(journal, 0)
	must(t, err)
	return &Writer{Vault: v, Journal: j, Quiet: -1, Logger: slog.New(slog.DiscardHandler)}
}

// change is an asked change of a file that replaces old by new in it.
func change(path, old, new string) Change {
	return Change{Path: path, Cause: "edit", Asked: true, Edit: func(f *File) ([]byte, error) {
		if f == nil {
			return []byte(new), nil
		}
		return bytes.Replace(f.Data, []byte(old), []byte(new), 1), nil
	}}
}

// wantFiles compares what there is below the root, temporary files and all.
func wantFiles(t *testing.T, w *Writer, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, w.tree(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestWrite(t *testing.T) {
	for _, keepOld := range []bool{false, true} {
		w := newWriter(t, map[string]string{"2026-02-04/cli.md": "- [ ] one\r\n- two"})
		w.keepOld = keepOld
		got, err := w.Write(t.Context(), change("2026-02-04/cli.md", "[ ]", "[x]"))
		must(t, err)
		after := "- [x] one\r\n- two"
		if !got.Changed || got.Hash != hashOf([]byte(after)) || !w.Own("2026-02-04/cli.md", got.Hash) {
			t.Errorf("%+v", got)
		}
		wantFiles(t, w, map[string]string{"2026-02-04/cli.md": after})
		r, err := w.Journal.Get(got.ID)
		if err != nil || r.State != StateDone || r.Before != Digest([]byte("- [ ] one\r\n- two")) || r.After != Digest([]byte(after)) {
			t.Errorf("%+v, %v", r, err)
		}
		if got, err := w.Write(t.Context(), change("2026-02-04/cli.md", "[ ]", "[x]")); err != nil || got.Changed || got.ID != "" || got.Hash != hashOf([]byte(after)) {
			t.Errorf("nothing to do: %+v, %v", got, err)
		}
		if s := w.Status(); s.Applied != 1 || s.LostRaces != 0 || !s.Enabled {
			t.Errorf("%+v", s)
		}
		if n := len(w.Journal.List(time.Time{}, "", 0)); n != 1 || len(w.Journal.Pending()) != 0 {
			t.Errorf("%d changes in the journal, %v", n, w.Journal.Pending())
		}
	}
}
