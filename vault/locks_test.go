package vault

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
)

// TestLongEditDelaysNoOtherCaller checks that while Edit of one caller runs,
// changes of other callers are made and further changes of the same caller
// wait.
func TestLongEditDelaysNoOtherCaller(t *testing.T) {
	w := newWriter(t, map[string]string{"a.md": "old", "b.md": "old", "c.md": "old"})
	slow, fast := WithCaller(t.Context(), "slow", "", ""), WithCaller(t.Context(), "fast", "", "")
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
	must(t, second(w.Write(fast, newChange("b.md", "old", "new"))))
	w.mustWrite(t, newChange("b.md", "new", "newer"))
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
		waitFor(t, "it waits", func() bool { return w.locks.users("caller slow") == 2 || w.locks.users("file a.md") == 2 })
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", wait.path, err)
		}
	}
}

// users returns the number of users of a key.
func (l *locks) users(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.keys[key]; k != nil {
		return k.users
	}
	return 0
}

// TestCheck checks that Check is called for each version, that its error stops the
// change, and that the result is released.
func TestCheck(t *testing.T) {
	w := newWriter(t, map[string]string{"a.md": "old one"})
	edits, checks, releases := 0, 0, 0
	c := newChange("a.md", "old", "new")
	edit := c.Edit
	c.Edit = func(f *File) ([]byte, error) {
		edits++
		if edits == 1 {
			writeFile(t, w.Vault, "a.md", "old two")
		}
		return edit(f)
	}
	c.Check = func() (func(), error) { checks++; return func() { releases++ }, nil }
	w.mustWrite(t, c)
	wantFiles(t, w, map[string]string{"a.md": "new two"})
	if edits != 2 || checks != 2 || releases != 2 || len(w.locks.keys) > 0 {
		t.Errorf("%d edits, %d checks, %d releases, locks: %v", edits, checks, releases, w.locks.keys)
	}
	c = newChange("a.md", "new", "newer")
	c.Check = func() (func(), error) { return nil, os.ErrInvalid }
	if _, err := w.Write(t.Context(), c); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("a failed check: %v", err)
	}
	wantFiles(t, w, map[string]string{"a.md": "new two"})
}
