package share

import (
	"errors"
	"math/rand/v2"
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

	mu        sync.Mutex
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

// Allows reports whether requests are permitted.
func (b *Breaker) Allows() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.open
}

// Due returns the time until a trial is permitted, 0 if requests are. It is
// negative if none ever is.
func (b *Breaker) Due(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.permanent:
		return -1
	case !b.open:
		return 0
	}
	return max(b.until.Sub(now), 0)
}

// Record records the result of a request.
func (b *Breaker) Record(now time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil || errors.Is(err, ErrNotFound) {
		b.failures, b.open, b.pause, b.permanent, b.lastOK, b.lastError = 0, false, 0, false, now, ""
		return
	}
	b.recordFailure(now, err)
}

// Trial records the result of a trial.
func (b *Breaker) Trial(now time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.open, b.lastOK, b.lastError = false, now, ""
		return
	}
	b.recordFailure(now, err)
}

// recordFailure records a failed request. The caller holds b.mu.
func (b *Breaker) recordFailure(now time.Time, err error) {
	b.lastError = err.Error()
	b.failures++
	e, known := errors.AsType[*Error](err)
	b.permanent = b.permanent || known && e.Permanent
	if b.failures < maxFailures && !b.permanent && (!known || e.RetryAfter == 0) {
		return
	}
	b.open = true
	b.pause = min(max(2*b.pause, minPause), maxPause)
	wait := time.Duration(float64(b.pause) * (0.8 + 0.4*rand.Float64()))
	if known {
		wait = max(wait, min(e.RetryAfter, time.Hour))
	}
	b.until = now.Add(wait)
	if b.Stopped != nil {
		b.Stopped()
	}
}

// Reset permits requests, because a user asks for one.
func (b *Breaker) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.open, b.pause, b.permanent = 0, false, 0, false
}

// status returns whether requests are permitted, the time of the last success, and
// the error of the last request.
func (b *Breaker) status() (open, permanent bool, lastOK time.Time, lastError string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open, b.permanent, b.lastOK, b.lastError
}
