package watcher

import (
	"context"
	"syscall"
	"testing"
	"time"
)

// TestErrorsAreReadWhileEventsWait checks that the errors of a notifier are read
// although no event is: the notifier holds its lock while it sends an error, and
// the walk that handles an event may wait for that lock.
func TestErrorsAreReadWhileEventsWait(t *testing.T) {
	w := &Watcher{}
	w.watches.failures = make(chan (<-chan error), 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go w.readErrors(ctx)
	for range 2 { // the first notifier and one opened later
		failures := make(chan error)
		w.watches.failures <- failures
		select {
		case failures <- syscall.EINVAL:
		case <-time.After(time.Minute):
			t.Fatal("an error is not read")
		}
	}
}
