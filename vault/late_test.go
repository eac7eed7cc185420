package vault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// begin adds a pending change to the journal.
func (w *Writer) begin(t *testing.T, path, temp string, before, after []byte) journal.Record {
	t.Helper()
	r, err := w.Journal.Begin(journal.Record{Path: path, Temp: temp, Old: before, New: after, Before: journal.Digest(before),
		After: journal.Digest(after)})
	must(t, err)
	return r
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
	f := openToAppend(t, w.Vault, "d/a.md")
	got := w.mustWrite(t, newChange("d/a.md", "[ ]", "[x]"))
	must(t, second(f.WriteString("- two\n")))
	w.mustWrite(t, newChange("d/a.md", "[x]", "[x] number")) // does not wait for the text
	// At the end, Run waits until each replaced file was looked at.
	end()
	must(t, <-ended)
	wantFiles(t, w, map[string]string{"d/a.md": "- [x] number one\n\nend\n- two\n"})
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
	f := openToAppend(t, w.Vault, "a.md")
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
	w.mustWrite(t, unrequestedChange("a.md", "old", "new"))
}

// TestRepairKeepsWhatItDoesNotKnow checks that a temporary file without a
// record in the journal is kept, because it may be the only copy of a saved
// version.
func TestRepairKeepsWhatItDoesNotKnow(t *testing.T) {
	w := newWriter(t, map[string]string{"d/e/.memwatchd-x.tmp": "whose?", "d/.memwatchd-y.part": "ours", ".hidden/.memwatchd-z.part": "not ours"})
	must(t, unix.Mkfifo(w.Vault.name("d/.memwatchd-pipe.part"), 0o600))
	must(t, os.Symlink("root", w.Vault.Dir+"-link"))
	w.Vault.Dir += "-link//" // the root may be a link
	must(t, w.Repair(t.Context()))
	must(t, os.Remove(w.Vault.name("d/.memwatchd-pipe.part")))
	wantFiles(t, w, map[string]string{"d/e/.memwatchd-x.tmp": "whose?", ".hidden/.memwatchd-z.part": "not ours"})
}

// TestRepairLater checks that changes that cannot be resolved at the start are
// resolved later.
func TestRepairLater(t *testing.T) {
	w := newWriter(t, map[string]string{"d/a.md": "after", "d/.memwatchd-x.tmp": "before"})
	w.begin(t, "d/a.md", ".memwatchd-x.tmp", []byte("before"), []byte("after"))
	w.fault = func(call string, do func() error) error { return unix.EIO }
	must(t, w.Repair(t.Context()))
	if _, err := w.Write(t.Context(), newChange("d/a.md", "after", "more")); !errors.Is(err, unix.EIO) {
		t.Errorf("changed before that: %v", err)
	}
	w.fault = nil
	w.mustWrite(t, newChange("d/a.md", "after", "more"))
	wantFiles(t, w, map[string]string{"d/a.md": "more"})
	w.Vault.Dir += "-2"
	if err := w.Repair(t.Context()); !errors.Is(err, ErrRoot) {
		t.Errorf("without a root: %v", err)
	}
}

// TestRepairWaitsForTheDisk checks that an empty root, as of an unmounted disk,
// does not make pending changes count as not made.
func TestRepairWaitsForTheDisk(t *testing.T) {
	w := newWriter(t, map[string]string{"d/a.md": "theirs\n", "d/.memwatchd-x.tmp": "old\n", "b.md": "new\n"})
	w.begin(t, "d/a.md", ".memwatchd-x.tmp", []byte("old\n"), []byte("new\n"))
	made := w.begin(t, "b.md", ".memwatchd-y.tmp", []byte("old\n"), []byte("new\n"))

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
	w.mustWrite(t, newChange("c.md", "", "c\n")) // which repairs first
	wantFiles(t, w, map[string]string{"d/a.md": "theirs\n", "b.md": "new\n", "c.md": "c\n"})
	if list := w.Journal.List(time.Time{}, "b.md", 0); len(list) != 1 || list[0].ID != made.ID || len(w.Journal.Pending()) > 0 {
		t.Errorf("the journal has %+v, pending %+v", list, w.Journal.Pending())
	}
}

// TestRepairLosesNothing checks that repair keeps every version that another
// program wrote, for all contents of the file and the temporary file. The
// version stays in place if it was there, and is put back if the file is
// missing.
func TestRepairLosesNothing(t *testing.T) {
	const none = "none"
	contents := []string{none, "before\n", "after\n", "theirs\n", "theirs, too\n", ""}
	for _, kind := range []string{"write", "create", "remove"} {
		for _, made := range []bool{false, true} {
			for _, there := range contents {
				for _, temp := range contents {
					name := fmt.Sprintf("%s, made: %v, there is %q, beside it %q", kind, made, there, temp)
					w := newWriter(t, map[string]string{"b.md": ""})
					before, after := []byte("before\n"), []byte("after\n")
					switch kind {
					case "create":
						before = nil
					case "remove":
						after = nil
					}
					r := w.begin(t, "a.md", ".memwatchd-x.tmp", before, after)
					if made {
						must(t, w.Journal.Done(r.ID))
					}
					for base, text := range map[string]string{"a.md": there, r.Temp: temp} {
						if text != none {
							writeFile(t, w.Vault, base, text)
						}
					}
					must(t, w.Repair(t.Context()))
					tree := w.readTestTree(t)
					left := slices.Collect(maps.Values(tree))
					theirs := func(text string) bool { return !slices.Contains([]string{none, string(before), string(after)}, text) }
					for _, text := range []string{there, temp} {
						if theirs(text) && !slices.Contains(left, text) {
							t.Errorf("%s: %q is lost: %q", name, text, tree)
						}
					}
					if got, ok := tree["a.md"]; theirs(there) && got != there || there == none && theirs(temp) && (!ok || got != temp) {
						t.Errorf("%s: it is not in its place: %q", name, tree)
					}
					if n := len(w.Journal.Pending()); n > 0 {
						t.Errorf("%s: %d left to be done", name, n)
					}
				}
			}
		}
	}
}
