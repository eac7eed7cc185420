package compactor

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/panics"
	"github.com/memwatchd/memwatchd/internal/state"
)

// A Scheduler runs a job at the times of a schedule.
//
// If times pass while the daemon is off, the Scheduler runs the job once for all of them
// at its start. The first start has no missed times, nor has a start with another
// schedule. Times that pass during a run are skipped. A job that panics counts as
// failed, and later runs continue.
type Scheduler struct {
	Schedule *Schedule
	Job      func(context.Context) error

	// Semaphore, of weight 1, is shared with all other callers of the same job.
	Semaphore *semaphore.Weighted

	Path string // of the state file

	Now    func() time.Time
	Logger *slog.Logger

	mu      sync.Mutex
	state   scheduleState
	problem string
}

// scheduleState is the persistent state.
type scheduleState struct {
	Schedule string    `json:"schedule"` // schedule that the state belongs to
	Until    time.Time `json:"until"`    // no run is missing up to this time
	Ran      time.Time `json:"ran"`      // start of the last run; zero for never
}

// wakeInterval bounds the time between two comparisons with the clock, because a timer
// does not advance while the machine sleeps.
const wakeInterval = time.Minute

// Run runs the job whenever a scheduled time has passed since its last run, until the
// context ends, and returns the error of the context. It logs the failures of jobs.
func (s *Scheduler) Run(ctx context.Context) error {
	s.loadState()
	for ctx.Err() == nil {
		now := s.Now()
		s.mu.Lock()
		if s.state.Until.After(now) { // the clock was ahead
			s.state.Until = now
		}
		wait := s.Schedule.Next(s.state.Until).Sub(now)
		s.mu.Unlock()
		if wait <= 0 {
			s.runJob(ctx)
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(wait, wakeInterval)):
		}
	}
	return ctx.Err()
}

// loadState loads the persistent state. Times missed under another schedule do not
// count.
func (s *Scheduler) loadState() {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := state.Load(s.Path, 0, &s.state)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Logger.Warn("cannot read the time of the last compactor run, missed runs are skipped", "err", err)
		s.state = scheduleState{}
	}
	if s.state.Schedule != s.Schedule.String() || s.state.Until.IsZero() {
		s.state.Schedule, s.state.Until = s.Schedule.String(), s.Now()
		s.saveState()
	}
}

// runJob runs the job once it holds the semaphore. It saves the run beforehand, so that
// a job that kills the process does not do so at every start.
func (s *Scheduler) runJob(ctx context.Context) {
	if s.Semaphore.Acquire(ctx, 1) != nil {
		return
	}
	defer s.Semaphore.Release(1)
	start := s.Now()
	s.mu.Lock()
	before := s.state
	s.state.Ran, s.state.Until = start, start
	s.saveState()
	s.mu.Unlock()

	err := s.callJob(ctx)

	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.saveState()
	if err != nil && ctx.Err() != nil {
		s.state = before // the run was cancelled, so the next start repeats it
		return
	}
	s.state.Until = s.Now() // the run covers the times that passed during it
	s.problem = ""
	if err != nil {
		s.problem = err.Error()
		s.Logger.Error("compactor run failed", "err", err)
	}
}

// callJob runs the job and converts a panic to an error.
func (s *Scheduler) callJob(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New(panics.Describe(r))
			s.Logger.Error("compactor run panicked", "err", err, "stack", string(debug.Stack()))
		}
	}()
	return s.Job(ctx)
}

// saveState writes the persistent state. If that fails, a later start may repeat a
// run, which is harmless.
func (s *Scheduler) saveState() {
	if err := state.Save(s.Path, s.state); err != nil {
		s.Logger.Warn("cannot save the time of the compactor run", "err", err)
	}
}

// Status returns the times of the last and the next run, and the error of the last
// one. It may be called at any time.
func (s *Scheduler) Status() api.CompactorStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := api.CompactorStatus{LastRun: s.state.Ran, Problem: s.problem}
	if !s.state.Until.IsZero() {
		status.NextRun = s.Schedule.Next(s.Now())
	}
	return status
}
