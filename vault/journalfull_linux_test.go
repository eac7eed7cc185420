package vault

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/vault/journal"
	"golang.org/x/sys/unix"
)

// TestJournalOnAFullDisk checks that on a full disk no change begins, that
// pending changes can be completed, and that pruning old changes makes room.
func TestJournalOnAFullDisk(t *testing.T) {
	if os.Getenv("FAULTS") == "" {
		t.Skip("set FAULTS=1 to mount a small disk and fill it")
	}
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=700,size=256k", "tmpfs", disk).CombinedOutput(); err != nil {
		t.Skipf("tmpfs cannot be mounted here: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", disk).CombinedOutput(); err != nil {
			t.Errorf("%v %s", err, out)
		}
	})
	fill := func() {
		f, err := os.OpenFile(filepath.Join(disk, "filler"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		must(t, err)
		defer f.Close()
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
	}
	before := map[string]string{"a.md": "- [ ] one\n"}
	v := newVault(t, before)
	w := writerOn(t, v, filepath.Join(disk, "journal"))
	now := time.Now()
	w.Journal.Retention = time.Hour
	w.Journal.Now = func() time.Time { return now }

	recordChanges(t, w.Journal, changeOf("c.md", "5\n", "6\n"))
	first, err := w.Journal.Begin(changeOf("b.md", "1\n", "2\n"))
	must(t, err)
	now = now.Add(2 * time.Hour)
	second, err := w.Journal.Begin(changeOf("b.md", "2\n", "3\n"))
	must(t, err)
	third, err := w.Journal.Begin(changeOf("b.md", "3\n", "4\n"))
	must(t, err)
	fill()
	must(t, w.Journal.Done(first.ID))
	must(t, w.Journal.Done(second.ID))
	must(t, w.Journal.Abandon(third.ID))
	fill()
	names := listNames(t, w.Journal.Dir)
	if _, err := w.Write(t.Context(), newChange("a.md", "[ ]", "[x]")); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v", err)
	}
	wantFiles(t, w, before)
	if got := listNames(t, w.Journal.Dir); len(got) != len(names) || len(w.Journal.Pending()) > 0 {
		t.Errorf("left in the journal: %q, pending %v", got, w.Journal.Pending())
	}
	if _, err := w.Write(t.Context(), removalChange("a.md")); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v", err)
	}
	wantFiles(t, w, before)

	must(t, w.Journal.Prune(now, false)) // removes the first changes
	written, err := w.Write(t.Context(), newChange("a.md", "[ ]", "[x]"))
	must(t, err)
	again := writerOn(t, v, w.Journal.Dir)
	if got := again.Journal.List(time.Time{}, "", 0); joinIDs(got) != joinIDs([]journal.Record{{ID: written.ID}, {ID: second.ID}}) || len(again.Journal.Problems()) > 0 {
		t.Errorf("opened again: %+v, %q", got, again.Journal.Problems())
	}
}
