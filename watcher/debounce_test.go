package watcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const ms = time.Millisecond

// A debouncerTest runs a debouncer in fake time and logs its deliveries with the time
// since the start.
type debouncerTest struct {
	*debouncer
	in    chan []hint
	start time.Time

	mu      sync.Mutex
	files   map[string]pathState // ready if absent
	refused map[string]bool      // paths that a delivery returns for a retry
	err     error                // returned by every delivery
	slow    time.Duration        // duration of a delivery
	log     []string
}

// set changes the bench while the debouncer runs.
func (b *debouncerTest) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// setState sets the result of later checks of a path.
func (b *debouncerTest) setState(path string, s pathState) { b.set(func() { b.files[path] = s }) }

// testDebouncer runs a test with a debouncer that uses the default times.
func testDebouncer(t *testing.T, test func(t *testing.T, b *debouncerTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &debouncerTest{in: make(chan []hint), start: time.Now(), files: make(map[string]pathState), refused: make(map[string]bool)}
		b.debouncer = &debouncer{
			debounce: DefaultDebounce, maxWait: DefaultMaxWait, deletionDelay: DefaultDeletionDelay,
			checkState: func(path string) (s pathState) {
				b.set(func() { s = b.files[path] })
				return s
			},
			deliver: func(_ context.Context, batch batch) ([]string, error) {
				line := fmt.Sprintf("%v %v", b.now(), batch.reason)
				if len(batch.paths) > 3 {
					line += fmt.Sprintf(" %d paths", len(batch.paths))
				} else {
					line += " " + strings.Join(batch.paths, " ")
				}
				b.mu.Lock()
				b.log = append(b.log, line)
				slow := b.slow
				b.mu.Unlock()
				time.Sleep(slow)
				b.mu.Lock()
				defer b.mu.Unlock()
				if b.err != nil {
					return nil, b.err
				}
				return slices.DeleteFunc(slices.Clone(batch.paths), func(p string) bool { return !b.refused[p] }), nil
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { b.run(ctx, b.in); close(done) }()
		test(t, b)
		cancel()
		<-done
	})
}

func (b *debouncerTest) now() time.Duration { return time.Since(b.start) }

// sendEvents sends marks for paths as the notifier does.
func (b *debouncerTest) sendEvents(paths ...string) { b.sendHints(Event, paths...) }

func (b *debouncerTest) sendHints(why Reason, paths ...string) {
	var marks []hint
	for _, path := range paths {
		marks = append(marks, hint{path: path, reason: why})
	}
	b.in <- marks
	synctest.Wait()
}

// sync sends a barrier and logs its completion.
func (b *debouncerTest) sync(name string) {
	b.in <- []hint{{barrier: &barrier{done: func(err error) {
		line := fmt.Sprintf("%v %s synced", b.now(), name)
		if err != nil {
			line += ": " + err.Error()
		}
		b.set(func() { b.log = append(b.log, line) })
	}}}}
	synctest.Wait()
}

// until sleeps until the time d after the start.
func (b *debouncerTest) until(d time.Duration) {
	time.Sleep(d - b.now())
	synctest.Wait()
}

func (b *debouncerTest) want(t *testing.T, want ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if diff := cmp.Diff(want, b.log); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	b.log = nil
}

func TestDebounceQuiet(t *testing.T) {
	testDebouncer(t, func(t *testing.T, b *debouncerTest) {
		b.sendEvents("b", "a")
		b.until(20 * ms)
		b.sendEvents("a") // restarts the debounce
		b.until(49 * ms)
		b.want(t, "30ms event b")
		b.until(time.Hour)
		b.want(t, "50ms event a")
	})
}

// TestDebounceMaxWait checks that a constantly changing path is delivered all the
// same.
func TestDebounceMaxWait(t *testing.T) {
	testDebouncer(t, func(t *testing.T, b *debouncerTest) {
		for b.now() < 2500*ms {
			b.sendEvents("a")
			time.Sleep(10 * ms)
		}
		b.until(time.Hour)
		b.want(t, "1s event a", "2s event a", "2.52s event a")
	})
}

// TestDebounceWriter checks that an open file delays its delivery, up to the
// maximum.
func TestDebounceWriter(t *testing.T) {
	testDebouncer(t, func(t *testing.T, b *debouncerTest) {
		b.setState("a", pathWriting)
		b.sendEvents("a")
		b.until(200 * ms)
		b.setState("a", pathReady)
		b.until(time.Second)
		b.want(t, "230ms event a")

		b.setState("a", pathWriting)
		b.set(func() { b.refused["a"] = true })
		b.sendEvents("a")
		b.until(10 * time.Second)
		b.want(t, "2s overdue a") // read while being written, and not again while the write lasts
		b.sendEvents("a")
		b.until(10500 * ms)
		b.want(t)
		b.until(20 * time.Second)
		b.want(t, "11s overdue a") // unless the file changes
		b.setState("a", pathReady)
		b.set(func() { delete(b.refused, "a") })
		b.until(time.Hour)
		b.want(t, "20.25s event a")
	})
}

// TestDebounceDeletion checks that a path counts as gone after it has been missing
// for a while.
func TestDebounceDeletion(t *testing.T) {
	testDebouncer(t, func(t *testing.T, b *debouncerTest) {
		b.setState("a", pathGone)
		b.setState("b", pathGone)
		b.sendEvents("a", "b")
		b.until(100 * ms)
		b.setState("a", pathReady) // an editor has rewritten it
		b.sendEvents("a")
		b.until(time.Second)
		b.want(t, "130ms event a", "530ms gone b")
		// It returns without an event, just before the limit.
		b.setState("a", pathGone)
		b.sendEvents("a")
		b.until(1500 * ms)
		b.setState("a", pathReady)
		b.until(time.Hour)
		b.want(t, "1.53s event a")
	})
}

func manyPaths(prefix string, n int) []string {
	var paths []string
	for i := range n {
		paths = append(paths, fmt.Sprintf("%s%05d", prefix, i))
	}
	return paths
}

// TestDebounceAmongOthers checks that changes of other files do not delay a file, even
// if many have come together during a slow delivery and there is no pause between them.
func TestDebounceAmongOthers(t *testing.T) {
	testDebouncer(t, func(t *testing.T, b *debouncerTest) {
		var want []string
		for n := range 200 { // 100 a second
			b.set(func() {
				b.slow = 0
				if b.now() < 50*ms {
					b.slow = 300 * ms
				}
			})
			path := fmt.Sprintf("x%03d", n)
			b.sendEvents(path)
			if n >= 40 {
				want = append(want, fmt.Sprintf("%v event %s", b.now()+DefaultDebounce, path))
			}
			time.Sleep(10 * ms)
		}
		b.until(time.Hour)
		b.set(func() { b.log = b.log[max(0, len(b.log)-len(want)):] })
		b.want(t, want...)
	})
}

// TestDebounceScan checks that scanned paths are delivered in chunks, with newly
// saved files between them, and are not verified if they wait for their delivery.
func TestDebounceScan(t *testing.T) {
	testDebouncer(t, func(t *testing.T, b *debouncerTest) {
		b.set(func() { b.slow = 100 * ms })
		paths := manyPaths("x", 2500)
		b.sendHints(Scan, slices.Concat(paths, paths)...)
		b.sendHints(Verify, append([]string{"a"}, paths...)...)
		if got := b.pending.Load(); got != 2500 {
			t.Errorf("%d paths are pending, want 2500", got)
		}
		b.sendEvents("a")
		b.until(time.Hour)
		b.want(t, "0s scan 1000 paths", "100ms event a", "200ms scan 1000 paths", "300ms scan 500 paths",
			"400ms verify 1000 paths", "500ms verify x00999")
		if got := b.pending.Load(); got != 0 {
			t.Errorf("%d paths are pending, want none", got)
		}
	})
}

// TestDebounceBarrier checks that a barrier skips only the debounce.
func TestDebounceBarrier(t *testing.T) {
	testDebouncer(t, func(t *testing.T, b *debouncerTest) {
		b.sync("nothing")
		b.want(t, "0s nothing synced")
		b.setState("gone", pathGone)
		b.setState("held", pathWriting)
		b.sendEvents("a", "gone", "held")
		b.until(10 * ms)
		b.sync("first")
		b.sendEvents("late")
		b.until(20 * ms)
		b.want(t, "10ms event a")
		b.until(time.Hour)
		b.want(t, "40ms event late", "510ms gone gone", "510ms first synced", "1s overdue held")
	})
}

// TestDebounceBarrierOpen checks that a barrier waits 50 ms for a changed file
// that is open for writing, and that changes after the barrier do not prolong
// the wait.
func TestDebounceBarrierOpen(t *testing.T) {
	testDebouncer(t, func(t *testing.T, b *debouncerTest) {
		b.setState("a", pathWriting)
		b.sendEvents("a")
		b.sync("closed")
		b.until(40 * ms)
		b.setState("a", pathReady) // no event reports the close
		b.until(time.Second)
		b.want(t, "50ms event a", "50ms closed synced")

		b.setState("a", pathWriting)
		b.sendEvents("a")
		b.until(1020 * ms)
		b.sync("open")
		for at := 1030 * ms; at < 1200*ms; at += 10 * ms {
			b.sendEvents("a")
			b.until(at)
		}
		b.want(t, "1.05s open synced")
		b.until(time.Hour)
		b.want(t, "2s overdue a")
		b.sync("taken")
		b.want(t, "1h0m0s taken synced")

		b.sendEvents("a")
		b.until(time.Hour + 100*ms)
		b.setState("a", pathReady)
		b.sync("just closed")
		b.want(t, "1h0m0.1s event a", "1h0m0.1s just closed synced")
	})
}

// TestDebounceError checks that failed paths are retried with growing delays,
// that a barrier reports the error, and that it retries them at once.
func TestDebounceError(t *testing.T) {
	testDebouncer(t, func(t *testing.T, b *debouncerTest) {
		b.set(func() { b.err = errors.New("disk full") })
		b.sendEvents("a")
		b.until(2 * time.Second)
		b.want(t, "30ms event a", "280ms event a", "780ms event a", "1.78s event a")
		b.sync("full")
		b.want(t, "2s event a", "2s full synced: disk full")
		b.until(time.Hour)
		b.set(func() {
			if n := len(b.log); n < 55 || n > 65 {
				t.Errorf("tried %d times in an hour, want about one a minute", n)
			}
			b.log, b.err = nil, nil
		})
		b.sync("well")
		b.want(t, "1h0m0s event a", "1h0m0s well synced")
		b.until(2 * time.Hour)
		b.want(t)
	})
}

// TestDebounceRetry checks that unreadable paths are retried and that barriers
// wait for a few of these retries.
func TestDebounceRetry(t *testing.T) {
	testDebouncer(t, func(t *testing.T, b *debouncerTest) {
		b.set(func() { b.refused["a"] = true })
		b.sendEvents("a", "b")
		b.until(time.Second)
		b.want(t, "30ms event a b", "280ms event a", "780ms event a")
		b.sync("once more")
		b.sync("it")
		b.want(t, "1s event a", "1s once more synced", "1s it synced")
		b.set(func() { delete(b.refused, "a") })
		b.sendEvents("a") // a new change
		b.until(time.Hour)
		b.want(t, "1.03s event a")
	})
}

func TestDebounceStops(t *testing.T) {
	var b *debouncerTest
	testDebouncer(t, func(t *testing.T, bb *debouncerTest) {
		b = bb
		b.set(func() { b.slow = time.Second })
		b.sendEvents("a")
		b.until(40 * ms)
		b.sync("it")
		b.set(func() { b.log = nil })
	})
	if diff := cmp.Diff([]string{"1.03s it synced: context canceled"}, b.log); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
}

func TestSlept(t *testing.T) {
	start := time.Now()
	tick := DefaultPoll
	for _, tt := range []struct {
		now  time.Time
		want bool
	}{
		{start, false},
		{start.Add(tick), false},
		{start.Add(tick + sleepGap), false},
		{start.Add(tick + sleepGap + 1), true},  // stopped: both clocks advanced
		{start.Round(0).Add(time.Hour), true},   // slept: only the wall clock advanced
		{start.Round(0).Add(-time.Hour), false}, // the wall clock was set back
	} {
		if got := hasSlept(start, tt.now, tick); got != tt.want {
			t.Errorf("%v later: %v, want %v", tt.now.Sub(start), got, tt.want)
		}
	}
}
