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

// A bench runs a settler in fake time. What it delivers is written down with
// the time since the beginning.
type bench struct {
	*settler
	in    chan []mark
	start time.Time

	mu      sync.Mutex
	files   map[string]seen // ready if absent
	refused map[string]bool // returned to be given again
	err     error           // returned by every delivery
	slow    time.Duration   // how long a delivery takes
	looks   int
	log     []string
}

// set changes the bench while the settler runs.
func (b *bench) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// is makes a look at a path say something else.
func (b *bench) is(path string, s seen) { b.set(func() { b.files[path] = s }) }

// settling runs a test with a settler of the usual times.
func settling(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{in: make(chan []mark), start: time.Now(), files: make(map[string]seen), refused: make(map[string]bool)}
		b.settler = &settler{
			settle: DefaultSettle, maxWait: DefaultMaxWait, vanish: DefaultVanish,
			look: func(path string) (s seen) {
				b.set(func() { s = b.files[path]; b.looks++ })
				return s
			},
			deliver: func(_ context.Context, batch batch) ([]string, error) {
				line := fmt.Sprintf("%v %v", b.now(), batch.why)
				if len(batch.paths) > 3 {
					line += fmt.Sprintf(" %d paths", len(batch.paths))
				} else {
					line += " " + strings.Join(batch.paths, " ")
				}
				b.set(func() { b.log = append(b.log, line) })
				time.Sleep(b.slow)
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

func (b *bench) now() time.Duration { return time.Since(b.start) }

// event marks paths as the notifier does.
func (b *bench) event(paths ...string) { b.mark(Event, paths...) }

func (b *bench) mark(why Why, paths ...string) {
	var marks []mark
	for _, path := range paths {
		marks = append(marks, mark{path: path, why: why})
	}
	b.in <- marks
	synctest.Wait()
}

// sync sends a barrier, and writes down when it is let through.
func (b *bench) sync(name string) {
	b.in <- []mark{{barrier: &barrier{done: func(err error) {
		line := fmt.Sprintf("%v %s synced", b.now(), name)
		if err != nil {
			line += ": " + err.Error()
		}
		b.set(func() { b.log = append(b.log, line) })
	}}}}
	synctest.Wait()
}

// until waits until so much time has passed since the beginning.
func (b *bench) until(d time.Duration) {
	time.Sleep(d - b.now())
	synctest.Wait()
}

func (b *bench) want(t *testing.T, want ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if diff := cmp.Diff(want, b.log); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	b.log = nil
}

func TestSettleQuiet(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		b.event("b", "a")
		b.until(20 * ms)
		b.event("a") // begins anew
		b.until(49 * ms)
		b.want(t, "30ms event b")
		b.until(time.Hour)
		b.want(t, "50ms event a")
	})
}

// A path that is never quiet is named all the same.
func TestSettleMaxWait(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		for b.now() < 2500*ms {
			b.event("a")
			time.Sleep(10 * ms)
		}
		b.until(time.Hour)
		b.want(t, "1s event a", "2s event a", "2.52s event a")
	})
}

// Somebody who has the file open postpones it, up to the maximum.
func TestSettleWriter(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		b.is("a", writing)
		b.event("a")
		b.until(200 * ms)
		b.is("a", ready)
		b.until(time.Second)
		b.want(t, "230ms event a")

		b.is("a", writing)
		b.set(func() { b.refused["a"] = true })
		b.event("a")
		b.until(10 * time.Second)
		b.want(t, "2s overdue a") // read while being written, and not again while that goes on
		b.event("a")
		b.until(10500 * ms)
		b.want(t)
		b.until(20 * time.Second)
		b.want(t, "11s overdue a") // unless it changes
		b.is("a", ready)
		b.set(func() { delete(b.refused, "a") })
		b.until(time.Hour)
		b.want(t, "20.25s event a")
	})
}

// A path is gone when it has been gone for a while.
func TestSettleVanish(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		b.is("a", gone)
		b.is("b", gone)
		b.event("a", "b")
		b.until(100 * ms)
		b.is("a", ready) // an editor has written it anew
		b.event("a")
		b.until(time.Second)
		b.want(t, "130ms event a", "530ms gone b")
		// It comes back unheard, in the last moment.
		b.is("a", gone)
		b.event("a")
		b.until(1500 * ms)
		b.is("a", ready)
		b.until(time.Hour)
		b.want(t, "1.53s event a")
	})
}

func many(prefix string, n int) []string {
	var paths []string
	for i := range n {
		paths = append(paths, fmt.Sprintf("%s%05d", prefix, i))
	}
	return paths
}

// A checkout is one batch, and one that does not end is cut.
func TestSettleBurst(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		paths := many("x", 2000)
		for chunk := range slices.Chunk(paths, 100) {
			b.event(chunk...)
			time.Sleep(20 * ms)
		}
		b.until(time.Second)
		b.want(t, "410ms event 2000 paths")

		for b.now() < 3500*ms {
			b.event(paths[:100]...)
			time.Sleep(20 * ms)
		}
		b.until(time.Hour)
		b.want(t, "2s event 100 paths", "3s event 100 paths", "3.51s event 100 paths")
	})
}

// Few paths do not wait for each other.
func TestSettleApart(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		b.event(many("x", burst-1)...)
		time.Sleep(20 * ms)
		b.event("a")
		b.until(time.Hour)
		b.want(t, "30ms event 15 paths", "50ms event a")
	})
}

// While a batch is being taken over the next one gathers.
func TestSettleGathers(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		b.set(func() { b.slow = 100 * ms })
		b.event("a")
		b.until(40 * ms)
		b.event("b")
		b.until(80 * ms)
		b.event("c", "a")
		b.until(time.Hour)
		b.want(t, "30ms event a", "130ms event a b c")
	})
}

// Scans are taken in pieces, and what has just been saved goes between.
func TestSettleScan(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		b.set(func() { b.slow = 100 * ms })
		paths := many("x", 2500)
		b.mark(Scan, slices.Concat(paths, paths)...)
		b.mark(Verify, append([]string{"a"}, paths...)...)
		if got := b.pending.Load(); got != 2500 {
			t.Errorf("%d paths are pending, want 2500", got)
		}
		b.event("a")
		b.until(time.Hour)
		b.want(t, "0s scan 1000 paths", "100ms event a", "200ms scan 1000 paths", "300ms scan 500 paths",
			"400ms verify 1000 paths", "500ms verify 1000 paths", "600ms verify 501 paths")
		if got := b.pending.Load(); got != 0 {
			t.Errorf("%d paths are pending, want none", got)
		}
	})
}

// What a scan misses must stay gone for as long as anything.
func TestSettleScanGone(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		b.is("a", gone)
		b.is("b", writing)
		b.is("c", gone)
		b.mark(Scan, "a", "b", "c", "d")
		b.until(200 * ms)
		b.is("c", ready)
		b.until(time.Hour)
		b.want(t, "0s scan d", "500ms scan c", "500ms gone a", "1s overdue b")
	})
}

// A barrier skips the quiet time only.
func TestSettleBarrier(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		b.sync("nothing")
		b.want(t, "0s nothing synced")
		b.is("gone", gone)
		b.is("held", writing)
		b.event("a", "gone", "held")
		b.until(10 * ms)
		b.sync("first")
		b.event("late")
		b.until(20 * ms)
		b.want(t, "10ms event a")
		b.until(time.Hour)
		b.want(t, "40ms event late", "510ms gone gone", "510ms first synced", "1s overdue held")
	})
}

// A barrier waits 50 ms for a changed file that is open for writing. Changes
// after the barrier do not make it wait longer.
func TestSettleBarrierOpen(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		b.is("a", writing)
		b.event("a")
		b.sync("closed")
		b.until(40 * ms)
		b.is("a", ready) // no event reports that
		b.until(time.Second)
		b.want(t, "50ms event a", "50ms closed synced")

		b.is("a", writing)
		b.event("a")
		b.until(1020 * ms)
		b.sync("open")
		for at := 1030 * ms; at < 1200*ms; at += 10 * ms {
			b.event("a")
			b.until(at)
		}
		b.want(t, "1.05s open synced")
		b.until(time.Hour)
		b.want(t, "2s overdue a")
		b.sync("taken")
		b.want(t, "1h0m0s taken synced")

		b.event("a")
		b.until(time.Hour + 100*ms)
		b.is("a", ready)
		b.sync("just closed")
		b.want(t, "1h0m0.1s event a", "1h0m0.1s just closed synced")
	})
}

// Barriers that arrive while many files are changing or gone do not cause a look
// at each file for each barrier: on a busy machine, barriers would arrive faster
// than they pass.
func TestSettleManyBarriers(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		const files, barriers = 1000, 50
		passed := 0
		var marks []mark
		for n := range files {
			path := fmt.Sprintf("%d", n)
			if n%2 == 0 {
				b.is(path, gone)
			}
			marks = append(marks, mark{path: path, why: Event})
		}
		for range barriers {
			marks = append(marks, mark{barrier: &barrier{done: func(error) { b.set(func() { passed++ }) }}})
		}
		b.in <- marks
		synctest.Wait()
		for n := range barriers { // while half of the files are not believed gone yet
			b.sync(fmt.Sprint(n))
		}
		b.set(func() {
			if b.looks > files {
				t.Errorf("%d looks at %d files for %d barriers", b.looks, files, 2*barriers)
			}
		})
		b.until(time.Second)
		if passed != barriers || len(b.log) != barriers+2 {
			t.Errorf("%d of %d barriers passed, and of the later ones:\n%s", passed, barriers, strings.Join(b.log, "\n"))
		}
	})
}

// Further changes of a path do not hold up a barrier.
func TestSettleBarrierBusy(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		b.is("gone", gone)
		b.event("gone")
		b.sync("it")
		b.until(100 * ms)
		b.is("gone", ready)
		b.event("gone")
		b.until(110 * ms)
		b.want(t, "100ms event gone", "100ms it synced")

		b.set(func() { b.slow = 100 * ms })
		b.event("a")
		b.until(150 * ms)
		b.event("b")
		b.sync("it")
		for b.now() < 300*ms {
			b.event("b")
			time.Sleep(10 * ms)
		}
		b.want(t, "140ms event a", "240ms event b")
		b.until(time.Hour)
		b.want(t, "340ms it synced", "340ms event b")
	})
}

// A barrier waits for what is being taken over and for what a scan has found,
// but not for what is only to be verified.
func TestSettleBarrierBehind(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		b.set(func() { b.slow = 100 * ms })
		b.mark(Scan, many("x", 1500)...)
		b.mark(Verify, many("v", 1500)...)
		b.sync("first")
		b.until(50 * ms)
		b.mark(Scan, "y")
		b.until(time.Hour)
		b.want(t, "0s scan 1000 paths", "100ms scan 501 paths", "200ms first synced", "200ms verify 1000 paths", "300ms verify 500 paths")
	})
}

// A burst does not hold up a barrier.
func TestSettleBarrierInBurst(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		b.event(many("x", 100)...)
		b.until(20 * ms)
		b.event(many("y", 100)...)
		b.sync("it")
		b.want(t, "20ms event 200 paths", "20ms it synced")
	})
}

// What could not be taken over is given again, later and later; a barrier says
// so, and makes it be tried at once.
func TestSettleError(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		b.set(func() { b.err = errors.New("disk full") })
		b.event("a")
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

// What could not be read is given again, and nobody waits for it.
func TestSettleAgain(t *testing.T) {
	settling(t, func(t *testing.T, b *bench) {
		b.set(func() { b.refused["a"] = true })
		b.event("a", "b")
		b.until(time.Second)
		b.want(t, "30ms event a b", "280ms event a", "780ms event a")
		b.sync("it")
		b.want(t, "1s it synced")
		b.set(func() { delete(b.refused, "a") })
		b.event("a") // is news
		b.until(time.Hour)
		b.want(t, "1.03s event a")
	})
}

func TestSettleStops(t *testing.T) {
	var b *bench
	settling(t, func(t *testing.T, bb *bench) {
		b = bb
		b.set(func() { b.slow = time.Second })
		b.event("a")
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
		{start.Add(tick + asleep), false},
		{start.Add(tick + asleep + 1), true},    // stopped: both clocks went on
		{start.Round(0).Add(time.Hour), true},   // slept: only the wall clock did
		{start.Round(0).Add(-time.Hour), false}, // the wall clock was set back
	} {
		if got := slept(start, tt.now, tick); got != tt.want {
			t.Errorf("%v later: %v, want %v", tt.now.Sub(start), got, tt.want)
		}
	}
}
