package vault

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// TestMain runs the test binary as another process, which holds a lock or
// changes files, or runs the tests and checks that they leave no goroutines.
func TestMain(m *testing.M) {
	if path := os.Getenv("VAULT_TEST_LOCK"); path != "" {
		_, err := AcquireLock(path, Holder{PID: os.Getpid(), Socket: "/run/x.sock"})
		fmt.Println(err)
		select {} // until killed
	}
	if os.Getenv("VAULT_TEST_WRITER") != "" {
		writeUntilKilled()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func second[T any](_ T, err error) error { return err }

// newVault returns a new root with files.
func newVault(t *testing.T, files map[string]string) *Vault {
	t.Helper()
	v := &Vault{Dir: filepath.Join(t.TempDir(), "root")}
	must(t, os.Mkdir(v.Dir, 0o700))
	for path, text := range files {
		writeFile(t, v, path, text)
	}
	return v
}

// name returns the name of a file on the disk.
func (v *Vault) name(path string) string { return filepath.Join(v.Dir, path) }

// writeFile saves a file in place, as another program.
func writeFile(t *testing.T, v *Vault, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(v.name(path)), 0o700))
	must(t, os.WriteFile(v.name(path), []byte(text), 0o600))
}

// replaceFile saves a file by renaming a new one over it, as another program.
func replaceFile(t *testing.T, v *Vault, path, text string) {
	t.Helper()
	writeFile(t, v, path+"~", text)
	must(t, os.Rename(v.name(path+"~"), v.name(path)))
}

// openFile opens a file to append to it, as another program.
func openToAppend(t *testing.T, v *Vault, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(v.name(path), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// newWriter returns a writer without a quiet time on a new root.
func newWriter(t *testing.T, files map[string]string) *Writer {
	t.Helper()
	return writerOn(t, newVault(t, files), filepath.Join(t.TempDir(), "journal"))
}

func writerOn(t *testing.T, v *Vault, dir string) *Writer {
	t.Helper()
	j, err := journal.Open(dir, 0)
	must(t, err)
	w := &Writer{Vault: v, Journal: j, Logger: slog.New(slog.DiscardHandler),
		settleDelay: time.Hour} // readTestTree settles
	t.Cleanup(func() { w.settleLeftovers() }) // otherwise the directories of the replaced files stay open
	return w
}

// settleLeftovers looks at each temporary file and returns how many there were.
func (w *Writer) settleLeftovers() int {
	w.mu.Lock()
	list := slices.Clone(w.leftovers)
	w.mu.Unlock()
	for _, l := range list {
		w.settle(l)
	}
	return len(list)
}

// settleAll waits until the temporary files of all changes are gone: while a program
// opens one, as a child of another test may, it stays.
func (w *Writer) settleAll(t *testing.T) {
	t.Helper()
	waitFor(t, "all changes are settled", func() bool { return w.settleLeftovers() == 0 })
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// newChange returns a requested change that replaces old by new in a file.
func newChange(path, old, new string) Change {
	return Change{Path: path, Cause: "edit", Requested: true, Edit: func(f *File) ([]byte, error) {
		if f == nil {
			return []byte(new), nil
		}
		return bytes.Replace(f.Data, []byte(old), []byte(new), 1), nil
	}}
}

// unrequestedChange returns a change for which no caller waits.
func unrequestedChange(path, old, new string) Change {
	c := newChange(path, old, new)
	c.Requested = false
	return c
}

// contentChange returns a requested change that gives a file a content.
func contentChange(path, text string) Change {
	return Change{Path: path, Cause: "test", Requested: true, Edit: func(*File) ([]byte, error) { return []byte(text), nil }}
}

// removalChange returns a requested change that removes a file, if there is one.
func removalChange(path string) Change {
	return Change{Path: path, Cause: "undo", Requested: true, Edit: func(f *File) ([]byte, error) {
		if f == nil {
			return nil, nil
		}
		return nil, ErrRemove
	}}
}

// mustWrite makes changes that must succeed, and returns the result of the last one.
func (w *Writer) mustWrite(t *testing.T, changes ...Change) (written Written) {
	t.Helper()
	for _, c := range changes {
		var err error
		written, err = w.Write(t.Context(), c)
		must(t, err)
	}
	return written
}

// wantRefused checks that a change is refused for a reason.
func (w *Writer) wantRefused(t *testing.T, c Change, reason string) {
	t.Helper()
	_, err := w.Write(t.Context(), c)
	wantRefusal(t, err, reason)
}

func wantRefusal(t *testing.T, err error, reason string) {
	t.Helper()
	if _, ok := errors.AsType[*RefusedError](err); !ok || !strings.Contains(err.Error(), reason) {
		t.Errorf("%v, want a refusal because of %q", err, reason)
	}
}

// mustUndo undoes a change or group and requires success.
func (w *Writer) mustUndo(t *testing.T, id string) []UndoResult {
	t.Helper()
	list, err := (&Undoer{w}).Undo(t.Context(), id, false)
	must(t, err)
	if len(list) == 0 {
		t.Fatalf("undo %s: nothing was undone", id)
	}
	for _, done := range list {
		must(t, done.Err)
	}
	return list
}

// readTestTree returns all files below the root, including temporary files.
func (w *Writer) readTestTree(t *testing.T) map[string]string {
	t.Helper()
	w.settleAll(t)
	got := map[string]string{}
	must(t, filepath.WalkDir(w.Vault.Dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		path, _ := filepath.Rel(w.Vault.Dir, name)
		data, err := os.ReadFile(name)
		got[path] = string(data)
		return err
	}))
	return got
}

// wantFiles compares all files below the root, including temporary files.
func wantFiles(t *testing.T, w *Writer, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, w.readTestTree(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// wantRecords checks the number of changes in the journal, none of which may be pending.
func wantRecords(t *testing.T, w *Writer, want int) {
	t.Helper()
	if list, p := w.Journal.List(time.Time{}, "", 0), w.Journal.Pending(); len(list) != want || len(p) > 0 {
		t.Errorf("%d changes in the journal, want %d; pending: %+v", len(list), want, p)
	}
}

// mode returns the permissions of a file or directory.
func (v *Vault) mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(v.name(path))
	must(t, err)
	return info.Mode().Perm()
}
