package share

import (
	"errors"
	"sync"
	"time"
)

// A Breaker decides whether requests are sent to a store. After three failures in
// a row it stops them, for one second at first and up to five minutes. Only
// [Breaker.Due] permits a trial then, so that no search waits for it. A trial that
// succeeds permits requests, and the next failure stops them for longer than
// before, because a store that is ready may still fail them. The zero Breaker
// permits requests.
type Breaker struct {
	// Stopped is called when requests are no longer permitted; nil for nothing.
	Stopped func()

	mu sync.Mutex
	breakerState
}

type breakerState struct {
	failures  int
	open      bool          // requests are not permitted
	pause     time.Duration // the last one since a request succeeded, or zero
	until     time.Time
	permanent bool
	lastOK    time.Time
	lastError string
}

// Limits of a pause.
const (
	maxFailures = 3
	minPause    = time.Second
	maxPause    = 5 * time.Minute
)

// state returns a copy of the state.
func (b *Breaker) state() breakerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.breakerState
}

// Allows reports whether requests are permitted.
func (b *Breaker) Allows() bool { return !b.state().open }

// Due returns the time until a trial is permitted, 0 if requests are. It is
// negative if none ever is.
func (b *Breaker) Due(now time.Time) time.Duration {
	switch s := b.state(); {
	case s.permanent:
		return -1
	case !s.open:
		return 0
	default:
		return max(s.until.Sub(now), 0)
	}
}

// Record records the result of a request.
func (b *Breaker) Record(now time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil || errors.Is(err, ErrNotFound) {
		b.breakerState = breakerState{lastOK: now}
		return
	}
	b.lastError = err.Error()
	b.failures++
	e, known := errors.AsType[*Error](err)
	b.permanent = b.permanent || known && e.Permanent
	if b.failures < maxFailures && !b.permanent && (!known || e.RetryAfter == 0) {
		return
	}
	b.open = true
	b.pause = min(max(2*b.pause, minPause), maxPause)
	b.until = now.Add(b.pause)
	if known && e.RetryAfter > b.pause {
		b.until = now.Add(min(e.RetryAfter, time.Hour))
	}
	if b.Stopped != nil {
		b.Stopped()
	}
}

// Trial records the result of a trial.
func (b *Breaker) Trial(now time.Time, err error) {
	if err != nil {
		b.Record(now, err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open, b.lastOK, b.lastError = false, now, ""
}

// Reset permits requests, because a user asks for one.
func (b *Breaker) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.open, b.pause, b.permanent = 0, false, 0, false
}
