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
	berrors "go.etcd.io/bbolt/errors"
)

// TestPauses checks that the pauses of a permanent failure grow up to a limit.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		b := newBackground(func(err error, news bool) { told = append(told, fmt.Sprint(err, " ", news)) })
		fail := func(source string) time.Duration {
			began := time.Now()
			b.handleFailure(scorch.NewScorchError(source, source+" cannot", scorch.ErrPersist))
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
		if err := b.writeError(); err == nil || err.Error() != "persister cannot" {
			t.Errorf("it is reported as %v", err)
		}
		b.recordSuccess(persister)
		if err := b.writeError(); err == nil || err.Error() != "merger cannot" {
			t.Errorf("one of them mended, it is reported as %v", err)
		}
		told = told[:1]
		b.recordSuccess(merger)
		b.recordSuccess(merger)
		if err := b.writeError(); err != nil {
			t.Errorf("both mended, it is reported as %v", err)
		}
		if got, want := strings.Join(told, "; "), "merger cannot true; <nil> true"; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
		if got := fail(merger); got != firstPause {
			t.Errorf("after a success the first pause is %s", got)
		}

		// While a caller waits for the disk, the persister retries immediately, and
		// the caller receives a failure.
		failed := b.expectPersist()
		waited := make(chan error, 1)
		go func() { waited <- b.waitPersisted(make(chan error), failed) }()
		synctest.Wait()
		if got := fail(persister); got != 0 {
			t.Errorf("with a caller waiting, a pause of %s", got)
		}
		if err := <-waited; err == nil {
			t.Error("what failed is said to be on disk")
		}

		// Batches are collected between two writes, unless a caller waits for the
		// disk, or the index is built, which a failure of the persister ends.
		collect := func(b *background) time.Duration {
			began := time.Now()
			b.collectBatches()
			return time.Since(began)
		}
		if building := newBackground(nil); collect(&building) != 0 {
			t.Error("in a build, the persister waits for batches")
		}
		if got := collect(&b); got != persistDelay {
			t.Errorf("the persister waits %s for batches", got)
		}
		done := make(chan error)
		go func() { waited <- b.waitPersisted(done, b.expectPersist()) }()
		synctest.Wait()
		if got := collect(&b); got != 0 {
			t.Errorf("with a caller waiting, the persister waits %s for batches", got)
		}
		done <- nil
		if err := <-waited; err != nil {
			t.Error(err)
		}

		// After closing, failed does not pause. A goroutine that has ended does
		// not make wait block.
		close(b.closing)
		if got := fail(persister) + fail(merger); got != 0 {
			t.Errorf("closed, a pause of %s", got)
		}
		b.handleFailure(scorch.NewScorchError(merger, "panic", scorch.ErrAsyncPanic))
		if err := b.waitPersisted(make(chan error), b.expectPersist()); err == nil || !strings.Contains(err.Error(), "panic") {
			t.Errorf("of a goroutine that has ended, the error is %v", err)
		}
		// A failed cleanup is not reported.
		c := newBackground(func(error, bool) {})
		c.handleFailure(scorch.NewScorchError(persister, "cannot remove", scorch.ErrCleanup))
		if err := c.writeError(); err != nil {
			t.Error(err)
		}
	})
}

// TestUnsaved checks that the number of batches that are not on disk is
// bounded.
func TestUnsaved(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- red\n"}}
	x := s.open(t, t.TempDir())
	s.confirmComplete(t, x)
	var err error
	for try := 0; err == nil && try < 100; try++ { // the loop is needed because the persister may save everything in between
		x.store.mu.Lock()
		x.store.retryStates[persister] = &retryState{err: errors.New("no")}
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
	s.confirmComplete(t, x)
	if st := x.Status(); st.Degraded || st.Problem != "" {
		t.Errorf("not whole again: %+v", st)
	}
}

// TestGoroutineEnds checks that the end of a goroutine of scorch is detected
// and blocks no caller. If it recurs before the index is complete, the index is
// set aside.
func TestGoroutineEnds(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- red\n"}}
	lost := make(chan bool, 1)
	x, err := Open(t.TempDir(), Options{Source: s, Paths: s.paths, OnIncomplete: func() { lost <- true }})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	s.confirmComplete(t, x)
	for n, aside := range []bool{false, true} {
		x.mu.RLock()
		st := x.store
		x.mu.RUnlock()
		st.handleFailure(scorch.NewScorchError("introducer", "panic: no", scorch.ErrAsyncPanic))
		if err := st.writeBatch(nil, nil, true); err == nil {
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
	s.confirmComplete(t, x)
	if st := x.Status(); st.Degraded || st.Problem != "" {
		t.Errorf("not whole again: %+v", st)
	}
}

// TestMappingFails checks that a database that has lost its mapping, which no
// retry restores, is opened again and never set aside.
func TestMappingFails(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- red\n"}}
	lost := make(chan bool, 1)
	x, err := Open(t.TempDir(), Options{Source: s, Paths: s.paths, OnIncomplete: func() { lost <- true }})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for n := range 2 { // before the index is complete, too
		x.mu.RLock()
		st := x.store
		x.mu.RUnlock()
		go st.handleFailure(scorch.NewScorchError(persister, "got err persisting snapshot: "+berrors.ErrInvalidMapping.Error(), scorch.ErrPersist))
		<-lost
		if got := x.Status(); got.Generation != uint64(n+2) {
			t.Errorf("generation %d, want %d", got.Generation, n+2)
		}
		if _, err := os.Stat(x.path("quarantine")); err == nil {
			t.Error("the index was set aside")
		}
	}
	s.confirmComplete(t, x)
	if st := x.Status(); st.Degraded || st.Problem != "" {
		t.Errorf("after the reopening: %+v", st)
	}
}

// TestReopeningLeaksNothing checks that repeated reopening leaks no goroutines,
// files or mappings.
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
			// The mapping of a root that panics on opening remains. It has a
			// few pages, and no handle to it exists.
			if strings.Contains(line, x.dir) && strings.Contains(line, ".zap (deleted)") {
				deleted++
			}
		}
		return runtime.NumGoroutine(), len(entries), deleted
	}
	round := func(damaged string) {
		s.confirmComplete(t, x)
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
			if damaged == "*.zap" { // this damage is detected only after everything is open
				os.Remove(name)
			}
		}
		if err := x.openCurrent(nil); err != nil {
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
		runtime.GC() // closes files left open by a failed opening
		g, f, deleted := held()
		if g <= g0 && f <= f0 && deleted == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d goroutines were %d, %d open files were %d, %d deleted files are mapped", g, g0, f, f0, deleted)
		}
	}
}
