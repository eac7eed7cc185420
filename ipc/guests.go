package ipc

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/memwatchd/memwatchd/api"
)

// newGuests returns a semaphore for the work of all listeners with a fixed scope. They
// use at most half of the processors, so that the owner's requests do not wait.
func newGuests() *semaphore.Weighted {
	return semaphore.NewWeighted(max(1, int64(runtime.GOMAXPROCS(0))/2))
}

// guestWait bounds the time in which a request waits for the semaphore. A wait
// also slows down clients that repeat refused requests at once.
const guestWait = 2 * time.Second

// retryAfter is the value of the header Retry-After of a refused request, in seconds.
const retryAfter = "1"

var errGuestsBusy = api.Errorf(api.Unavailable, "too many requests of listeners with a fixed scope").
	WithHint("retry after a second")

// A place is what one request holds of the semaphore.
type place struct {
	guests *semaphore.Weighted

	mu   sync.Mutex
	held bool
	over bool // the request was answered
}

// enter acquires the semaphore. It returns errGuestsBusy if that takes too long or if the
// connection ends, and errStopping if the daemon stops.
func (p *place) enter(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, guestWait)
	defer cancel()
	if p.acquire(soon) {
		return nil
	}
	if e, ok := errors.AsType[*api.Error](context.Cause(ctx)); ok {
		return e
	}
	return errGuestsBusy
}

// acquire waits for the semaphore until the context ends, and reports whether it holds
// the semaphore or the request is over.
func (p *place) acquire(ctx context.Context) bool {
	if p.guests.Acquire(ctx, 1) != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = !p.over
	if p.over {
		p.guests.Release(1)
	}
	return true
}

// release releases the semaphore, for the rest of the request if over is set. It reports
// whether the request held the semaphore.
func (p *place) release(over bool) (held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held = p.held
	if held {
		p.guests.Release(1)
	}
	p.held, p.over = false, p.over || over
	return held
}

// withPause returns a context in which a request that waits releases the semaphore. It
// acquires the semaphore again before it goes on, or when the context has ended.
func (p *place) withPause(ctx context.Context) context.Context {
	return api.WithPause(ctx, func() func() {
		if !p.release(false) {
			return func() {}
		}
		return func() { p.acquire(ctx) }
	})
}
