package compactor

import (
	"bytes"
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
	log       lines

	mu   sync.Mutex
	runs []string

	running *Scheduler
	stop    func()
}

// lines is a log that can be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// schedulerTest runs a test with a scheduler in fake time, which starts at midnight of
// January 1, 2000. The scheduler stops when the test ends.
func schedulerTest(t *testing.T, schedule string, test func(c *testScheduler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &testScheduler{t: t, schedule: schedule, path: filepath.Join(t.TempDir(), "compactor.json"),
			semaphore: semaphore.NewWeighted(1), stop: func() {}}
		defer func() { c.stop() }()
		test(c)
	})
}

// save replaces the state file.
func (c *testScheduler) save(text string) {
	c.t.Helper()
	if err := os.WriteFile(c.path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
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
			c.runs = append(c.runs, time.Now().UTC().Format("01-02 15:04"))
			job := c.job
			c.mu.Unlock()
			if job != nil {
				return job(ctx)
			}
			return nil
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
func (c *testScheduler) ran(want ...string) {
	c.t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if diff := cmp.Diff(want, c.runs); diff != "" {
		c.t.Errorf("runs (-want +got):\n%s", diff)
	}
	c.runs = nil
}

const day = 24 * time.Hour

func TestMissedRuns(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(c *testScheduler)
	}{
		{"never on the first start", func(c *testScheduler) {
			c.on()
			time.Sleep(day - time.Hour)
			c.ran("01-01 03:00")
		}},
		{"once, for all that were missed", func(c *testScheduler) {
			c.on()
			time.Sleep(time.Hour)
			c.stop()
			time.Sleep(10 * day)
			c.on()
			c.ran("01-11 01:00")
			time.Sleep(3 * time.Hour)
			c.ran("01-11 03:00")
			c.stop()
			c.on()
			c.ran()
		}},
		{"not by another schedule", func(c *testScheduler) {
			c.on()
			time.Sleep(day)
			c.ran("01-01 03:00")
			c.stop()
			time.Sleep(day)
			c.schedule = "0 9 * * *"
			c.on()
			time.Sleep(day)
			c.ran("01-03 09:00")
		}},
		{"if the run was canceled", func(c *testScheduler) {
			c.job = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
			c.on()
			time.Sleep(day)
			c.ran("01-01 03:00")
			c.stop()
			c.job = nil
			c.on()
			c.ran("01-02 00:00")
		}},
		{"not if the run ended the process", func(c *testScheduler) {
			var during []byte
			c.job = func(context.Context) (err error) { during, err = os.ReadFile(c.path); return err }
			c.on()
			time.Sleep(day)
			c.stop()
			c.save(string(during))
			c.runs = nil
			c.on()
			c.ran()
		}},
		{"not with a damaged state", func(c *testScheduler) {
			c.save("{")
			c.on()
			time.Sleep(2 * day)
			c.ran("01-01 03:00", "01-02 03:00")
			if !strings.Contains(c.log.String(), "cannot read the time of the last compactor run") {
				c.t.Errorf("log: %s", c.log.String())
			}
		}},
		{"not with a state that cannot be read or written", func(c *testScheduler) {
			c.path = "/dev/null/compactor.json"
			c.on()
			time.Sleep(2 * day)
			c.ran("01-01 03:00", "01-02 03:00")
		}},
		{"of the format before", func(c *testScheduler) {
			c.save(`{"schedule":"0 3 * * *","until":"1999-12-30T12:00:00Z","meant":"1999-12-30T03:00:00Z"}`)
			c.on()
			c.ran("01-01 00:00")
		}},
	} {
		t.Run(test.name, func(t *testing.T) { schedulerTest(t, "0 3 * * *", test.run) })
	}
}

func TestPanickingRun(t *testing.T) {
	schedulerTest(t, "0 3 * * *", func(c *testScheduler) {
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
		c.ran("01-01 03:00")
		if s := c.running.Status(); !strings.Contains(s.Problem, "out of range") {
			t.Errorf("status is %+v", s)
		}
		if log := c.log.String(); !strings.Contains(log, "scheduler_test.go") {
			t.Errorf("no stack in the log: %s", log)
		}
		time.Sleep(2 * day)
		c.ran("01-02 03:00", "01-03 03:00")
		at := time.Date(2000, 1, 3, 3, 0, 0, 0, time.UTC)
		want := api.CompactorStatus{LastRun: at, NextRun: at.Add(day)}
		if diff := cmp.Diff(want, c.running.Status()); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	})
}

// TestRequestedRun checks that a scheduled run waits for one on request, and that times
// which pass during a run are skipped.
func TestRequestedRun(t *testing.T) {
	schedulerTest(t, "0 * * * *", func(c *testScheduler) {
		c.on()
		if err := c.semaphore.Acquire(c.t.Context(), 1); err != nil { // a request
			t.Fatal(err)
		}
		time.Sleep(90 * time.Minute)
		c.ran()
		c.mu.Lock()
		c.job = func(context.Context) error { time.Sleep(140 * time.Minute); return nil }
		c.mu.Unlock()
		c.semaphore.Release(1)
		c.ran("01-01 01:30")
		time.Sleep(200 * time.Minute)
		c.ran("01-01 04:00")
	})
}
