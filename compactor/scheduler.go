package compactor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
	"golang.org/x/sync/semaphore"

	"github.com/memwatchd/memwatchd/api"
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

	Now    func() time.Time // the time to which missed runs are compared
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

// wakeInterval is the interval at which cron compares its times with the clock. Without
// it, cron sleeps until the next run, and its sleep lasts longer if the machine sleeps.
const wakeInterval = time.Minute

// Run runs the job at its scheduled times until the context ends, waits for a
// running job, and returns the error of the context. It logs the failures of
// jobs.
func (s *Scheduler) Run(ctx context.Context) error {
	s.loadState()
	c := cron.New(cron.WithChain(cron.SkipIfStillRunning(cron.DiscardLogger)))
	c.Schedule(s.Schedule, cron.FuncJob(func() { s.runJob(ctx) }))
	c.Schedule(cron.Every(wakeInterval), cron.FuncJob(func() {}))
	if s.missed(s.Now()) {
		s.runJob(ctx)
	}
	c.Start()
	<-ctx.Done()
	<-c.Stop().Done()
	return ctx.Err()
}

// loadState loads the persistent state. Times missed under another schedule do not
// count.
func (s *Scheduler) loadState() {
	var before scheduleState
	err := state.Load(s.Path, 0, &before)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Logger.Warn("cannot read the time of the last compactor run, missed runs are skipped", "err", err)
		before = scheduleState{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = before
	if before.Schedule != s.Schedule.String() || before.Until.IsZero() {
		s.state.Schedule, s.state.Until = s.Schedule.String(), s.Now()
		s.saveState()
	}
}

// missed reports whether a scheduled time has passed since the last run.
func (s *Scheduler) missed(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.Schedule.Next(s.state.Until)
	return !next.IsZero() && !next.After(now)
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
	if err != nil && ctx.Err() != nil {
		s.state = before // the run was cancelled, so the next start repeats it
		s.saveState()
		return
	}
	s.state.Until = s.Now() // the run covers the times that passed during it
	s.saveState()
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
			err = fmt.Errorf("panic: %v", r)
			s.Logger.Error("compactor run panicked", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
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
