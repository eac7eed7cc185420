package llm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Status is how asking goes.
type Status struct {
	Asked    int       // questions since the start
	Failed   int       // those without an answer that could be used
	Failure  string    // the last of these, without memory's text
	FailedAt time.Time // when that was; zero for never
}

// tally counts.
type tally struct {
	mu     sync.Mutex
	status Status
}

// Status is how asking goes.
func (c *Client) Status() Status {
	c.tally.mu.Lock()
	defer c.tally.mu.Unlock()
	return c.tally.status
}

// A RefusedError is an answer that was checked by whoever asked, and not used.
// It may repeat words of the question.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the model's answer is not used: %v", e.Err)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// count notes how a question went. One whose asker has gone did not fail.
func (c *Client) count(err error) {
	c.tally.mu.Lock()
	defer c.tally.mu.Unlock()
	s := &c.tally.status
	s.Asked++
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	s.Failed++
	s.FailedAt = time.Now()
	if s.Failure = err.Error(); errors.As(err, new(*RefusedError)) {
		s.Failure = "the model's answer did not hold what it was asked to keep, and was not used"
	}
}
