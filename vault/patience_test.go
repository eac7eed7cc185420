package vault

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memwatchd/memwatchd/internal/disk"
)

// TestDiskDoesNotAnswer checks that the first call on an unresponsive disk
// waits for stepTimeout, that later calls fail at once, and that all calls
// succeed when the disk responds again.
func TestDiskDoesNotAnswer(t *testing.T) {
	v := newVault(t, map[string]string{"a.md": "a", "d/b.md": "b"})
	synctest.Test(t, func(t *testing.T) {
		hung := make(chan struct{})
		type how map[string]func() error
		ask := func(want time.Duration, asked how) {
			t.Helper()
			for name, do := range asked {
				began := time.Now()
				if err := do(); !errors.Is(err, ErrRoot) || Absent(err) {
					t.Errorf("%s: %v, want %v", name, err, ErrRoot)
				}
				if took := time.Since(began); took < want || took > want+2*time.Second {
					t.Errorf("%s took %v, want %v", name, took, want)
				}
			}
		}
		ask(stepTimeout, how{"a file": func() error {
			return second(runWithTimeout(v, func() (int, error) { <-hung; return 1, nil }))
		}})
		ask(0, how{
			"root": func() error { return second(v.Root()) },
			"stat": func() error { return second(v.Stat("a.md")) },
			"read": func() error { return second(v.Read("d/b.md")) },
			"look": func() error { return second(v.Observe("d/b.md")) },
			"walk": func() error { return second(v.Walk(t.Context(), "", nil)) },
			"part": func() error { return second(v.Walk(t.Context(), "d", nil)) },
		})
		if writing, _ := v.Writing("a.md"); writing {
			t.Error("somebody is said to write")
		}
		close(hung)
		synctest.Wait()
		if f, err := v.Read("d/b.md"); err != nil || string(f.Data) != "b" {
			t.Errorf("when it answers again: %q, %v", f.Data, err)
		}
	})
}

// TestWalkGetsStuck checks that a stuck walk is abandoned and a slow one is
// not.
func TestWalkGetsStuck(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("d%02d/x.md", i)] = "x"
	}
	v := newVault(t, files)
	synctest.Test(t, func(t *testing.T) {
		slow := func(disk.Directory) { time.Sleep(stepTimeout * 3 / 4) }
		if tree, err := v.Walk(t.Context(), "", slow); err != nil || len(tree.Files) != 20 {
			t.Errorf("a slow walk: %v", err)
		}
		hung := make(chan struct{})
		began := time.Now()
		_, err := v.Walk(t.Context(), "", func(d disk.Directory) {
			if d.Path == "d07" {
				<-hung
			}
		})
		if took := time.Since(began); !errors.Is(err, ErrRoot) || took > 2*stepTimeout {
			t.Errorf("a walk that is stuck: %v after %v", err, took)
		}
		if n := v.Catalogue.Len(); n != 20 {
			t.Errorf("%d files are known, want 20", n)
		}
		close(hung)
		synctest.Wait()
		if tree, err := v.Walk(t.Context(), "", nil); err != nil || len(tree.Files) != 20 {
			t.Errorf("when it answers again: %v", err)
		}
	})
}
