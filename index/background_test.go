package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
)

// What fails for ever is tried again less and less often.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		b := newBackground(func(err error, news bool) { told = append(told, fmt.Sprint(err, " ", news)) })
		fail := func(source string) time.Duration {
			began := time.Now()
			b.failed(scorch.NewScorchError(source, source+" cannot", scorch.ErrPersist))
			return time.Since(began)
		}
		pause := firstPause
		for range 20 {
			if got := fail(merger); got != pause {
				t.Errorf("a pause of %s, want %s", got, pause)
			}
			pause = min(2*pause, lastPause)
		}
		if got := fail(persister); got != firstPause {
			t.Errorf("the other's first pause is %s", got)
		}
		if err := b.failure(); err == nil || err.Error() != "persister cannot" {
			t.Errorf("it is reported as %v", err)
		}
		b.succeeded(persister)
		if err := b.failure(); err == nil || err.Error() != "merger cannot" {
			t.Errorf("one of them mended, it is reported as %v", err)
		}
		told = told[:1]
		b.succeeded(merger)
		b.succeeded(merger)
		if err := b.failure(); err != nil {
			t.Errorf("both mended, it is reported as %v", err)
		}
		if got, want := strings.Join(told, "; "), "merger cannot true; <nil> true"; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
		if got := fail(merger); got != firstPause {
			t.Errorf("after a success the first pause is %s", got)
		}

		// Who waits for the disk is told at once, and lets the persister try at once.
		failed := b.expect()
		if got := fail(persister); got != 0 {
			t.Errorf("with somebody waiting, a pause of %s", got)
		}
		if err := b.wait(make(chan error), failed); err == nil {
			t.Error("what failed is said to be on disk")
		}

		// Nobody waits when it is closed, or for what will never be tried again.
		close(b.closing)
		if got := fail(persister) + fail(merger); got != 0 {
			t.Errorf("closed, a pause of %s", got)
		}
		b.failed(scorch.NewScorchError(merger, "panic", scorch.ErrAsyncPanic))
		if err := b.wait(make(chan error), b.expect()); err == nil || !strings.Contains(err.Error(), "panic") {
			t.Errorf("of a goroutine that has ended, the error is %v", err)
		}
		// What is not needed any more is not worth a word.
		c := newBackground(nil)
		c.failed(scorch.NewScorchError(persister, "cannot remove", scorch.ErrCleanup))
		if err := c.failure(); err != nil {
			t.Error(err)
		}
	})
}

// Changes that wait for the disk do not pile up for ever.
func TestUnsaved(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- red\n"}}
	x := s.open(t, t.TempDir())
	s.whole(t, x)
	var err error
	for try := 0; err == nil && try < 100; try++ { // unless just then all is saved
		x.store.mu.Lock()
		x.store.trials[persister] = &trial{err: errors.New("no")}
		x.store.unsaved = maxUnsaved
		x.store.mu.Unlock()
		err = x.Apply(t.Context(), s.updates())
	}
	if err == nil {
		t.Error("one batch more was kept in memory")
	}
	if st := x.Status(); !st.Degraded || st.Generation != 2 {
		t.Errorf("it was not opened anew: %+v", st)
	}
	s.whole(t, x)
	if st := x.Status(); st.Degraded || st.Problem != "" {
		t.Errorf("not whole again: %+v", st)
	}
}

// A goroutine of scorch's that has ended is noticed, and does not hold anybody
// up. If it does so again before the index is whole, that is the index's fault.
func TestGoroutineEnds(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- red\n"}}
	lost := make(chan bool, 1)
	x, err := Open(t.TempDir(), Options{Source: s, Paths: s.paths, Lost: func() { lost <- true }})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	s.whole(t, x)
	for n, aside := range []bool{false, true} {
		x.mu.RLock()
		st := x.store
		x.mu.RUnlock()
		st.failed(scorch.NewScorchError("introducer", "panic: no", scorch.ErrAsyncPanic))
		if err := st.batch(nil, nil, true); err == nil {
			t.Error("what nobody can take is written")
		}
		<-lost
		if st := x.Status(); !st.Degraded || st.Generation != uint64(n+2) {
			t.Errorf("it was not opened anew: %+v", st)
		}
		if _, err := os.Stat(x.path("quarantine")); (err == nil) != aside {
			t.Errorf("the %d. time, it is set aside: %v", n+1, err == nil)
		}
	}
	s.whole(t, x)
	if st := x.Status(); st.Degraded || st.Problem != "" {
		t.Errorf("not whole again: %+v", st)
	}
}

// Opening the index anew, however often, leaves nothing behind.
func TestReopeningLeaksNothing(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- red\n", "b.md": "- green\n"}}
	x := s.open(t, t.TempDir())
	held := func() (goroutines, files, deleted int) {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("what a process holds can only be seen where there is /proc")
		}
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Skip(err)
		}
		for line := range strings.Lines(string(maps)) {
			// Of a root that panics when it is opened the mapping, of some pages,
			// stays: nobody has a handle on it.
			if strings.Contains(line, x.dir) && strings.Contains(line, ".zap (deleted)") {
				deleted++
			}
		}
		return runtime.NumGoroutine(), len(entries), deleted
	}
	round := func(damaged string) {
		s.whole(t, x)
		x.writing.Lock()
		defer x.writing.Unlock()
		x.mu.Lock()
		defer x.mu.Unlock()
		if err := x.store.close(); err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(x.store.dir, damaged))
		if err != nil || len(names) == 0 {
			t.Fatalf("there is no %s: %v", damaged, err)
		}
		for _, name := range names {
			if err := os.Truncate(name, 20000); err != nil {
				t.Fatal(err)
			}
			if damaged == "*.zap" { // that is seen only when all is open
				os.Remove(name)
			}
		}
		if err := x.open(nil); err != nil {
			t.Fatal(err)
		}
	}
	round("root.bolt")
	round("*.zap")
	g0, f0, _ := held()
	for n := range 10 {
		round([]string{"root.bolt", "*.zap"}[n%2])
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		runtime.GC() // closes what a failed opening left
		g, f, deleted := held()
		if g <= g0 && f <= f0 && deleted == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d goroutines were %d, %d open files were %d, %d deleted files are mapped", g, g0, f, f0, deleted)
		}
	}
}
