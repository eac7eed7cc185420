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

func anyRecord(journal.Record) bool { return true }

// linesWith returns a function that finds the lines with a text.
func linesWith(text string) func(journal.Record, []byte) [][2]int {
	return func(_ journal.Record, data []byte) (found [][2]int) {
		for i, line := range strings.Split(string(data), "\n") {
			if strings.Contains(line, text) {
				found = append(found, [2]int{i + 1, i + 1})
			}
		}
		return found
	}
}

// TestJournalForgets checks that forgotten text is in no version in the journal, that the
// changes of this text cannot be undone, and that all others can.
func TestJournalForgets(t *testing.T) {
	first := "one\n2\n3\n4\n5\n6\n7\n8\n9\nend\n"
	w := newWriter(t, map[string]string{"a.md": first})
	var ids []string
	write := func(path, text string) { ids = append(ids, w.mustWrite(t, contentChange(path, text)).ID) }
	write("a.md", strings.Replace(first, "one\n", "one\nsecret\n", 1))
	write("a.md", strings.Replace(first, "one\n", "one\nsecret\nneighbor\n", 1))
	write("b.md", "b\n")
	c := contentChange("a.md", strings.Replace(first, "one\n", "one\nneighbor\n", 1))
	c.Secret = true
	secret := w.mustWrite(t, c)
	must(t, w.Journal.Forget(func(r journal.Record) bool { return r.Path == "b.md" }, linesWith("secret")))
	if !journalHolds(t, w.Journal, "secret") {
		t.Error("the text of another file is forgotten")
	}
	for range 2 { // repetition is harmless
		must(t, w.Journal.Forget(anyRecord, linesWith("secret")))
	}
	again, err := journal.Open(w.Journal.Dir, time.Hour)
	must(t, err)
	if p := again.Problems(); len(p) > 0 {
		t.Error(p)
	}
	for _, j := range []*journal.Journal{w.Journal, again} {
		for i, forgotten := range []bool{true, false, false} {
			if r, err := j.Get(ids[i]); err != nil || r.Forgotten != forgotten {
				t.Errorf("%+v, %v", r, err)
			}
		}
		if journalHolds(t, j, "secret") {
			t.Error("the text is still there")
		}
	}
	for _, id := range []string{ids[0], secret.ID} {
		undone, err := (&Undoer{w}).Undo(t.Context(), id, false)
		must(t, err)
		if got := formatResults(undone); len(undone) != 1 || !strings.Contains(got, "forgotten") {
			t.Errorf("%s", got)
		}
	}
	for _, id := range ids[1:] {
		w.mustUndo(t, id)
	}
	wantFiles(t, w, map[string]string{"a.md": first})
}

// journalHolds reports whether the journal contains a text.
func journalHolds(t *testing.T, j *journal.Journal, text string) bool {
	t.Helper()
	for _, r := range j.List(time.Time{}, "", 0) {
		before, after, err := j.Contents(r)
		must(t, err)
		if bytes.Contains(before, []byte(text)) || bytes.Contains(after, []byte(text)) {
			return true
		}
	}
	return false
}

// TestForgetDamaged checks that Forget reports unreadable versions and still removes the
// text from the others.
func TestForgetDamaged(t *testing.T) {
	w := newWriter(t, nil)
	w.mustWrite(t, contentChange("a.md", "secret 1\n"))
	second := w.mustWrite(t, contentChange("b.md", "secret 2\n"))
	path := filepath.Join(w.Journal.Dir, "versions", journal.Digest([]byte("secret 1\n"))[:32])
	must(t, os.WriteFile(path, []byte("x"), 0o600))
	err := w.Journal.Forget(anyRecord, linesWith("secret"))
	r, failed := w.Journal.Get(second.ID)
	if err == nil || !strings.Contains(err.Error(), "damaged") || failed != nil || !r.Forgotten {
		t.Errorf("%v; %+v, %v", err, r, failed)
	}
}

// TestLateTextOfASecretChange checks that text that another program adds to the old file
// is merged without the removed lines, and is in a conflict copy if it changed these lines.
func TestLateTextOfASecretChange(t *testing.T) {
	for _, test := range []struct{ late, file, copied string }{
		{"one\nsecret\ntwo\nlate\n", "one\ntwo\nlate\n", ""},
		{"one\nsecret, changed\ntwo\n", "one\ntwo\n", "one\nsecret, changed\ntwo\n"},
	} {
		w := newWriter(t, map[string]string{"a.md": "one\nsecret\ntwo\n"})
		w.Vault.noLeases, w.settleDelay = true, 100*time.Millisecond
		f := openToAppend(t, w.Vault, "a.md")
		c := contentChange("a.md", "one\ntwo\n")
		c.Secret = true
		w.mustWrite(t, c)
		must(t, errors.Join(f.Truncate(0), second(f.WriteString(test.late)), f.Close()))
		if err := w.Clear(t.Context(), "a.md"); (err != nil) != (test.copied != "") {
			t.Error(err)
		}
		if test.copied == "" {
			wantFiles(t, w, map[string]string{"a.md": test.file})
		} else {
			wantFileAndCopy(t, w, "a.md", test.file, test.copied)
		}
		if journalHolds(t, w.Journal, "secret") {
			t.Error("the journal has the text")
		}
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
	w.settleDelay = 100 * time.Millisecond
	w.mustWrite(t, contentChange("a.md", "one\n"))
	names, err := filepath.Glob(w.Vault.name(".*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("not one replaced file: %v, %v", names, err)
	}
	held.Store(openToAppend(t, w.Vault, filepath.Base(names[0])))
	must(t, w.Clear(t.Context(), "a.md"))
	if _, err := os.Lstat(names[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the replaced file is left: %v", err)
	}
}

func TestEditConflictCopies(t *testing.T) {
	const kept, other = "d/a.conflict-copy-0abc0000.md", "d/b.conflict-copy-0abc0000.md"
	w := newWriter(t, map[string]string{"d/a.md": "now\n", kept: "was\nsecret\n", other: "secret\n"})
	w.settleDelay = time.Millisecond
	must(t, os.Chmod(w.Vault.name(kept), 0o640))
	changed, err := w.EditConflictCopies(t.Context(), "d/a.md", func(f *File) ([]byte, error) {
		return bytes.ReplaceAll(f.Data, []byte("secret\n"), nil), nil
	})
	if mode := w.Vault.mode(t, kept); err != nil || !slices.Equal(changed, []string{kept}) || mode != 0o640 {
		t.Errorf("%v with the mode %v, %v", changed, mode, err)
	}
	wantFiles(t, w, map[string]string{"d/a.md": "now\n", kept: "was\n", other: "secret\n"})
	// A simultaneous save takes precedence.
	for name, save := range map[string]func(*testing.T, *Vault, string, string){"in place": writeFile, "by name": replaceFile} {
		writeFile(t, w.Vault, kept, "was\nsecret\n")
		changed, err := w.EditConflictCopies(t.Context(), "d/a.md", func(*File) ([]byte, error) {
			save(t, w.Vault, kept, "theirs\n")
			return []byte("ours\n"), nil
		})
		if err == nil || changed != nil {
			t.Errorf("saved %s: %v, %v", name, changed, err)
		}
		wantFiles(t, w, map[string]string{"d/a.md": "now\n", kept: "theirs\n", other: "secret\n"})
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
	must(t, os.MkdirAll(w.Vault.name("d/empty/deep"), 0o700))
	must(t, os.MkdirAll(w.Vault.name("d/.git/refs/heads"), 0o700)) // git needs this empty directory
	must(t, os.Symlink("/", w.Vault.name("d/link")))
	remove := func(want ...string) {
		t.Helper()
		for range 2 {
			if left, err := w.RemoveEmpty(t.Context(), "d"); err != nil || !slices.Equal(left, want) {
				t.Errorf("%v, %v, want %v", left, err, want)
			}
		}
		for path, want := range map[string]bool{"d/.git/refs/heads": want != nil, "d/empty": false, "d": want != nil} {
			if _, err := os.Stat(w.Vault.name(path)); (err == nil) != want {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	remove("d/.git", "d/link", "d/x/photo.jpg")
	must(t, errors.Join(os.RemoveAll(w.Vault.name("d/.git")), os.Remove(w.Vault.name("d/link")), os.Remove(w.Vault.name("d/x/photo.jpg"))))
	remove()
}
