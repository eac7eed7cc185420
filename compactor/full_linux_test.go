package compactor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"golang.org/x/tools/txtar"
)

// TestCompactOnAFullDisk fills the disk at each step of a run: before the
// archive is written, or between the archive and the file. It checks that
// nothing is lost, and that with free space the later runs complete the work
// without duplicates.
func TestCompactOnAFullDisk(t *testing.T) {
	if os.Getenv("FAULTS") == "" {
		t.Skip("set FAULTS=1 to mount a small disk and fill it")
	}
	text := longtermFile(rand.New(rand.NewPCG(7, 8)), 400, english)
	refused, made := 0, 0
	for pages := 0; pages < 24; pages++ {
		disk := t.TempDir()
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=700,size=256k", "tmpfs", disk).CombinedOutput(); err != nil {
			t.Skipf("tmpfs cannot be mounted here: %v %s", err, out)
		}
		t.Cleanup(func() {
			if out, err := exec.Command("umount", "-l", disk).CombinedOutput(); err != nil {
				t.Errorf("%v %s", err, out)
			}
		})
		r := newTestRoot(t, disk, []txtar.File{{Name: indexPath, Data: []byte(text)}})
		all, rest := splitEntries(r.index())
		filler := filepath.Join(disk, "filler")
		fill(t, filler, int64(pages)*4096)
		report := r.compact(Request{})
		if report.Applied > 0 {
			made++
		} else if refused++; report.Plans[0].Problem == "" || !strings.Contains(report.Plans[0].Problem, "no space left") {
			t.Errorf("%d pages: nothing went, and that is why: %q", pages, report.Plans[0].Problem)
		}
		check := func(when string) {
			t.Helper()
			left, restNow := splitEntries(r.index())
			got := sum(left, r.archivedEntries())
			for k := range all {
				if got[k] == 0 {
					t.Fatalf("%d pages, %s: %q is lost", pages, when, k)
				}
			}
			if fmt.Sprint(rest) != fmt.Sprint(restNow) {
				t.Fatalf("%d pages, %s: what is no item has changed", pages, when)
			}
		}
		check("full")
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		for range 6 {
			r.compact(Request{})
		}
		check("with room")
		left, _ := splitEntries(r.index())
		if got := sum(left, r.archivedEntries()); !allPresent(got, all) {
			t.Errorf("%d pages: something is there twice", pages)
		}
		if size := Measure(r.index()); size.Items > 100 {
			t.Errorf("%d pages: %+v", pages, size)
		}
	}
	if refused == 0 || made == 0 {
		t.Errorf("%d runs were refused and %d made: the disk was not full at every step", refused, made)
	}
}

// fill creates a file that leaves spare bytes free on its disk.
func fill(t *testing.T, path string, spare int64) {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &st); err != nil {
		t.Fatal(err)
	}
	n := int64(st.Bavail)*int64(st.Bsize) - spare
	if err := os.WriteFile(path, make([]byte, max(n, 0)), 0o600); err != nil && !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}
