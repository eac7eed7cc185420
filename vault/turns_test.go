package vault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestLongEditDelaysNoOtherCaller checks that while Edit of one caller runs,
// changes of other callers are made and further changes of the same caller
// wait.
func TestLongEditDelaysNoOtherCaller(t *testing.T) {
	w := newWriter(t, map[string]string{"a.md": "old", "b.md": "old", "c.md": "old"})
	slow, fast := WithCaller(t.Context(), "slow"), WithCaller(t.Context(), "fast")
	running, over := make(chan struct{}), make(chan struct{})
	c := newChange("a.md", "old", "new")
	edit := c.Edit
	c.Edit = func(f *File) ([]byte, error) {
		close(running)
		<-over
		return edit(f)
	}
	var group sync.WaitGroup
	defer group.Wait()
	defer close(over)
	group.Go(func() {
		if _, err := w.Write(slow, c); err != nil {
			t.Error(err)
		}
	})
	<-running
	if _, err := w.Write(fast, newChange("b.md", "old", "new")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(t.Context(), newChange("b.md", "new", "newer")); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, w, map[string]string{"a.md": "old", "b.md": "newer", "c.md": "old"})

	// A second change of the caller, or of the file, waits for its context.
	for _, wait := range []struct {
		caller context.Context
		path   string
	}{{slow, "c.md"}, {fast, "a.md"}} {
		ctx, cancel := context.WithCancel(wait.caller)
		ended := make(chan error)
		started := newChange(wait.path, "old", "new")
		started.Edit = func(*File) ([]byte, error) { t.Error("Edit is called"); return nil, nil }
		go func() { _, err := w.Write(ctx, started); ended <- err }()
		waitFor(t, "it waits", func() bool { return w.callers.waiting("slow") == 2 || w.files.waiting("a.md") == 2 })
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", wait.path, err)
		}
	}
}

// waiting returns the number of users of a key.
func (t *turns) waiting(key string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.keys[key]; k != nil {
		return k.users
	}
	return 0
}

// TestTurnsOfCallers checks that of the waiting changes of a caller, only one is
// in the queue for the semaphore, which serves in the order of arrival.
func TestTurnsOfCallers(t *testing.T) {
	w := newWriter(t, nil)
	many, one := WithCaller(t.Context(), "many"), WithCaller(t.Context(), "one")
	queued := func() int {
		w.files.mu.Lock()
		defer w.files.mu.Unlock()
		return len(w.files.keys)
	}
	w.init()
	w.semaphore <- struct{}{} // all changes wait
	var group sync.WaitGroup
	write := func(ctx context.Context, path string) {
		group.Go(func() {
			_, err := w.Write(ctx, Change{Path: path, Cause: "test", Requested: true,
				Edit: func(*File) ([]byte, error) { return []byte("new"), nil }})
			if err != nil {
				t.Error(err)
			}
		})
	}
	want := map[string]string{"b.md": "new"}
	for n := range 10 {
		path := fmt.Sprintf("many%d.md", n)
		want[path] = "new"
		write(many, path)
	}
	waitFor(t, "all changes wait", func() bool { return w.callers.waiting("many") == 10 && queued() == 1 })
	write(one, "b.md")
	waitFor(t, "the other change waits", func() bool { return w.callers.waiting("one") == 1 && queued() == 2 })
	<-w.semaphore
	group.Wait()
	wantFiles(t, w, want)
	if n := w.callers.waiting("many") + w.callers.waiting("one") + queued(); n != 0 {
		t.Errorf("%d semaphores are left", n)
	}
}

// TestPreparedVersionIsChecked checks that Edit is called once if the file
// stays the same, and again for a version that is saved meanwhile.
func TestPreparedVersionIsChecked(t *testing.T) {
	for _, save := range []bool{false, true} {
		w := newWriter(t, map[string]string{"a.md": "old one"})
		edits, checks := 0, 0
		c := newChange("a.md", "old", "new")
		edit := c.Edit
		c.Edit = func(f *File) ([]byte, error) {
			edits++
			data, err := edit(f)
			if edits == 1 && save {
				must(t, os.WriteFile(filepath.Join(w.Vault.Dir, "a.md"), []byte("old two"), 0o600))
			}
			return data, err
		}
		c.Check = func() error { checks++; return nil }
		if _, err := w.Write(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		want, calls := "new one", 1
		if save {
			want, calls = "new two", 2
		}
		wantFiles(t, w, map[string]string{"a.md": want})
		if edits != calls || checks != 1 {
			t.Errorf("saved meanwhile: %v: %d edits, %d checks", save, edits, checks)
		}
		c.Check = func() error { return os.ErrInvalid }
		if _, err := w.Write(t.Context(), c); !errors.Is(err, os.ErrInvalid) {
			t.Errorf("a failed check: %v", err)
		}
		wantFiles(t, w, map[string]string{"a.md": want})
	}
}
