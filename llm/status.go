package llm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Status contains the statistics of a client.
type Status struct {
	Asked    int       // requests since the start
	Failed   int       // requests without a usable answer
	Failure  string    // last failure, without text of memory
	FailedAt time.Time // time of the last failure; zero for never
}

// tally holds the statistics of a client.
type tally struct {
	mu     sync.Mutex
	status Status
}

// Status returns the statistics of the client.
func (c *Client) Status() Status {
	c.tally.mu.Lock()
	defer c.tally.mu.Unlock()
	return c.tally.status
}

// A RefusedError is the rejection of an answer by the check of the caller. Its
// text may repeat words of the question.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the model's answer is not used: %v", e.Err)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// count records the result of a request. A canceled request is not a failure.
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
	s.Failure = err.Error()
	if errors.As(err, new(*RefusedError)) {
		s.Failure = "the model's answer did not hold what it was asked to keep, and was not used"
	}
}
