package compactor

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/semaphore"

	"github.com/memwatchd/memwatchd/api"
)

// A testScheduler is a scheduler with persistent state. It logs its runs.
type testScheduler struct {
	t         *testing.T
	schedule  string
	job       func(context.Context) error
	semaphore *semaphore.Weighted
	path      string // of the state file
	log       strings.Builder
	mu        sync.Mutex // of runs and job
	runs      []string
	running   *Scheduler
	stop      func()
}

// schedulerTest runs a test with a scheduler in fake time, which starts at midnight of
// January 1, 2000. The scheduler stops when the test ends.
func schedulerTest(t *testing.T, test func(c *testScheduler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &testScheduler{t: t, schedule: "0 3 * * *", path: filepath.Join(t.TempDir(), "compactor.json"),
			semaphore: semaphore.NewWeighted(1), stop: func() {}}
		defer func() { c.stop() }()
		test(c)
	})
}

func (c *testScheduler) on() {
	c.t.Helper()
	schedule, err := ParseSchedule(c.schedule, time.UTC)
	if err != nil {
		c.t.Fatal(err)
	}
	c.running = &Scheduler{
		Schedule: schedule, Semaphore: c.semaphore, Now: time.Now,
		Logger: slog.New(slog.NewTextHandler(&c.log, nil)),
		Job: func(ctx context.Context) error {
			c.mu.Lock()
			c.runs = append(c.runs, time.Now().UTC().Format("01-02T15:04"))
			job := c.job
			c.mu.Unlock()
			if job == nil {
				return nil
			}
			return job(ctx)
		},
		Path: c.path,
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func(s *Scheduler) { done <- s.Run(ctx) }(c.running)
	c.stop = func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			c.t.Errorf("Run: %v", err)
		}
		c.stop = func() {}
	}
}

// ran checks the runs since the last call.
func (c *testScheduler) ran(want string) {
	c.t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := strings.Join(c.runs, " "); got != want {
		c.t.Errorf("runs %q, want %q", got, want)
	}
	c.runs = nil
}

const day = 24 * time.Hour

// play performs the steps of a script, which semicolons separate:
//
//	on, off            the scheduler starts or stops
//	sleep DURATION     time passes
//	ran TIME...        the runs since the last check
//	schedule SPEC      of the next start
//	state TEXT         of the file, or during: the one that the job has read
//	path PATH          of the file with the state
//	job KIND           of the runs: canceled, long, read (the state) or none
//	acquire, release   a request begins or ends
func (c *testScheduler) play(script string) {
	c.t.Helper()
	var during string
	for step := range strings.SplitSeq(script, "; ") {
		name, arg, _ := strings.Cut(step, " ")
		switch name {
		case "on":
			c.on()
		case "off":
			c.stop()
		case "ran":
			c.ran(arg)
		case "schedule":
			c.schedule = arg
		case "state":
			if arg == "during" {
				arg, c.runs = during, nil
			}
			if err := os.WriteFile(c.path, []byte(arg), 0o600); err != nil {
				c.t.Fatal(err)
			}
		case "path":
			c.path = arg
		case "acquire":
			if !c.semaphore.TryAcquire(1) {
				c.t.Error("a run does not end")
			}
		case "release":
			c.semaphore.Release(1)
		case "job":
			c.mu.Lock()
			c.job = map[string]func(context.Context) error{
				"canceled": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
				"long":     func(context.Context) error { time.Sleep(140 * time.Minute); return nil },
				"read": func(context.Context) error {
					data, err := os.ReadFile(c.path)
					during = string(data)
					return err
				},
			}[arg]
			c.mu.Unlock()
		default:
			d, err := time.ParseDuration(arg)
			if name != "sleep" || err != nil {
				c.t.Fatalf("step %q: %v", step, err)
			}
			time.Sleep(d)
		}
	}
}

func TestScheduler(t *testing.T) {
	for name, script := range map[string]string{
		"nothing was missed on the first start": "on; sleep 23h; ran 01-01T03:00",
		"one run for all that were missed": "on; sleep 1h; off; sleep 240h; on; ran 01-11T01:00; sleep 3h; ran 01-11T03:00; " +
			"off; on; ran",
		"another schedule misses nothing": "on; sleep 24h; ran 01-01T03:00; off; sleep 24h; schedule 0 9 * * *; on; sleep 24h; ran 01-03T09:00",
		"a canceled run was missed":       "job canceled; on; sleep 24h; ran 01-01T03:00; off; job none; on; ran 01-02T00:00",
		"a run that ended the process":    "job read; on; sleep 24h; off; state during; on; ran",
		"a damaged state":                 "state {; on; sleep 48h; ran 01-01T03:00 01-02T03:00",
		"a state that cannot be read":     "path /dev/null/compactor.json; on; sleep 48h; ran 01-01T03:00 01-02T03:00",
		"the format before": `state {"schedule":"0 3 * * *","until":"1999-12-30T12:00:00Z","meant":"1999-12-30T03:00:00Z"}; ` +
			"on; ran 01-01T00:00",
		"a scheduled run waits for one on request, and times during a run are skipped": "schedule 0 * * * *; on; acquire; sleep 90m; ran; " +
			"job long; release; ran 01-01T01:30; sleep 200m; ran 01-01T04:00",
	} {
		t.Run(name, func(t *testing.T) {
			schedulerTest(t, func(c *testScheduler) {
				c.play(script)
				c.stop()
				if logged := strings.Contains(c.log.String(), "cannot read the time of the last compactor run"); name == "a damaged state" && !logged {
					c.t.Errorf("log: %s", c.log.String())
				}
			})
		})
	}
}

func TestPanickingRun(t *testing.T) {
	schedulerTest(t, func(c *testScheduler) {
		n := 0
		c.job = func(context.Context) error {
			n++
			switch n {
			case 1:
				var none []string
				return errors.New(none[n])
			case 2:
				return errors.New("disk full")
			}
			return nil
		}
		c.on()
		time.Sleep(day)
		c.ran("01-01T03:00")
		if s := c.running.Status(); !strings.Contains(s.Problem, "out of range") {
			t.Errorf("status is %+v", s)
		}
		time.Sleep(2 * day)
		c.ran("01-02T03:00 01-03T03:00")
		at := time.Date(2000, 1, 3, 3, 0, 0, 0, time.UTC)
		want := api.CompactorStatus{LastRun: at, NextRun: at.Add(day)}
		if diff := cmp.Diff(want, c.running.Status()); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
		c.stop()
		if log := c.log.String(); !strings.Contains(log, "scheduler_test.go") {
			t.Errorf("no stack in the log: %s", log)
		}
	})
}
