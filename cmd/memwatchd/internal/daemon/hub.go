package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ops"
)

// maxBehind is how many events a listener may be behind before some are left
// out: nobody can make the daemon wait, or grow.
const maxBehind = 1024

// A hub tells those who listen what happens. The zero hub is ready; it is safe
// for concurrent use.
type hub struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
}

type listener struct {
	events chan ops.Change
	lost   bool // since the last event that got through
}

// publish tells everybody who listens, and waits for nobody.
func (h *hub) publish(c ops.Change) {
	c.Time = time.Now().UTC()
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		select {
		case l.events <- c:
		default:
			l.lost = true
		}
	}
}

// heard reports whether anybody listens.
func (h *hub) heard() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.listeners) > 0
}

// subscribe calls f with what happens from now on, until the context ends or f
// returns an error. The first event says that now is now: whatever is done
// after it has been seen is told.
func (h *hub) subscribe(ctx context.Context, f func(ops.Change) error) error {
	l := &listener{events: make(chan ops.Change, maxBehind)}
	h.mu.Lock()
	if h.listeners == nil {
		h.listeners = map[*listener]struct{}{}
	}
	h.listeners[l] = struct{}{}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.listeners, l)
		h.mu.Unlock()
	}()
	if err := f(ops.Change{Event: api.Event{Event: api.Listening, Time: time.Now().UTC()}}); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-l.events:
			if err := f(c); err != nil {
				return err
			}
			if h.caughtUp(l) {
				if err := f(ops.Change{Event: api.Event{
					Event: "lost", Time: time.Now().UTC(), Message: "some events were left out because they were not read in time",
				}}); err != nil {
					return err
				}
			}
		}
	}
}

// caughtUp reports, once, that a listener lost events and has read the others.
func (h *hub) caughtUp(l *listener) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !l.lost || len(l.events) > 0 {
		return false
	}
	l.lost = false
	return true
}
