package compactor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// A Scheduler does a job at the times of a schedule, by the clock on the wall.
//
// A time that passed while the daemon was off, the machine slept or another run
// took its turn is made up for once; on the very first start there is nothing to
// make up for. A job that panics has failed, and the next one runs. A clock that
// is set back or forward leads to at most one run, and to none that has been
// already.
type Scheduler struct {
	Schedule *Schedule
	Location *time.Location // of the schedule; UTC if nil
	Job      func(context.Context) error

	// Turn is shared with whoever does the same job on request.
	Turn *Turn

	// Load and Save keep what must outlive the process: a few bytes. Load gives
	// an error that is [fs.ErrNotExist] on the very first start.
	Load func() ([]byte, error)
	Save func([]byte) error

	Now    func() time.Time // time.Now if nil
	Logger *slog.Logger

	mu       sync.Mutex
	passed   passed
	floor    time.Time // since when the clock has been far behind what had passed; zero if it is not
	running  bool
	runs     int
	failures int
	problem  string
}

// passed is what must outlive the process.
type passed struct {
	Schedule string    `json:"schedule"` // by which this was so
	Until    time.Time `json:"until"`    // nothing up to here is missing
	Meant    time.Time `json:"meant"`    // the time that was last run for
	Ran      time.Time `json:"ran"`      // when that was; zero for never
}

// SchedulerStatus says how the runs are going.
type SchedulerStatus struct {
	LastRun  time.Time // zero if there was none yet
	NextRun  time.Time
	Running  bool
	Runs     int    // since the start
	Failures int    // of those
	Problem  string // of the last run; empty if it went well
}

const (
	// lookAgain is how long a sleep is at most: clocks that are set, and machines
	// that sleep, are noticed by then.
	lookAgain = time.Minute
	// trusted is how far back the clock may be set and still be believed to come
	// to what has passed already. When it is set back by more, it was wrong
	// before, and waiting would take too long.
	trusted = 24 * time.Hour
)

// Run does the job whenever it is time, until the context ends. It returns when
// the job has.
func (s *Scheduler) Run(ctx context.Context) error {
	s.begin()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		now := s.now()
		next := s.next(now)
		if !next.IsZero() && !next.After(now) {
			s.run(ctx, next)
			continue
		}
		wait := lookAgain
		if !next.IsZero() {
			wait = min(wait, next.Sub(now))
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// now is the time on the wall: without what the clock of the machine's uptime
// says, which stands still while the machine sleeps.
func (s *Scheduler) now() time.Time {
	if s.Now != nil {
		return s.Now().Round(0)
	}
	return time.Now().Round(0)
}

// begin reads what has passed. What another schedule would have done is not
// missing.
func (s *Scheduler) begin() {
	var before passed
	data, err := s.Load()
	if err == nil {
		err = json.Unmarshal(data, &before)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Logger.Warn("when the compactor ran last cannot be read, no run is made up for", "err", err)
		before = passed{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passed = before
	if before.Schedule != s.Schedule.String() || before.Until.IsZero() {
		s.passed.Schedule, s.passed.Until = s.Schedule.String(), s.now()
		s.save()
	}
}

// next is the time for which to run next: what has passed already if a run is
// missing.
func (s *Scheduler) next(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nextLocked(now)
}

func (s *Scheduler) nextLocked(now time.Time) time.Time {
	since := s.passed.Until
	switch {
	case since.IsZero(): // it has not begun
		return time.Time{}
	case since.Sub(now) <= trusted:
		s.floor = time.Time{}
	case s.floor.IsZero() || s.floor.After(now):
		s.floor = now
		fallthrough
	default:
		since = s.floor
	}
	loc := cmp.Or(s.Location, time.UTC)
	next := s.Schedule.Next(since, loc)
	if next.Equal(s.passed.Meant) && !next.IsZero() {
		next = s.Schedule.Next(next, loc) // the clock was set back, and that has been
	}
	return next
}

// run does the job once, when it is its turn. That it was done is written down
// before: if it is what kills the process, it does not do so at every start.
func (s *Scheduler) run(ctx context.Context, meant time.Time) {
	back, err := s.Turn.Take(ctx)
	if err != nil {
		return
	}
	defer back()
	start := s.now()
	s.mu.Lock()
	before := s.passed
	s.passed.Meant, s.passed.Ran = meant, start
	s.passLocked(start)
	s.save()
	s.running = true
	s.mu.Unlock()

	err = s.guarded(ctx)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
	if err != nil && ctx.Err() != nil {
		s.passed = before // it was told to stop, and is made up for at the next start
		s.save()
		return
	}
	s.passLocked(s.now()) // what came due while it ran is done by it
	s.save()
	s.runs++
	s.problem = ""
	if err != nil {
		s.failures++
		s.problem = err.Error()
		s.Logger.Error("compactor run failed", "meant", meant, "err", err)
	}
}

// passLocked notes that nothing up to now is missing.
func (s *Scheduler) passLocked(now time.Time) {
	if now.After(s.passed.Until) || s.passed.Until.Sub(now) > trusted {
		s.passed.Until = now
	}
}

// guarded does the job. A panic is an error.
func (s *Scheduler) guarded(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
			s.Logger.Error("compactor run panicked", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	return s.Job(ctx)
}

// save writes down what has passed. If that fails, a run may be made up for that
// was not missing, which does no harm.
func (s *Scheduler) save() {
	data, err := json.Marshal(s.passed)
	if err == nil {
		err = s.Save(data)
	}
	if err != nil {
		s.Logger.Warn("when the compactor ran cannot be written down", "err", err)
	}
}

// Status says how the runs are going. It may be called at any time.
func (s *Scheduler) Status() SchedulerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return SchedulerStatus{
		LastRun: s.passed.Ran, NextRun: s.nextLocked(s.now()),
		Running: s.running, Runs: s.runs, Failures: s.failures, Problem: s.problem,
	}
}
