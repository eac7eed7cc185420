package vault

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/vault/journal"
)

func contentChange(path, text string) Change {
	return Change{Path: path, Cause: "test", Requested: true, Edit: func(*File) ([]byte, error) { return []byte(text), nil }}
}

func anyRecord(journal.Record) bool { return true }

func hunkContains(text string) func(journal.Record, journal.Hunk) bool {
	return func(_ journal.Record, h journal.Hunk) bool {
		return slices.ContainsFunc([][]byte{h.Old, h.New, h.Above, h.Below}, func(b []byte) bool { return bytes.Contains(b, []byte(text)) })
	}
}

// TestJournalForgets checks that forgotten text is in no file of the journal,
// and that the other hunks of a change stay.
func TestJournalForgets(t *testing.T) {
	w := newWriter(t, map[string]string{"a.md": "one\n2\n3\n4\n5\n6\n7\n8\n9\nend\n"})
	changed, err := w.Write(t.Context(), contentChange("a.md", "secret\n2\n3\n4\n5\n6\n7\n8\n9\nover\n"))
	must(t, err)
	other, err := w.Write(t.Context(), contentChange("b.md", "b\n"))
	must(t, err)
	must(t, w.Journal.Forget(func(r journal.Record) bool { return r.Path == "b.md" }, hunkContains("secret")))
	if !journalHolds(t, w.Journal, "secret") {
		t.Error("the text of another file is forgotten")
	}
	for range 2 { // repetition is harmless
		must(t, w.Journal.Forget(anyRecord, hunkContains("secret")))
	}
	again, err := journal.Open(w.Journal.Dir, time.Hour)
	must(t, err)
	if p := again.Problems(); len(p) > 0 {
		t.Error(p)
	}
	for _, j := range []*journal.Journal{w.Journal, again} {
		r, err := j.Get(changed.ID)
		must(t, err)
		if !r.Forgotten || len(r.Hunks) != 2 || string(r.Hunks[1].New) != "over\n" {
			t.Errorf("%+v", r)
		}
		if journalHolds(t, j, "secret") {
			t.Error("the text is still there")
		}
	}
	u := &Undoer{w}
	undone, err := u.Undo(t.Context(), changed.ID, false)
	must(t, err)
	if len(undone) != 1 || undone[0].Err == nil || !strings.Contains(undone[0].Err.Error(), "forgotten") {
		t.Errorf("%+v", undone)
	}
	if undone, err := u.Undo(t.Context(), other.ID, false); err != nil || undone[0].Err != nil {
		t.Errorf("%+v, %v", undone, err)
	}
}

// journalHolds reports whether the journal contains a text.
func journalHolds(t *testing.T, j *journal.Journal, text string) bool {
	t.Helper()
	for _, known := range j.List(time.Time{}, "", 0) {
		r, err := j.Get(known.ID)
		must(t, err)
		for _, h := range r.Hunks {
			if hunkContains(text)(r, h) {
				return true
			}
		}
	}
	return false
}

// TestForgetDamaged checks that Forget reports unreadable records and
// still removes the text from the others.
func TestForgetDamaged(t *testing.T) {
	w := newWriter(t, map[string]string{"a.md": "one\n"})
	first, err := w.Write(t.Context(), contentChange("a.md", "secret 1\n"))
	must(t, err)
	second, err := w.Write(t.Context(), contentChange("b.md", "secret 2\n"))
	must(t, err)
	path := filepath.Join(w.Journal.Dir, first.ID+".json")
	data, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, append(bytes.TrimSuffix(data, []byte("\n")), "x\n"...), 0o600))
	err = w.Journal.Forget(anyRecord, hunkContains("secret"))
	r, failed := w.Journal.Get(second.ID)
	if err == nil || !strings.Contains(err.Error(), first.ID) || failed != nil || !r.Forgotten {
		t.Errorf("%v; %+v, %v", err, r, failed)
	}
}

// TestSecretChange checks that the journal never contains the text of a secret
// change.
func TestSecretChange(t *testing.T) {
	w := newWriter(t, map[string]string{"a.md": "one\nsecret\ntwo\n"})
	c := contentChange("a.md", "one\ntwo\n")
	c.Secret = true
	written, err := w.Write(t.Context(), c)
	must(t, err)
	wantFiles(t, w, map[string]string{"a.md": "one\ntwo\n"})
	r, err := w.Journal.Get(written.ID)
	must(t, err)
	if r.Hunks != nil || !r.Forgotten {
		t.Errorf("%+v", r)
	}
	u := &Undoer{w}
	if undone, err := u.Undo(t.Context(), written.ID, false); err != nil || undone[0].Err == nil {
		t.Errorf("%+v, %v", undone, err)
	}
	must(t, w.Clear(t.Context(), "a.md"))
	names, err := os.ReadDir(w.Vault.Dir)
	must(t, err)
	if len(names) != 1 {
		t.Errorf("something is left: %v", names)
	}
}

// TestClearWaits checks that Clear waits for a program that has the replaced file
// open for writing.
func TestClearWaits(t *testing.T) {
	w := newWriter(t, map[string]string{"a.md": "one\nsecret\n"})
	needLeases(t, w.Vault)
	var held atomic.Pointer[os.File]
	attempts := 0
	w.fault = func(call string, do func() error) error {
		if f := held.Load(); f != nil && strings.HasPrefix(call, "remove ") {
			if attempts++; attempts == 2 {
				f.Close()
			}
		}
		return do()
	}
	ctx, end := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { w.Run(ctx) })
	defer work.Wait()
	defer end()
	waitFor(t, "it runs", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.running })
	w.recheckDelay = 3 * time.Second
	_, err := w.Write(t.Context(), contentChange("a.md", "one\n"))
	must(t, err)
	names, err := filepath.Glob(filepath.Join(w.Vault.Dir, ".*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("not one replaced file: %v, %v", names, err)
	}
	f, err := os.OpenFile(names[0], os.O_WRONLY, 0)
	must(t, err)
	held.Store(f)
	must(t, w.Clear(t.Context(), "a.md"))
	if _, err := os.Lstat(names[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the replaced file is left: %v", err)
	}
}

func TestEditConflictCopies(t *testing.T) {
	kept := "a.md.kept-0abc0000"
	w := newWriter(t, map[string]string{"d/a.md": "now\n", "d/" + kept: "was\nsecret\n", "d/b.md.kept-0abc0000": "secret\n"})
	must(t, os.Chmod(filepath.Join(w.Vault.Dir, "d", kept), 0o640))
	changed, err := w.EditConflictCopies(t.Context(), "d/a.md", func(f *File) ([]byte, error) {
		return bytes.ReplaceAll(f.Data, []byte("secret\n"), nil), nil
	})
	if err != nil || !slices.Equal(changed, []string{"d/" + kept}) {
		t.Errorf("%v, %v", changed, err)
	}
	wantFiles(t, w, map[string]string{"d/a.md": "now\n", "d/" + kept: "was\n", "d/b.md.kept-0abc0000": "secret\n"})
	if info, err := os.Stat(filepath.Join(w.Vault.Dir, "d", kept)); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	// A simultaneous save takes precedence.
	path := filepath.Join(w.Vault.Dir, "d", kept)
	for name, save := range map[string]func() error{
		"in place": func() error { return os.WriteFile(path, []byte("theirs\n"), 0o640) },
		"by name": func() error {
			return errors.Join(os.WriteFile(path+"~", []byte("theirs\n"), 0o640), os.Rename(path+"~", path))
		},
	} {
		must(t, os.WriteFile(path, []byte("was\nsecret\n"), 0o640))
		changed, err := w.EditConflictCopies(t.Context(), "d/a.md", func(*File) ([]byte, error) {
			must(t, save())
			return []byte("ours\n"), nil
		})
		if err == nil || changed != nil {
			t.Errorf("saved %s: %v, %v", name, changed, err)
		}
		wantFiles(t, w, map[string]string{"d/a.md": "now\n", "d/" + kept: "theirs\n", "d/b.md.kept-0abc0000": "secret\n"})
	}
	names, err := os.ReadDir(filepath.Join(w.Vault.Dir, "d"))
	must(t, err)
	if len(names) != 3 {
		t.Errorf("something is left: %v", names)
	}
	refusal := errors.New("no")
	if _, err := w.EditConflictCopies(t.Context(), "d/a.md", func(*File) ([]byte, error) { return nil, refusal }); !errors.Is(err, refusal) {
		t.Errorf("got %v", err)
	}
	if changed, err := w.EditConflictCopies(t.Context(), "none/a.md", nil); changed != nil || err != nil {
		t.Errorf("%v, %v", changed, err)
	}
}

func TestRemoveEmpty(t *testing.T) {
	w := newWriter(t, map[string]string{"d/x/photo.jpg": "x"})
	dir := filepath.Join(w.Vault.Dir, "d")
	must(t, os.MkdirAll(filepath.Join(dir, "empty", "deep"), 0o700))
	must(t, os.MkdirAll(filepath.Join(dir, ".git", "refs", "heads"), 0o700))
	must(t, os.Symlink("/", filepath.Join(dir, "link")))
	for range 2 {
		left, err := w.RemoveEmpty(t.Context(), "d")
		if err != nil || !slices.Equal(left, []string{"d/.git", "d/link", "d/x/photo.jpg"}) {
			t.Errorf("%v, %v", left, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".git", "refs", "heads")); err != nil {
		t.Error(err) // git needs this empty directory
	}
	must(t, os.RemoveAll(filepath.Join(dir, ".git")))
	if _, err := os.Stat(filepath.Join(dir, "empty")); !os.IsNotExist(err) {
		t.Error(err)
	}
	must(t, os.Remove(filepath.Join(dir, "link")))
	must(t, os.Remove(filepath.Join(dir, "x", "photo.jpg")))
	for range 2 {
		if left, err := w.RemoveEmpty(t.Context(), "d"); left != nil || err != nil {
			t.Errorf("%v, %v", left, err)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error(err)
	}
}
