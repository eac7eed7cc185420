package index

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	zapapi "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/google/go-cmp/cmp"
)

// TestPauses checks the pauses before the retries of a step, what is reported, and what
// a caller is told that waits for the disk.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		s := newStore("", func(_ *store, err error, news bool) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprint(err, " ", news))
		})
		results := make(chan error) // of the steps
		var began []time.Time
		s.loops.Add(2)
		go s.repeatStep(saver, s.changed, s.hurry, func() error {
			began = append(began, time.Now())
			return <-results
		})
		go s.repeatStep(merger, s.saves, nil, func() error { return errors.New("cannot merge") })
		wantPause := func(want time.Duration) {
			t.Helper()
			synctest.Wait()
			if n := len(began); began[n-1].Sub(began[n-2]) != want {
				t.Errorf("a pause of %s, want %s", began[n-1].Sub(began[n-2]), want)
			}
		}
		signal(s.changed)
		pause := firstPause
		for range 20 {
			results <- errors.New("cannot save")
			time.Sleep(pause)
			wantPause(pause)
			pause = min(2*pause, lastPause)
		}
		signal(s.saves)
		synctest.Wait()
		if err := s.failure(); err == nil || err.Error() != "cannot save" {
			t.Errorf("the failure is %v", err)
		}
		results <- nil
		synctest.Wait()
		if err := s.failure(); err == nil || err.Error() != "cannot merge" {
			t.Errorf("when saving succeeds, the failure is %v", err)
		}
		s.recordResult(merger, nil)
		s.recordResult(merger, nil)
		if err := s.failure(); err != nil {
			t.Errorf("when both succeed, the failure is %v", err)
		}
		mu.Lock()
		if first, last := told[0], told[len(told)-1]; first != "cannot save true" || last != "<nil> true" {
			t.Errorf("first told %q, last %q", first, last)
		}
		for _, other := range told[1 : len(told)-1] {
			if strings.HasSuffix(other, " true") {
				t.Errorf("told %q as news", other)
			}
		}
		mu.Unlock()

		// A caller that waits for the disk ends the pause.
		signal(s.changed)
		synctest.Wait()
		results <- errors.New("cannot save")
		flushed := make(chan error, 1)
		go func() { flushed <- s.flush() }()
		wantPause(0)
		results <- nil
		time.Sleep(saveLimit)
		if err := <-flushed; err == nil {
			t.Error("what nobody has saved is said to be on disk")
		}

		// Closing ends the pause, a panic the goroutine and the wait of a caller.
		signal(s.changed)
		synctest.Wait()
		results <- fmt.Errorf("save index: %w: no", errPanic)
		if err := s.flush(); err == nil || !strings.Contains(err.Error(), "panic") {
			t.Errorf("after a panic, the error is %v", err)
		}
		close(s.closing)
		s.loops.Wait()
	})
}

// TestDeletedWhileCopied deletes documents of segments while they are written or
// merged, after the copy was made.
func TestDeletedWhileCopied(t *testing.T) {
	s := newStore(t.TempDir(), nil) // without its goroutines
	if err := s.readFiles(); err != nil {
		t.Fatal(err)
	}
	defer func() { s.members.close() }()
	write := func(number uint32, gone ...string) {
		t.Helper()
		var blocks []*block
		if number != 0 {
			b := &block{number: number, prefix: "p", record: []byte("record")}
			b.setTerms([]blockTerm{{"pwx", 2}})
			blocks = append(blocks, b)
		}
		if err := s.add(blocks, gone); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, want ...uint32) {
		t.Helper()
		places, err := s.eachRecord(func([]byte) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		var got []uint32
		for _, at := range places {
			got = append(got, at.block())
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, blocks (-want +got):\n%s", when, diff)
		}
	}
	for n := range uint32(6) {
		write(n + 1)
	}
	write(0, blockID(2))
	for _, merge := range []bool{false, true} {
		list, err := s.openSnapshot()
		if err != nil {
			t.Fatal(err)
		}
		if merge {
			write(0, blockID(4))
			if _, err := s.mergeSegments(list); err != nil {
				t.Fatal(err)
			}
			check("merged", 1, 5, 6)
		} else {
			write(0, blockID(3))
			for _, m := range list {
				if _, err := s.writeSegment(m); err != nil {
					t.Fatal(err)
				}
			}
			check("written", 1, 4, 5, 6)
		}
		list.close()
	}
	list, _ := s.openSnapshot()
	write(0, blockID(1), blockID(5), blockID(6))
	if _, err := s.mergeSegments(list); err != nil {
		t.Fatal(err)
	}
	list.close()
	check("all deleted during a merge")
	list, _ = s.openSnapshot()
	if len(list) != 1 {
		t.Errorf("%d segments", len(list))
	}
	if _, err := s.mergeSegments(list); err != nil {
		t.Fatal(err)
	}
	list.close()
	if len(s.members) != 0 {
		t.Errorf("%d segments of deleted documents", len(s.members))
	}
}

// TestKilled copies the directory of a store while it is written and merged: each copy
// must open, with all of a batch or none.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	s, err := openStore(filepath.Join(dir, "store"), func(_ *store, err error, _ bool) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	s.endBuild(nil)
	written := make(chan error, 1)
	const pairs, batches = 8, 600
	go func() {
		var err error
		for n := 0; n < batches && err == nil; n++ {
			var blocks []*block // two in each batch, in place of those of an earlier one
			var gone []string
			for i := range uint32(2) {
				number := 2*uint32(n) + i
				b := &block{number: number, prefix: "p", record: []byte("record")}
				b.setTerms([]blockTerm{{"pwx", 2}})
				blocks = append(blocks, b)
				if n >= pairs {
					gone = append(gone, blockID(number-2*pairs))
				}
			}
			err = s.add(blocks, gone)
			if err == nil && n%3 == 0 {
				err = s.flush()
			}
		}
		written <- err
	}()
	opened := 0
	for n, done := 0, false; !done; n++ {
		select {
		case err := <-written:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
		}
		// The list comes first. What it lists may be removed before it is copied.
		to := filepath.Join(dir, fmt.Sprint("copy", n))
		if err := os.Mkdir(to, 0o700); err != nil {
			t.Fatal(err)
		}
		whole := true
		from := func(name string) string { return filepath.Join(s.dir, name) }
		data, err := os.ReadFile(from(listName))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, listName), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		list, err := readList(to)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			name := filepath.Base(s.fileName(l.Number))
			whole = whole && os.Link(from(name), filepath.Join(to, name)) == nil
		}
		if !whole {
			again, err := os.ReadFile(from(listName))
			if err != nil || bytes.Equal(again, data) {
				t.Fatalf("a file in the list is missing: %v, %s", err, data)
			}
			continue
		}
		opened++
		c, err := openStore(to, func(*store, error, bool) {})
		if err != nil {
			t.Fatal(err)
		}
		places, err := c.eachRecord(func([]byte) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		have := make(map[uint32]bool)
		least, most := uint32(math.MaxUint32), uint32(0)
		for _, at := range places {
			have[at.block()] = true
			least, most = min(least, at.block()), max(most, at.block())
		}
		if n := len(places); n != 0 && (n%2 != 0 || n > 2*pairs || int(most-least) != n-1 || len(have) != n) {
			t.Errorf("%d blocks from %d to %d", n, least, most)
		}
		if err := c.close(); err != nil {
			t.Fatal(err)
		}
		os.RemoveAll(to)
	}
	if opened < 10 {
		t.Errorf("%d copies were opened", opened)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil && bytes.Contains(maps, []byte(dir)) {
		t.Error("files are mapped after the stores were closed")
	}
}

// TestMerges checks that small segments are merged when a store is opened and while it
// is written, and that their files are removed.
func TestMerges(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	open := func() *store {
		t.Helper()
		s, err := openStore(dir, func(_ *store, err error, _ bool) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	files := func() int {
		names, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	write := func(s *store, n int) {
		t.Helper()
		for i := range n {
			b := &block{number: uint32(i), prefix: "p", record: []byte("record")}
			b.setTerms([]blockTerm{{"pwx", 2}})
			if err := s.addDurably([]*block{b}, []string{blockID(uint32(i))}); err != nil {
				t.Fatal(err)
			}
		}
	}
	merged := func(when string) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			list, err := readList(dir)
			if err != nil {
				t.Fatal(err)
			}
			if n := files(); n <= 20 && n == len(list) {
				return
			} else if time.Now().After(end) {
				t.Fatalf("%s: %d files, %d in the list", when, n, len(list))
			}
		}
	}
	s := open()
	write(s, 50) // as in a build
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if n := files(); n != 50 {
		t.Fatalf("%d files of a build", n)
	}
	s = open()
	merged("opened")
	write(s, 50)
	merged("written")
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}

// TestUnfinished checks that the directory of a store whose goroutines did not end
// cannot be opened until they have.
func TestUnfinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "store")
		report := func(_ *store, err error, _ bool) { t.Error(err) }
		s, err := openStore(dir, report)
		if err != nil {
			t.Fatal(err)
		}
		s.loops.Add(1) // as if the disk did not respond
		if err := s.close(); err == nil {
			t.Error("it is closed")
		}
		if s, err := openStore(dir, report); err == nil || !lacksResources(err) {
			t.Errorf("opening returns %v, %v", s, err)
		}
		s.loops.Done()
		synctest.Wait()
		s, err = openStore(dir, report)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
}

// oneSegment returns a segment in memory.
func oneSegment(t *testing.T) members {
	t.Helper()
	b := &block{number: 9, prefix: "p"}
	b.setTerms([]blockTerm{{"pwx", 2}})
	added, err := newSegments([]*block{b}, false)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// TestUnsaved checks that the number of segments that are not on disk is bounded while
// the list of segments cannot be written.
func TestUnsaved(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- red\n"}}
	x := s.open(t, t.TempDir())
	s.confirmComplete(t, x)
	added := oneSegment(t)
	if err := os.MkdirAll(filepath.Join(x.store.dir, listName+".tmp", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := x.Apply(t.Context(), s.updates()); err != nil {
		t.Errorf("one segment cannot be kept in memory: %v", err)
	}
	var err error
	for range 20 { // a merge may leave few of them
		x.store.mu.Lock()
		x.store.members = slices.Concat(x.store.members, slices.Repeat(added, maxUnsaved))
		x.store.mu.Unlock()
		if err = x.Apply(t.Context(), s.updates()); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("one segment more was kept in memory")
	}
	if st := x.Status(); !st.Degraded || st.Generation != 2 {
		t.Errorf("it was not opened anew: %+v", st)
	}
	s.confirmComplete(t, x)
	if st := x.Status(); st.Degraded || st.Problem != "" {
		t.Errorf("not whole again: %+v", st)
	}
}

// TestGoroutineEnds checks that the panic of a goroutine of the store is detected
// and blocks no caller. If it recurs before the index is complete, the index is
// set aside.
func TestGoroutineEnds(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- red\n"}}
	x, lost := s.openLosing(t, t.TempDir())
	s.confirmComplete(t, x)
	added := oneSegment(t)
	for n, aside := range []bool{false, true} {
		x.mu.RLock()
		st := x.store
		x.mu.RUnlock()
		st.mu.Lock() // the saver panics, because the segment has no method Persist
		st.members = append(slices.Clone(st.members), member{segment: &segment{Segment: struct{ zapapi.Segment }{added[0]}}})
		st.version++
		st.mu.Unlock()
		if err := st.flush(); err == nil {
			t.Error("a batch is said to be on disk")
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

// TestDirectoryGone checks that an index whose directory was removed or replaced is
// opened again when it changes.
func TestDirectoryGone(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- red\n"}}
	x, lost := s.openLosing(t, t.TempDir())
	for n := range 2 {
		s.confirmComplete(t, x)
		dir := x.path(x.name)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.Apply(t.Context(), s.updates()); err != nil {
			t.Fatal(err)
		}
		<-lost
		if got := x.Status(); !got.Degraded || got.Generation != uint64(n+2) {
			t.Errorf("not opened again: %+v", got)
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
		dir := x.store.dir
		err := x.store.close()
		x.store = nil
		if err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(dir, damaged))
		if err != nil || len(names) == 0 {
			t.Fatalf("there is no %s: %v", damaged, err)
		}
		for _, name := range names {
			if err := os.Truncate(name, 20000); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.openCurrent(nil); err != nil {
			t.Fatal(err)
		}
	}
	round(listName)
	round("*.zap")
	g0, f0, _ := held()
	for n := range 10 {
		round([]string{listName, "*.zap"}[n%2])
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

// TestPurge checks that no file of the index has a word that is only in earlier versions of
// files: in the segment of the first build, in one with nothing else, or in one that was
// not on disk yet.
func TestPurge(t *testing.T) {
	s := &mapSource{text: map[string]string{}}
	for i := range 40 {
		s.text[fmt.Sprintf("%02d.md", i)] = "- tea " + wordNo(uint64(i)) + "\n"
	}
	s.text["00.md"] = "- quince\n- tea\n"
	dir := t.TempDir()
	x := s.open(t, dir)
	s.confirmComplete(t, x)
	save := func(path, text string) {
		t.Helper()
		s.text[path] = text
		if err := x.Apply(t.Context(), s.updates(path)); err != nil {
			t.Fatal(err)
		}
	}
	save("01.md", "- quince\n")
	if err := x.store.flush(); err != nil {
		t.Fatal(err)
	}
	save("02.md", "- quince\n- tea\n")
	for _, path := range []string{"00.md", "01.md", "02.md"} {
		save(path, "- tea\n")
	}
	if findTerm(t, x, "quinc") == "" {
		t.Fatal("deleted documents leave no words")
	}
	if err := x.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if term := findTerm(t, x, "quinc"); term != "" {
		t.Errorf("the index has %q", term)
	}
	inUse := func() int {
		x.store.mu.Lock()
		defer x.store.mu.Unlock()
		return len(x.store.members)
	}
	for end := time.Now().Add(10 * time.Second); ; { // an ordinary merge can follow
		if err := x.store.flush(); err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(x.path(x.name), "*"+segmentSuffix))
		if err == nil && len(names) == inUse() {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%q are on disk, %v; %d segments are in use", names, err, inUse())
		}
	}
	if n := len(hitsOf(t, x, Query{Text: "tea", Limit: 100})); n != 38 { // one for the three equal ones
		t.Errorf("after the purge %d entries are found", n)
	}
}
