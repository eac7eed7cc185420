package vault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/vault/journal"
)

func TestWrite(t *testing.T) {
	for _, noLeases := range []bool{false, true} {
		w := newWriter(t, map[string]string{"2026-02-04/cli.md": "- [ ] one\r\n- two"})
		w.Vault.noLeases = noLeases
		got := w.mustWrite(t, newChange("2026-02-04/cli.md", "[ ]", "[x]"))
		after := "- [x] one\r\n- two"
		if !got.Changed || w.file("2026-02-04/cli.md").own.hash != hashOf([]byte(after)) {
			t.Errorf("%+v", got)
		}
		wantFiles(t, w, map[string]string{"2026-02-04/cli.md": after})
		r, err := w.Journal.Get(got.ID)
		if err != nil || r.State != journal.StateDone || r.Before != journal.Digest([]byte("- [ ] one\r\n- two")) || r.After != journal.Digest([]byte(after)) {
			t.Errorf("%+v, %v", r, err)
		}
		if got := w.mustWrite(t, newChange("2026-02-04/cli.md", "[ ]", "[x]")); got != (Written{}) {
			t.Errorf("nothing to do: %+v", got)
		}
		if s := w.Status(); s.Applied != 1 || s.LostRaces != 0 {
			t.Errorf("%+v", s)
		}
		wantRecords(t, w, 1)
	}
}

// TestAttributesPreserved checks that a change keeps the permissions and
// attributes of a file and updates its times.
func TestAttributesPreserved(t *testing.T) {
	w := newWriter(t, map[string]string{"d/a.md": "old"})
	name, dir := w.Vault.name("d/a.md"), w.Vault.name("d")
	must(t, os.Chmod(name, 0o640))
	past := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(name, past, past))
	if os.Geteuid() == 0 {
		must(t, os.Chown(name, 0, 12345))
	}
	attach := func(name, attribute string, value []byte) {
		if err := unix.Setxattr(name, attribute, value, 0); err == unix.ENOTSUP {
			t.Logf("no %s here", attribute)
		} else {
			must(t, err)
		}
	}
	attach(name, "user.color", []byte("green"))
	attach(name, "user.empty", nil)
	// The entries are the owner, user 12345, the group, the mask and others.
	acl := func(user, mask byte) []byte {
		return []byte{2, 0, 0, 0,
			1, 0, 6, 0, 255, 255, 255, 255, 2, 0, user, 0, 0x39, 0x30, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255,
			16, 0, mask, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255}
	}
	attach(name, "system.posix_acl_access", acl(4, 4))
	attach(dir, "system.posix_acl_default", acl(6, 6)) // inherited by new files
	plain := filepath.Join(dir, "plain.md")
	must(t, os.WriteFile(plain, []byte("old"), 0o600))
	unix.Removexattr(plain, "system.posix_acl_access")
	must(t, os.Chmod(plain, 0o604))
	look := func(name string) (all []string) {
		f, err := os.Open(name)
		must(t, err)
		defer f.Close()
		info, err := f.Stat()
		must(t, err)
		st := info.Sys().(*syscall.Stat_t)
		all = append(all, fmt.Sprint(info.Mode(), st.Uid, st.Gid))
		names, err := listAttributes(int(f.Fd()))
		must(t, err)
		for _, name := range names {
			value, err := readAttribute(int(f.Fd()), name)
			must(t, err)
			all = append(all, fmt.Sprintf("%s=%q", name, value))
		}
		return all
	}
	for _, path := range []string{"d/a.md", "d/plain.md"} {
		name := w.Vault.name(path)
		want, before := look(name), time.Now().Add(-time.Second)
		w.mustWrite(t, newChange(path, "old", "new"))
		if diff := cmp.Diff(want, look(name)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", path, diff)
		}
		if info, err := os.Stat(name); err != nil || info.ModTime().Before(before) {
			t.Errorf("%s is said to be from %v, %v", path, info.ModTime(), err)
		}
	}
	w.fault = func(call string, do func() error) error {
		if call == "copy" {
			return unix.EPERM
		}
		return do()
	}
	w.wantRefused(t, newChange("d/a.md", "new", "old"), "cannot preserve owner and attributes")
	wantFiles(t, w, map[string]string{"d/a.md": "new", "d/plain.md": "new"})
}

// TestCreate checks that a new file and its new directories are accessible to
// their owner only, even in a directory that others can write, and that a new
// file never replaces another file.
func TestCreate(t *testing.T) {
	w := newWriter(t, map[string]string{"closed/a.md": "a", "open/a.md": "a"})
	must(t, os.Chmod(w.Vault.name("open"), 0o2775))
	for _, path := range []string{"closed/b.md", "open/b.md", "open/d/e/b.md"} {
		if got := w.mustWrite(t, newChange(path, "", "new "+path)); !got.Changed || w.file(path).own.hash != hashOf([]byte("new "+path)) {
			t.Errorf("%+v", got)
		}
	}
	for path, want := range map[string]os.FileMode{
		"closed/b.md": 0o600, "open": 0o775, "open/b.md": 0o600, "open/d": 0o700, "open/d/e": 0o700, "open/d/e/b.md": 0o600,
	} {
		if got := w.Vault.mode(t, path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if got := w.mustWrite(t, removalChange("x/y.md")); got.Changed {
		t.Errorf("a file that is not wanted: %+v", got)
	}
	if _, ok := w.Vault.Directory("x"); ok {
		t.Error("a directory was made for nothing")
	}
	// Another program creates the file at the same instant.
	w.fault = func(call string, do func() error) error {
		if call == "name file" {
			writeFile(t, w.Vault, "closed/c.md", "theirs, old")
		}
		return do()
	}
	w.mustWrite(t, newChange("closed/c.md", "old", "new"))
	if got := w.readTestTree(t)["closed/c.md"]; got != "theirs, new" {
		t.Errorf("%q", got)
	}
}

// TestMoveWithEdit checks that Edit can stop a move, and must not change the content.
func TestMoveWithEdit(t *testing.T) {
	w := newWriter(t, map[string]string{"d/b.md": "b"})
	for _, edit := range []func(*File) ([]byte, error){
		func(*File) ([]byte, error) { return nil, errors.New("it is still needed") },
		func(*File) ([]byte, error) { return []byte("changed"), nil },
	} {
		if _, err := w.Move(t.Context(), "d/b.md", "f/b.md", Change{Requested: true, Edit: edit}); err == nil {
			t.Error("it was moved against its will")
		}
	}
	wantFiles(t, w, map[string]string{"d/b.md": "b"})
	wantRecords(t, w, 0)
}

// TestRepeatedConflicts checks changes that conflict with a save just before each
// exchange.
func TestRepeatedConflicts(t *testing.T) {
	w := newWriter(t, map[string]string{"a.md": "old 0"})
	saves := 0
	w.fault = func(call string, do func() error) error {
		if call == "exchange" {
			saves++
			replaceFile(t, w.Vault, "a.md", fmt.Sprint("old ", saves))
		}
		return do()
	}
	if _, err := w.Write(t.Context(), newChange("a.md", "old", "new")); !errors.Is(err, ErrBusy) || strings.Count(err.Error(), "a.md") != 1 || saves != maxAttempts {
		t.Errorf("%v, after %d saves", err, saves)
	}
	var wait *WaitError
	if _, err := w.Write(t.Context(), unrequestedChange("a.md", "old", "new")); !errors.As(err, &wait) || saves != maxAttempts+1 {
		t.Errorf("%v, after %d saves", err, saves)
	}
	if s := w.Status(); s.LostRaces != maxAttempts+1 || s.Applied != 0 {
		t.Errorf("%+v", s)
	}
	wantFiles(t, w, map[string]string{"a.md": fmt.Sprintf("old %d", maxAttempts+1)})
	for n := range maxAttempts + 2 {
		if own := w.file("a.md").own; own != nil && own.hash == hashOf(fmt.Appendf(nil, "new %d", n)) {
			t.Errorf("what was not written is ours: %d", n)
		}
	}
	wantRecords(t, w, 0)
}

// TestSavedBeforeItGoes checks that a version saved just before a move or
// removal is passed to Edit.
func TestSavedBeforeItGoes(t *testing.T) {
	for call, do := range map[string]func(w *Writer, c Change) (Written, error){
		"move":       func(w *Writer, c Change) (Written, error) { return w.Move(t.Context(), "a.md", "b.md", c) },
		"move aside": func(w *Writer, c Change) (Written, error) { return w.Write(t.Context(), c) },
	} {
		w := newWriter(t, map[string]string{"a.md": "old"})
		onCall(w, call, false, func() { replaceFile(t, w.Vault, "a.md", "saved") })
		needed := errors.New("it is needed")
		_, err := do(w, Change{Path: "a.md", Requested: true, Edit: func(f *File) ([]byte, error) {
			switch {
			case string(f.Data) == "saved":
				return nil, needed
			case call == "move":
				return nil, nil
			}
			return nil, ErrRemove
		}})
		if !errors.Is(err, needed) {
			t.Errorf("%s: %v", call, err)
		}
		wantFiles(t, w, map[string]string{"a.md": "saved"})
		wantRecords(t, w, 0)
	}
}

// TestGoneForAMoment checks that a file is not treated as deleted while a
// program that moves it away first is saving it.
func TestGoneForAMoment(t *testing.T) {
	w := newWriter(t, map[string]string{"a.md": "old"})
	now := time.Now()
	w.Now = func() time.Time { return now }
	_, err := w.Vault.Walk(t.Context(), "", nil)
	must(t, err)
	name := w.Vault.name("a.md")
	must(t, os.Rename(name, name+"~"))
	made := unrequestedChange("a.md", "old", "new")
	var wait *WaitError
	if _, err := w.Write(t.Context(), made); !errors.As(err, &wait) || wait.For != deletionDelay {
		t.Errorf("%v", err)
	}
	edits := 0
	c := newChange("a.md", "old", "new")
	edit := c.Edit
	c.Edit = func(f *File) ([]byte, error) {
		edits++
		if f == nil {
			t.Error("it is taken for gone")
		}
		return edit(f)
	}
	time.AfterFunc(5*conflictPause, func() { os.Rename(name+"~", name) })
	if _, err := w.Write(t.Context(), c); err != nil || edits != 1 {
		t.Errorf("%v, %d edits", err, edits)
	}
	wantFiles(t, w, map[string]string{"a.md": "new"})
	must(t, os.Remove(name))
	if _, err := w.Write(t.Context(), made); !errors.As(err, &wait) {
		t.Errorf("%v", err)
	}
	now = now.Add(deletionDelay)
	if got := w.mustWrite(t, made); !got.Changed {
		t.Error("it is not made again when it is gone for good")
	}
}

// TestDiskDoesNotAnswerAWriter checks that no write waits forever for a disk
// that does not respond.
func TestDiskDoesNotAnswerAWriter(t *testing.T) {
	w := newWriter(t, map[string]string{"a.md": "old"})
	synctest.Test(t, func(t *testing.T) {
		hung := make(chan struct{})
		w.fault = func(call string, do func() error) error {
			if call == "sync temporary file" {
				<-hung
			}
			return do()
		}
		for range 2 {
			began := time.Now()
			if _, err := w.Write(t.Context(), newChange("a.md", "old", "new")); !errors.Is(err, ErrRoot) {
				t.Errorf("%v", err)
			}
			if took := time.Since(began); took > 2*stepTimeout {
				t.Errorf("it took %v", took)
			}
		}
		close(hung)
		synctest.Wait()
		if got := w.mustWrite(t, newChange("a.md", "old", "new")); got.Changed {
			t.Errorf("when it answers again it is done: %+v", got)
		}
		wantFiles(t, w, map[string]string{"a.md": "new"})
	})
}

func TestWriteWithTooManyOpenFiles(t *testing.T) {
	w := newWriter(t, map[string]string{"d/a.md": "old"})
	w.Vault.Skips("d/a.md", false)
	for _, left := range []int{0, 1, 2} { // a write needs three
		release := exhaust(t, left)
		_, err := w.Write(t.Context(), newChange("d/a.md", "old", "new"))
		release()
		if !errors.Is(err, unix.EMFILE) {
			t.Errorf("with %d to open: %v", left, err)
		}
		wantFiles(t, w, map[string]string{"d/a.md": "old"})
	}
	w.mustWrite(t, newChange("d/a.md", "old", "new"))
}

// TestMistakesInAChange checks that a faulty change fails without side effects.
func TestMistakesInAChange(t *testing.T) {
	before := map[string]string{"a.md": "- [ ] one\n"}
	w := newWriter(t, before)
	panics := func(*File) ([]byte, error) { panic("mistake") }
	inPlace := func(f *File) ([]byte, error) {
		f.Data[3] = 'x'
		return []byte("other\n"), nil
	}
	for _, test := range []struct{ err, want error }{
		{second(w.Write(t.Context(), Change{Path: "a.md", Requested: true, Edit: panics})), errPanic},
		{second(w.Write(t.Context(), Change{Path: "b.md", Requested: true, Edit: panics})), errPanic},
		{second(w.Move(t.Context(), "a.md", "c.md", Change{Requested: true, Edit: panics})), errPanic},
		{second(w.Write(t.Context(), Change{Path: "a.md", Requested: true, Edit: inPlace})), errInputModified},
	} {
		if !errors.Is(test.err, test.want) {
			t.Errorf("got %v, want %v", test.err, test.want)
		}
	}
	wantFiles(t, w, before)
	wantRecords(t, w, 0)
	w.mustWrite(t, newChange("a.md", "[ ]", "[x]"))
}

// TestWriteSettings checks that, outside memory, only the listed settings are
// written. They are changed, journalled and undone like memory, and new ones
// are private.
func TestWriteSettings(t *testing.T) {
	const path = "_longterms/_links.yaml"
	w := newWriter(t, map[string]string{"a.md": "a"})
	w.wantRefused(t, newChange(path, "", "x: y\n"), "not a Markdown file")
	w.Settings = []string{path}
	must(t, os.Chmod(w.Vault.Dir, 0o775))
	must(t, os.Mkdir(w.Vault.name("_longterms"), 0o775))
	must(t, os.Chmod(w.Vault.name("_longterms"), 0o775))
	w.mustWrite(t, newChange(path, "", "x: y\n"))
	if got := w.Vault.mode(t, path); got != 0o600 {
		t.Errorf("its mode is %v", got)
	}
	must(t, os.Chmod(w.Vault.name(path), 0o640))
	written := w.mustWrite(t, newChange(path, "y", "z"))
	wantFiles(t, w, map[string]string{"a.md": "a", path: "x: z\n"})
	if got := w.Vault.mode(t, path); got != 0o640 {
		t.Errorf("its mode is %v", got)
	}
	w.mustUndo(t, written.ID)
	wantFiles(t, w, map[string]string{"a.md": "a", path: "x: y\n"})
	w.wantRefused(t, newChange("_longterms/other.yaml", "", "x"), "not a Markdown file")
}
