package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// Status returns the model and the statistics of the client, without text of memory.
func (c *Client) Status() api.ModelStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.status
	s.Endpoint, s.Model = c.Endpoint, c.Model
	return s
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
	s.FailedAt = time.Now().UTC()
	s.Failure = err.Error()
	if errors.As(err, new(*RefusedError)) {
		s.Failure = "model response rejected: required text is missing or changed"
	}
}
