package ipc

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// guests is a semaphore for the work of all listeners with a fixed scope. They
// use at most half of the processors, so that the owner's requests do not wait.
type guests chan struct{}

func newGuests() guests { return make(guests, max(1, runtime.GOMAXPROCS(0)/2)) }

// guestWait bounds the time in which a request waits for the semaphore. A wait
// also slows down clients that repeat refused requests at once.
const guestWait = time.Second

// retryAfter is the value of the header Retry-After of a refused request, in seconds.
const retryAfter = "1"

var errGuestsBusy = api.Errorf(api.Unavailable, "too many requests of listeners with a fixed scope").
	WithHint("retry after a second")

// enter acquires the semaphore. It returns errGuestsBusy if that takes too long or if the
// connection ends, and errStopping if the daemon stops.
func (g guests) enter(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, guestWait)
	defer cancel()
	select {
	case g <- struct{}{}:
		return nil
	case <-soon.Done():
	}
	if e, ok := errors.AsType[*api.Error](context.Cause(ctx)); ok {
		return e
	}
	return errGuestsBusy
}

func (g guests) leave() { <-g }
