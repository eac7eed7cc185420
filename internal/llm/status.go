package llm

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Status contains the statistics of a client.
type Status struct {
	Requests int       // requests since the start
	Failed   int       // requests without a usable answer
	Failure  string    // last failure, without text of memory
	FailedAt time.Time // time of the last failure; zero for never
}

// Status returns the statistics of the client.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// A RefusedError is the rejection of an answer by the check of the caller. Its
// text may repeat words of the question.
type RefusedError struct{ Err error }

// refused returns a RefusedError if the check of an answer returned an error.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return &RefusedError{err}
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("model response rejected: %v", e.Err)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// recordResult records the result of a request. A canceled request is not a failure.
func (c *Client) recordResult(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.status
	s.Requests++
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	s.Failed++
	s.FailedAt = time.Now()
	s.Failure = err.Error()
	if errors.As(err, new(*RefusedError)) {
		s.Failure = "model response rejected: required text is missing or changed"
	}
}
