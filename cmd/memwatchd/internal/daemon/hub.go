package daemon

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/ops"
)

// maxQueuedEvents bounds the events queued for a subscriber. Further events are
// dropped, so that a slow subscriber can neither block the daemon nor make it
// grow.
const maxQueuedEvents = 1024

// A hub publishes changes to its subscribers. The zero hub is ready; it is safe
// for concurrent use.
type hub struct {
	mu          sync.Mutex
	subscribers map[*subscriber]struct{}
}

type subscriber struct {
	events  chan ops.Change
	dropped atomic.Bool // an event was dropped since the last "lost" event
}

// publish sends a change to every subscriber without waiting.
func (h *hub) publish(c ops.Change) {
	c.Time = time.Now().UTC()
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subscribers {
		select {
		case s.events <- c:
		default:
			s.dropped.Store(true)
		}
	}
}

// subscribe calls f with each change from now on, until the context ends or f
// returns an error. The first event marks the start: every change made after f
// has received it is delivered, or counted as lost.
func (h *hub) subscribe(ctx context.Context, f func(ops.Change) error) error {
	s := &subscriber{events: make(chan ops.Change, maxQueuedEvents)}
	h.mu.Lock()
	if h.subscribers == nil {
		h.subscribers = map[*subscriber]struct{}{}
	}
	h.subscribers[s] = struct{}{}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.subscribers, s)
		h.mu.Unlock()
	}()
	notify := func(event, message string) error {
		return f(ops.Change{Event: api.Event{Event: event, Time: time.Now().UTC(), Message: message}})
	}
	if err := notify(api.Listening, ""); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-s.events:
			if err := f(c); err != nil {
				return err
			}
			if len(s.events) == 0 && s.dropped.CompareAndSwap(true, false) {
				if err := notify("lost", "some events were dropped because the client read too slowly"); err != nil {
					return err
				}
			}
		}
	}
}
