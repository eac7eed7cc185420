package vault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// recordOf returns the record of a change.
func recordOf(path, temp string, before, after []byte) journal.Record {
	return journal.Record{Path: path, Temp: temp, Old: before, New: after, Before: journal.Digest(before),
		After: journal.Digest(after)}
}

// onCall runs do once, just before or after a system call.
func onCall(w *Writer, call string, after bool, do func()) {
	w.fault = func(name string, real func() error) error {
		if name != call || do == nil {
			return real()
		}
		once := do
		do = nil
		if !after {
			once()
		}
		err := real()
		if after {
			once()
		}
		return err
	}
}

// TestLateWriter checks that a program that had the replaced file open can
// still save after Write has returned: its text is merged, beside later changes.
func TestLateWriter(t *testing.T) {
	w := newWriter(t, map[string]string{"d/a.md": "- [ ] one\n\nend\n"})
	w.Vault.noLeases, w.settleDelay = true, 200*time.Millisecond
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	f, err := os.OpenFile(filepath.Join(w.Vault.Dir, "d/a.md"), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	defer f.Close()
	got, err := w.Write(t.Context(), newChange("d/a.md", "[ ]", "[x]"))
	must(t, err)
	_, err = f.WriteString("- two\n")
	must(t, err)
	// The next change does not wait for the text.
	if _, err := w.Write(t.Context(), newChange("d/a.md", "[x]", "[x] number")); err != nil {
		t.Error(err)
	}
	// At the end, Run waits until each replaced file was looked at.
	end()
	must(t, <-ended)
	if data, err := os.ReadFile(filepath.Join(w.Vault.Dir, "d/a.md")); string(data) != "- [x] number one\n\nend\n- two\n" {
		t.Errorf("%q, %v", data, err)
	}
	if r, err := w.Journal.Get(got.ID); err != nil || r.State != journal.StateDone {
		t.Errorf("%+v, %v", r, err)
	}
	if s := w.Status(); s.LostRaces != 1 {
		t.Errorf("%+v", s)
	}
}

// TestOpenForWriting checks that a file open for writing is not changed.
func TestOpenForWriting(t *testing.T) {
	w := newWriter(t, map[string]string{"a.md": "old"})
	needLeases(t, w.Vault)
	f, err := os.OpenFile(filepath.Join(w.Vault.Dir, "a.md"), os.O_WRONLY, 0)
	must(t, err)
	var wait *WaitError
	for n := range 8 {
		if _, err := w.Write(t.Context(), unrequestedChange("a.md", "old", "new")); !errors.As(err, &wait) || wait.For != min(shortWait<<n, longWait) {
			t.Errorf("%v; it waits for %v", err, wait.For)
		}
	}
	if _, err := w.Write(t.Context(), newChange("a.md", "old", "new")); !errors.Is(err, ErrBusy) || !errors.Is(err, ErrOpen) {
		t.Error(err)
	}
	if s := w.Status(); s.LostRaces != 0 {
		t.Errorf("%+v", s)
	}
	must(t, f.Close())
	if _, err := w.Write(t.Context(), unrequestedChange("a.md", "old", "new")); err != nil {
		t.Error(err)
	}
}

// TestOpenedWhileInPlace checks that a program that opened the new version
// while it was in place can still save after another program's version is put
// back, even without leases. Text that cannot be merged is in a conflict copy.
func TestOpenedWhileInPlace(t *testing.T) {
	for call, want := range map[string][2]string{ // after which the other program saves; file and copy
		"exchange":       {"new and one", "new and late"}, // the change is made again
		"sync directory": {"new and late", "old and one"},
	} {
		w := newWriter(t, map[string]string{"d/a.md": "old"})
		w.Vault.noLeases = true
		name := filepath.Join(w.Vault.Dir, "d/a.md")
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		defer f.Close()
		var late *os.File
		onCall(w, call, true, func() {
			_, err := f.WriteString(" and one")
			must(t, err)
			late, err = os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
		})
		_, err = w.Write(t.Context(), newChange("d/a.md", "old", "new"))
		must(t, err)
		_, err = late.WriteString(" and late")
		must(t, errors.Join(err, late.Close()))
		wantFileAndCopy(t, w, "d/a.md", want[0], want[1])
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

// TestSavesTwiceWhenExchanged checks that the second of two saves during one
// attempt takes precedence, and that the first is kept: a program may have
// opened it to write.
func TestSavesTwiceWhenExchanged(t *testing.T) {
	w := newWriter(t, map[string]string{"a.md": "old 0"})
	name := filepath.Join(w.Vault.Dir, "a.md")
	save := func(text string) {
		must(t, os.WriteFile(name+"~", []byte(text), 0o600))
		must(t, os.Rename(name+"~", name))
	}
	saves := 0
	w.fault = func(call string, do func() error) error {
		if saves == 0 && call == "exchange" || saves == 1 && call == "put back" {
			saves++
			save([]string{"", "old 1", "old 2"}[saves])
		}
		return do()
	}
	if _, err := w.Write(t.Context(), newChange("a.md", "old", "new")); err != nil || saves != 2 {
		t.Errorf("%v, %d saves", err, saves)
	}
	wantFileAndCopy(t, w, "a.md", "new 2", "old 1")
}

// TestRenamedDirectory checks that a directory renamed right after Write
// contains no temporary file in the end, but all saved text.
func TestRenamedDirectory(t *testing.T) {
	for _, late := range []string{"", " and late"} {
		w := newWriter(t, map[string]string{"d/a.md": "old"})
		w.Vault.noLeases = true
		f, err := os.OpenFile(filepath.Join(w.Vault.Dir, "d/a.md"), os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		_, err = w.Write(t.Context(), newChange("d/a.md", "old", "new"))
		must(t, err)
		must(t, os.Rename(filepath.Join(w.Vault.Dir, "d"), filepath.Join(w.Vault.Dir, "e")))
		_, err = f.WriteString(late)
		must(t, errors.Join(err, f.Close()))
		if late == "" {
			wantFiles(t, w, map[string]string{"e/a.md": "new"})
		} else {
			wantFileAndCopy(t, w, "e/a.md", "new", "old and late")
		}
	}
}

// TestRepair checks the resolution of each state that a crash may leave.
func TestRepair(t *testing.T) {
	const before, after, others, newer = "before", "after", "saved by others", "saved later"
	for _, test := range []struct {
		name       string
		done       bool   // the journal has the change as complete
		base, temp string // initial contents, "" if missing
		want       string // the content of the file after repair
		copied     string
		happened   bool
	}{
		{"not begun", false, before, "", before, "", false},
		{"ready", false, before, after, before, "", false},
		{"ready, and saved since", false, others, after, others, "", false},
		{"exchanged", false, after, before, after, "", true},
		{"exchanged and noted", true, after, before, after, "", true},
		{"exchanged, and saved since", false, others, before, others, "", true},
		{"exchanged, and removed since", false, "", before, "", "", true},
		{"somebody was faster", false, after, others, others, "", false},
		{"somebody came late", true, after, others, others, "", true}, // merged
		{"somebody was faster, and it was moved away", false, "", others, others, "", false},
		{"somebody was faster, and saved once more", false, newer, others, newer, others, false},
		{"cleared away, not noted", false, after, "", after, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWriter(t, map[string]string{"d/.memwatchd-x.part": "half a fi"})
			r, err := w.Journal.Begin(recordOf("d/a.md", ".memwatchd-x.tmp", []byte(before), []byte(after)))
			must(t, err)
			if test.done {
				must(t, w.Journal.Done(r.ID))
			}
			for path, text := range map[string]string{"d/a.md": test.base, "d/" + r.Temp: test.temp} {
				if text != "" {
					writeFile(t, w.Vault, path, text)
				}
			}
			must(t, w.Repair(t.Context()))
			switch {
			case test.copied != "":
				wantFileAndCopy(t, w, "d/a.md", test.want, test.copied)
			case test.want == "":
				wantFiles(t, w, map[string]string{})
			default:
				wantFiles(t, w, map[string]string{"d/a.md": test.want})
			}
			if _, err := w.Journal.Get(r.ID); (err == nil) != test.happened || len(w.Journal.Pending()) > 0 {
				t.Errorf("%v; pending: %v", err, w.Journal.Pending())
			}
		})
	}
}

// TestRepairKeepsWhatItDoesNotKnow checks that a temporary file without a
// record in the journal is kept, because it may be the only copy of a saved
// version.
func TestRepairKeepsWhatItDoesNotKnow(t *testing.T) {
	w := newWriter(t, map[string]string{"d/e/.memwatchd-x.tmp": "whose?", "d/.memwatchd-y.part": "ours", ".hidden/.memwatchd-z.part": "not ours"})
	must(t, unix.Mkfifo(filepath.Join(w.Vault.Dir, "d/.memwatchd-pipe.part"), 0o600))
	must(t, os.Symlink("root", w.Vault.Dir+"-link"))
	w.Vault.Dir += "-link//" // the root may be a link
	must(t, w.Repair(t.Context()))
	must(t, os.Remove(filepath.Join(w.Vault.Dir, "d/.memwatchd-pipe.part")))
	wantFiles(t, w, map[string]string{"d/e/.memwatchd-x.tmp": "whose?", ".hidden/.memwatchd-z.part": "not ours"})
}

// TestRepairInARenamedDirectory checks repair after the directory was renamed
// before the next start.
func TestRepairInARenamedDirectory(t *testing.T) {
	w := newWriter(t, map[string]string{"new/a.md": "after", "new/.memwatchd-x.tmp": "saved by others"})
	r, err := w.Journal.Begin(recordOf("old/a.md", ".memwatchd-x.tmp", []byte("before"), []byte("after")))
	must(t, err)
	gone, err := w.Journal.Begin(recordOf("gone/a.md", ".memwatchd-y.tmp", []byte("before"), []byte("after")))
	must(t, err)
	must(t, w.Repair(t.Context()))
	wantFiles(t, w, map[string]string{"new/a.md": "saved by others"})
	if len(w.Journal.Pending()) > 0 {
		t.Errorf("%s and %s: %v", r.ID, gone.ID, w.Journal.Pending())
	}
	w.Vault.Dir += "-2"
	if err := w.Repair(t.Context()); !errors.Is(err, ErrRoot) {
		t.Errorf("without a root: %v", err)
	}
}

// TestRepairLater checks that changes that cannot be resolved at the start are
// resolved later.
func TestRepairLater(t *testing.T) {
	w := newWriter(t, map[string]string{"d/a.md": "after", "d/.memwatchd-x.tmp": "before"})
	_, err := w.Journal.Begin(recordOf("d/a.md", ".memwatchd-x.tmp", []byte("before"), []byte("after")))
	must(t, err)
	w.fault = func(call string, do func() error) error { return unix.EIO }
	must(t, w.Repair(t.Context()))
	if _, err := w.Write(t.Context(), newChange("d/a.md", "after", "more")); !errors.Is(err, unix.EIO) {
		t.Errorf("changed before that: %v", err)
	}
	w.fault = nil
	if _, err := w.Write(t.Context(), newChange("d/a.md", "after", "more")); err != nil {
		t.Error(err)
	}
	wantFiles(t, w, map[string]string{"d/a.md": "more"})
}
