package compactor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/semaphore"

	"github.com/memwatchd/memwatchd/api"
)

// A testScheduler is a scheduler with an adjustable wall clock and persistent
// state. It logs its runs with the wall clock time.
type testScheduler struct {
	t         *testing.T
	schedule  string
	loc       *time.Location
	wall      time.Duration // offset of the wall clock from fake time
	job       func(context.Context) error
	semaphore *semaphore.Weighted
	state     []byte
	broken    error // error of Load and Save
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

// atWall runs a test with a clockwork in fake time, starting at a wall clock
// time. The clockwork stops when the test ends.
func atWall(t *testing.T, zoneName, wall, schedule string, test func(c *testScheduler)) {
	t.Helper()
	loc := zone(t, zoneName)
	synctest.Test(t, func(t *testing.T) {
		c := &testScheduler{t: t, schedule: schedule, loc: loc, semaphore: semaphore.NewWeighted(1), stop: func() {}}
		c.set(wall)
		defer func() { c.stop() }()
		test(c)
	})
}

func (c *testScheduler) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.wall)
}

// set sets the wall clock.
func (c *testScheduler) set(wall string) {
	c.t.Helper()
	at, err := time.ParseInLocation("2006-01-02 15:04", wall, c.loc)
	if err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = time.Until(at)
}

// on starts the scheduler.
func (c *testScheduler) on() {
	c.t.Helper()
	schedule, err := ParseSchedule(c.schedule)
	if err != nil {
		c.t.Fatal(err)
	}
	c.running = &Scheduler{
		Schedule: schedule, Location: c.loc, Now: c.now, Semaphore: c.semaphore,
		Logger: slog.New(slog.NewTextHandler(&c.log, nil)),
		Job: func(ctx context.Context) error {
			c.mu.Lock()
			c.runs = append(c.runs, time.Now().Add(c.wall).In(c.loc).Format("01-02 15:04-07"))
			job := c.job
			c.mu.Unlock()
			if job != nil {
				return job(ctx)
			}
			return nil
		},
		Load: func() ([]byte, error) {
			if c.state == nil && c.broken == nil {
				return nil, fs.ErrNotExist
			}
			return c.state, c.broken
		},
		Save: func(data []byte) error {
			if c.broken == nil {
				c.state = data
			}
			return c.broken
		},
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

func TestClockChanges(t *testing.T) {
	for _, test := range []struct {
		schedule, from string
		for_           time.Duration
		want           []string
	}{
		{"30 2 * * *", "2026-03-27 12:00", 4 * day, []string{"03-28 02:30+01", "03-29 03:00+02", "03-30 02:30+02", "03-31 02:30+02"}},
		{"30 2 * * *", "2026-10-23 12:00", 4 * day, []string{"10-24 02:30+02", "10-25 02:30+02", "10-26 02:30+01", "10-27 02:30+01"}},
		{"0 * * * *", "2026-03-29 00:30", 3 * time.Hour, []string{"03-29 01:00+01", "03-29 03:00+02", "03-29 04:00+02"}},
		{"0 * * * *", "2026-10-25 01:30", 3 * time.Hour, []string{"10-25 02:00+02", "10-25 02:00+01", "10-25 03:00+01"}},
	} {
		atWall(t, "Europe/Berlin", test.from, test.schedule, func(c *testScheduler) {
			c.on()
			time.Sleep(test.for_)
			c.ran(test.want...)
		})
	}
}

func TestMissedRuns(t *testing.T) {
	t.Run("never on the first start", func(t *testing.T) {
		atWall(t, "Europe/Berlin", "2026-02-04 12:00", "0 3 * * *", func(c *testScheduler) {
			c.on()
			time.Sleep(day - time.Hour)
			c.ran("02-05 03:00+01")
		})
	})
	t.Run("made up for once", func(t *testing.T) {
		atWall(t, "Europe/Berlin", "2026-02-04 12:00", "0 3 * * *", func(c *testScheduler) {
			c.on()
			time.Sleep(time.Hour)
			c.stop()
			time.Sleep(10 * day)
			c.on()
			c.ran("02-14 13:00+01")
			time.Sleep(day)
			c.ran("02-15 03:00+01")
			c.stop()
			c.on()
			c.ran()
		})
	})
	t.Run("while the machine slept", func(t *testing.T) {
		atWall(t, "Europe/Berlin", "2026-02-04 22:00", "0 3 * * *", func(c *testScheduler) {
			c.on()
			time.Sleep(10 * time.Second)
			c.set("2026-02-05 07:30") // the monotonic clock stood still
			time.Sleep(time.Minute)
			c.ran("02-05 07:30+01")
			time.Sleep(day)
			c.ran("02-06 03:00+01")
		})
	})
	t.Run("not by another schedule", func(t *testing.T) {
		atWall(t, "Europe/Berlin", "2026-02-04 12:00", "0 3 * * *", func(c *testScheduler) {
			c.on()
			time.Sleep(day)
			c.ran("02-05 03:00+01")
			c.stop()
			c.schedule = "0 9 * * *"
			c.on()
			time.Sleep(day)
			c.ran("02-06 09:00+01")
		})
	})
	t.Run("when it was told to stop", func(t *testing.T) {
		atWall(t, "Europe/Berlin", "2026-02-04 12:00", "0 3 * * *", func(c *testScheduler) {
			c.job = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
			c.on()
			time.Sleep(day)
			c.ran("02-05 03:00+01")
			c.stop()
			c.job = nil
			c.on()
			c.ran("02-05 12:00+01")
		})
	})
	t.Run("not when it killed us", func(t *testing.T) {
		atWall(t, "Europe/Berlin", "2026-02-04 12:00", "0 3 * * *", func(c *testScheduler) {
			var state []byte
			c.job = func(context.Context) error { state = bytes.Clone(c.state); return nil }
			c.on()
			time.Sleep(day)
			c.stop()
			c.state, c.runs = state, nil // the state saved during the run
			c.on()
			c.ran()
		})
	})
	t.Run("with a state that cannot be read", func(t *testing.T) {
		for name, spoil := range map[string]func(c *testScheduler){
			"damaged": func(c *testScheduler) { c.state = []byte("{") },
			"EIO":     func(c *testScheduler) { c.broken = errors.New("input/output error") },
		} {
			t.Run(name, func(t *testing.T) {
				atWall(t, "Europe/Berlin", "2026-02-04 12:00", "0 3 * * *", func(c *testScheduler) {
					spoil(c)
					c.on()
					time.Sleep(2 * day)
					c.ran("02-05 03:00+01", "02-06 03:00+01")
					if !strings.Contains(c.log.String(), "cannot read the time of the last compactor run") {
						t.Errorf("nobody is told: %s", c.log.String())
					}
				})
			})
		}
	})
}

func TestClockIsSet(t *testing.T) {
	for _, test := range []struct {
		name, schedule string
		then           func(c *testScheduler)
	}{
		{"back by an hour after a run", "0 3 * * *", func(c *testScheduler) {
			c.set("2026-02-05 03:05")
			time.Sleep(time.Minute)
			c.ran("02-05 03:05+01")
			c.set("2026-02-05 02:06")
			time.Sleep(day)
			c.ran()
			time.Sleep(day)
			c.ran("02-06 03:00+01")
		}},
		{"back by three hours, each hour", "0 * * * *", func(c *testScheduler) {
			c.set("2026-02-05 03:05")
			time.Sleep(time.Minute)
			c.ran("02-05 03:05+01")
			c.set("2026-02-05 00:06")
			time.Sleep(4 * time.Hour)
			c.ran("02-05 04:00+01")
		}},
		{"forward by a year, and back", "0 3 * * *", func(c *testScheduler) {
			c.set("2027-02-05 12:00")
			time.Sleep(time.Hour)
			c.ran("02-05 12:00+01")
			c.set("2026-02-05 02:00")
			time.Sleep(2 * day)
			c.ran("02-06 03:00+01") // the missed run of the 5th has been made up for already
		}},
		{"back by a year, and forward", "0 3 * * *", func(c *testScheduler) {
			c.set("2025-02-05 02:00")
			time.Sleep(90 * time.Minute)
			c.ran("02-05 03:00+01")
			c.set("2026-02-05 02:00")
			time.Sleep(90 * time.Minute)
			c.ran("02-05 02:01+01", "02-05 03:00+01") // a year of runs appears to be missing
		}},
		{"not yet known when the machine starts", "0 3 * * *", func(c *testScheduler) {
			c.stop()
			c.set("1970-01-01 00:00")
			c.on()
			time.Sleep(time.Minute)
			c.set("2026-02-04 22:10")
			time.Sleep(4 * time.Hour)
			c.ran()
			time.Sleep(2 * time.Hour)
			c.ran("02-05 03:00+01")
		}},
		{"back by days, each week", "0 3 * * thu", func(c *testScheduler) {
			c.set("2026-02-05 03:05")
			time.Sleep(time.Minute)
			c.ran("02-05 03:05+01")
			c.set("2026-02-02 12:00")
			time.Sleep(7 * day)
			c.ran()
			time.Sleep(7 * day)
			c.ran("02-12 03:00+01")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			atWall(t, "Europe/Berlin", "2026-02-04 22:00", test.schedule, func(c *testScheduler) {
				c.on()
				time.Sleep(10 * time.Second)
				c.ran()
				test.then(c)
			})
		})
	}
}

func TestPanickingRun(t *testing.T) {
	atWall(t, "UTC", "2026-02-04 12:00", "0 3 * * *", func(c *testScheduler) {
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
		c.ran("02-05 03:00+00")
		if s := c.running.Status(); !strings.Contains(s.Problem, "out of range") {
			t.Errorf("status is %+v", s)
		}
		if log := c.log.String(); !strings.Contains(log, "scheduler_test.go") {
			t.Errorf("no stack in the log: %s", log)
		}
		time.Sleep(2 * day)
		c.ran("02-06 03:00+00", "02-07 03:00+00")
		want := api.CompactorStatus{LastRun: c.at("2026-02-07 03:00"), NextRun: c.at("2026-02-08 03:00")}
		if diff := cmp.Diff(want, c.running.Status()); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	})
}

func (c *testScheduler) at(wall string) time.Time {
	at, err := time.ParseInLocation("2006-01-02 15:04", wall, c.loc)
	if err != nil {
		c.t.Fatal(err)
	}
	return at
}

func TestNeverTwoAtATime(t *testing.T) {
	atWall(t, "UTC", "2026-02-04 02:00", "0 3 * * *", func(c *testScheduler) {
		c.on()
		if err := c.semaphore.Acquire(c.t.Context(), 1); err != nil { // a request
			t.Fatal(err)
		}
		time.Sleep(90 * time.Minute)
		c.ran()
		c.semaphore.Release(1)
		c.ran("02-04 03:30+00")

		c.mu.Lock()
		c.job = func(context.Context) error { time.Sleep(3 * time.Hour); return nil }
		c.mu.Unlock()
		time.Sleep(day)
		if err := c.semaphore.Acquire(c.t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		request := c.now().Format("01-02 15:04")
		c.semaphore.Release(1)
		if request != "02-05 06:00" {
			t.Errorf("the request ran at %s", request)
		}
		ctx, cancel := context.WithCancel(c.t.Context())
		cancel()
		if err := c.semaphore.Acquire(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("Take: %v", err)
		}
		c.ran("02-05 03:00+00")
	})
}

// TestLongRun checks that a run also covers the times that pass during it.
func TestLongRun(t *testing.T) {
	atWall(t, "UTC", "2026-02-04 02:30", "0 * * * *", func(c *testScheduler) {
		c.job = func(context.Context) error { time.Sleep(150 * time.Minute); return nil }
		c.on()
		time.Sleep(6 * time.Hour)
		c.ran("02-04 03:00+00", "02-04 06:00+00")
	})
}

// TestStatusBeforeAndWhileItRuns checks that Status has no side effects.
func TestStatusBeforeAndWhileItRuns(t *testing.T) {
	atWall(t, "UTC", "2026-02-04 02:30", "0 3 * * *", func(c *testScheduler) {
		if diff := cmp.Diff(api.CompactorStatus{}, (&Scheduler{Now: time.Now}).Status()); diff != "" {
			t.Errorf("before it begins (-want +got):\n%s", diff)
		}
		c.job = func(context.Context) error {
			if s := c.running.Status(); s.LastRun.IsZero() || s.Problem != "" {
				return fmt.Errorf("status is %+v", s)
			}
			return nil
		}
		c.on()
		time.Sleep(time.Hour)
		if s := c.running.Status(); s.LastRun.IsZero() || s.Problem != "" {
			t.Errorf("status is %+v", s)
		}
	})
}
