package watcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
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

// testDebouncer calls test with a debouncer that uses the default times. It returns the
// log after the last call of takeLog, when the debouncer has stopped.
func testDebouncer(t *testing.T, test func(b *debouncerTest)) (log []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &debouncerTest{in: make(chan []hint), start: time.Now(), files: make(map[string]pathState), refused: make(map[string]bool)}
		b.debouncer = &debouncer{
			debounce: DefaultDebounce, maxWait: DefaultMaxWait, deletionDelay: DefaultDeletionDelay,
			checkState: func(path string) pathState {
				b.mu.Lock()
				defer b.mu.Unlock()
				return b.files[path]
			},
			deliver: func(_ context.Context, batch batch) ([]string, error) {
				paths := strings.Join(batch.paths, " ")
				if len(batch.paths) > 3 {
					paths = fmt.Sprintf("%d paths", len(batch.paths))
				}
				b.logf("%v %s", batch.reason, paths)
				b.mu.Lock()
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
		test(b)
		cancel()
		<-done
		log = b.takeLog()
	})
	return log
}

func (b *debouncerTest) now() time.Duration { return time.Since(b.start) }

func (b *debouncerTest) logf(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = append(b.log, fmt.Sprintf("%v ", b.now())+fmt.Sprintf(format, args...))
}

func (b *debouncerTest) takeLog() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	log := b.log
	b.log = nil
	return log
}

// sendHints sends hints for paths as the notifier does.
func (b *debouncerTest) sendHints(why Reason, paths ...string) {
	var hints []hint
	for _, path := range paths {
		hints = append(hints, hint{path: path, reason: why})
	}
	b.in <- hints
	synctest.Wait()
}

// until sleeps until the time d after the start.
func (b *debouncerTest) until(d time.Duration) {
	time.Sleep(d - b.now())
	synctest.Wait()
}

// do executes a command of testdata/scripts/debounce.txtar.
func (b *debouncerTest) do(command string) {
	verb, rest, _ := strings.Cut(command, " ")
	args := strings.Fields(rest)
	times := make([]time.Duration, 2) // of the arguments that are times
	for i := range min(2, len(args)) {
		times[i], _ = time.ParseDuration(args[i])
	}
	states := map[string]pathState{"ready": pathReady, "open": pathWriting, "gone": pathGone}
	reasons := map[string]Reason{"event": Event, "scan": Scan, "verify": Verify}
	switch verb {
	case "event", "scan", "verify":
		var paths []string
		for _, arg := range args {
			if name, count, ok := strings.Cut(arg, "*"); ok {
				n, _ := strconv.Atoi(count)
				for i := range n {
					paths = append(paths, fmt.Sprintf("%s%05d", name, i))
				}
			} else {
				paths = append(paths, arg)
			}
		}
		b.sendHints(reasons[verb], paths...)
	case "at":
		b.until(times[0])
	case "every":
		for ; b.now() < times[1]; time.Sleep(times[0]) {
			b.sendHints(Event, args[2])
		}
	case "sync":
		b.in <- []hint{{barrier: &barrier{done: func(err error) {
			b.logf("synced %s, error: %v", rest, err)
		}}}}
		synctest.Wait()
	case "pending":
		b.logf("%d pending", b.pending.Load())
	default:
		b.mu.Lock()
		defer b.mu.Unlock()
		switch verb {
		case "slow":
			b.slow = times[0]
		case "fail":
			b.err = nil
			if rest != "" {
				b.err = errors.New(rest)
			}
		case "refuse", "accept":
			b.refused[rest] = verb == "refuse"
		case "ready", "open", "gone":
			for _, path := range args {
				b.files[path] = states[verb]
			}
		default:
			panic("no such command: " + command)
		}
	}
}

// TestDebounce runs the scripts in testdata.
func TestDebounce(t *testing.T) {
	golden.Run(t, "scripts", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		for i, script := range a.Files {
			var out []string
			add := func(log []string) {
				for _, line := range log {
					out = append(out, "  "+line+"\n")
				}
			}
			add(testDebouncer(t, func(b *debouncerTest) {
				for line := range strings.Lines(string(script.Data)) {
					if strings.HasPrefix(line, "  ") {
						continue
					}
					out = append(out, line)
					if !strings.HasPrefix(line, "#") {
						b.do(strings.TrimSpace(line))
						add(b.takeLog())
					}
				}
			}))
			a.Files[i].Data = []byte(strings.Join(out, ""))
		}
		return a
	})
}

// TestDebounceAmongOthers checks that changes of other files do not delay a file, even
// if many have come together during a slow delivery and there is no pause between them.
func TestDebounceAmongOthers(t *testing.T) {
	var want []string
	got := testDebouncer(t, func(b *debouncerTest) {
		for n := range 200 { // 100 a second
			slow := "slow 0s"
			if b.now() < 50*ms {
				slow = "slow 300ms"
			}
			b.do(slow)
			path := fmt.Sprintf("x%03d", n)
			b.sendHints(Event, path)
			if n >= 40 {
				want = append(want, fmt.Sprintf("%v event %s", b.now()+DefaultDebounce, path))
			}
			time.Sleep(10 * ms)
		}
		b.until(time.Hour)
	})
	if diff := cmp.Diff(want, got[max(0, len(got)-len(want)):]); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
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

// TestErrorsAreReadWhileEventsWait checks that the errors of a notifier are read
// although no event is: the notifier holds its lock while it sends an error, and
// the walk that handles an event may wait for that lock.
func TestErrorsAreReadWhileEventsWait(t *testing.T) {
	w := &Watcher{}
	w.watches.failures = make(chan (<-chan error), 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go w.readErrors(ctx)
	for range 2 { // the first notifier and one opened later
		failures := make(chan error)
		w.watches.failures <- failures
		select {
		case failures <- syscall.EINVAL:
		case <-time.After(time.Minute):
			t.Fatal("an error is not read")
		}
	}
}
