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
)

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
	err := w.EditConflictCopies(t.Context(), "d/a.md", func(f *File) ([]byte, error) {
		return bytes.ReplaceAll(f.Data, []byte("secret\n"), nil), nil
	})
	if mode := w.Vault.mode(t, kept); err != nil || mode != 0o640 {
		t.Errorf("the mode is %v, %v", mode, err)
	}
	wantFiles(t, w, map[string]string{"d/a.md": "now\n", kept: "was\n", other: "secret\n"})
	// A simultaneous save takes precedence.
	for name, save := range map[string]func(*testing.T, *Vault, string, string){"in place": writeFile, "by name": replaceFile} {
		writeFile(t, w.Vault, kept, "was\nsecret\n")
		err := w.EditConflictCopies(t.Context(), "d/a.md", func(*File) ([]byte, error) {
			save(t, w.Vault, kept, "theirs\n")
			return []byte("ours\n"), nil
		})
		if err == nil {
			t.Errorf("saved %s: no error", name)
		}
		wantFiles(t, w, map[string]string{"d/a.md": "now\n", kept: "theirs\n", other: "secret\n"})
	}
	refusal := errors.New("no")
	if err := w.EditConflictCopies(t.Context(), "d/a.md", func(*File) ([]byte, error) { return nil, refusal }); !errors.Is(err, refusal) {
		t.Errorf("got %v", err)
	}
	must(t, w.EditConflictCopies(t.Context(), "none/a.md", nil))
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
