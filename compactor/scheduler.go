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

	"golang.org/x/sync/semaphore"

	"github.com/memwatchd/memwatchd/api"
)

// A Scheduler runs a job at the times of a schedule, in wall clock time.
//
// If times pass while the daemon is off, the machine sleeps or another run
// holds the semaphore, the Scheduler runs the job once for all of them. The first
// start has no missed times. A job that panics counts as failed, and later runs
// continue. A change of the clock causes at most one run and repeats none.
type Scheduler struct {
	Schedule *Schedule
	Location *time.Location // time zone of the schedule; UTC if nil
	Job      func(context.Context) error

	// Semaphore, of weight 1, is shared with all other callers of the same job.
	Semaphore *semaphore.Weighted

	// Load and Save read and write the persistent state, a few bytes. Load
	// returns an error matching [fs.ErrNotExist] on the first start.
	Load func() ([]byte, error)
	Save func([]byte) error

	Now    func() time.Time
	Logger *slog.Logger

	mu          sync.Mutex
	state       scheduleState
	behindSince time.Time // since when the clock has been far behind Until; zero if it is not
	problem     string
}

// scheduleState is the persistent state.
type scheduleState struct {
	Schedule  string    `json:"schedule"` // schedule that the state belongs to
	Until     time.Time `json:"until"`    // no run is missing up to this time
	Scheduled time.Time `json:"meant"`    // scheduled time of the last run
	Ran       time.Time `json:"ran"`      // start of the last run; zero for never
}

const (
	// maxSleep is the longest sleep, after which clock changes and sleeps of
	// the machine are noticed.
	maxSleep = time.Minute
	// maxClockStep is the longest backward change of the clock after which the
	// Scheduler waits until the clock reaches Until again. After a longer
	// change the earlier clock was wrong, and the wait would be too long.
	maxClockStep = 24 * time.Hour
)

// Run runs the job at its scheduled times until the context ends, waits for a
// running job, and returns the error of the context. It logs the failures of
// jobs.
func (s *Scheduler) Run(ctx context.Context) error {
	s.loadState()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		now := s.now()
		next := s.nextRun(now)
		if !next.IsZero() && !next.After(now) {
			s.runJob(ctx, next)
			continue
		}
		wait := maxSleep
		if !next.IsZero() {
			wait = min(wait, next.Sub(now))
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// now returns the wall clock time without the monotonic clock, which stops
// while the machine sleeps.
func (s *Scheduler) now() time.Time { return s.Now().Round(0) }

// loadState loads the persistent state. Times missed under another schedule do not
// count.
func (s *Scheduler) loadState() {
	var before scheduleState
	data, err := s.Load()
	if err == nil {
		err = json.Unmarshal(data, &before)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Logger.Warn("cannot read the time of the last compactor run, missed runs are skipped", "err", err)
		before = scheduleState{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = before
	if before.Schedule != s.Schedule.String() || before.Until.IsZero() {
		s.state.Schedule, s.state.Until = s.Schedule.String(), s.now()
		s.saveState()
	}
}

// nextRun returns the time of the next run, which lies in the past if a run is
// missing.
func (s *Scheduler) nextRun(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nextLocked(now)
}

func (s *Scheduler) nextLocked(now time.Time) time.Time {
	since := s.state.Until
	switch {
	case since.IsZero(): // begin has not run
		return time.Time{}
	case since.Sub(now) <= maxClockStep:
		s.behindSince = time.Time{}
	case s.behindSince.IsZero() || s.behindSince.After(now):
		s.behindSince = now
		fallthrough
	default:
		since = s.behindSince
	}
	loc := cmp.Or(s.Location, time.UTC)
	next := s.Schedule.Next(since, loc)
	if next.Equal(s.state.Scheduled) && !next.IsZero() {
		next = s.Schedule.Next(next, loc) // the clock was set back and this time has run
	}
	return next
}

// runJob runs the job once it holds the semaphore. It saves the run beforehand, so that
// a job that kills the process does not do so at every start.
func (s *Scheduler) runJob(ctx context.Context, meant time.Time) {
	if s.Semaphore.Acquire(ctx, 1) != nil {
		return
	}
	defer s.Semaphore.Release(1)
	start := s.now()
	s.mu.Lock()
	before := s.state
	s.state.Scheduled, s.state.Ran = meant, start
	s.advanceLocked(start)
	s.saveState()
	s.mu.Unlock()

	err := s.callJob(ctx)

	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && ctx.Err() != nil {
		s.state = before // the run was cancelled, so the next start repeats it
		s.saveState()
		return
	}
	s.advanceLocked(s.now()) // the run covers the times that passed during it
	s.saveState()
	s.problem = ""
	if err != nil {
		s.problem = err.Error()
		s.Logger.Error("compactor run failed", "meant", meant, "err", err)
	}
}

// advanceLocked records that no run is missing up to now.
func (s *Scheduler) advanceLocked(now time.Time) {
	if now.After(s.state.Until) || s.state.Until.Sub(now) > maxClockStep {
		s.state.Until = now
	}
}

// callJob runs the job and converts a panic to an error.
func (s *Scheduler) callJob(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
			s.Logger.Error("compactor run panicked", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	return s.Job(ctx)
}

// saveState writes the persistent state. If that fails, a later start may repeat a
// run, which is harmless.
func (s *Scheduler) saveState() {
	data, err := json.Marshal(s.state)
	if err == nil {
		err = s.Save(data)
	}
	if err != nil {
		s.Logger.Warn("cannot save the time of the compactor run", "err", err)
	}
}

// Status returns the times of the last and the next run, and the error of the last
// one. It may be called at any time.
func (s *Scheduler) Status() api.CompactorStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return api.CompactorStatus{LastRun: s.state.Ran, NextRun: s.nextLocked(s.now()), Problem: s.problem}
}
