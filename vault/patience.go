package vault

import (
	"container/list"
	"errors"
	"sync"
	"time"
)

// stepTimeout bounds one step of disk access. A step may block forever if the
// server of a network file system is unreachable or a disk is failing, and
// cannot be cancelled.
const stepTimeout = 5 * time.Second

// errNoResponse reports a step longer than stepTimeout.
var errNoResponse = errors.New("the file system does not respond")

// steps lists the pending disk operations, the oldest first. While the oldest
// step exceeds stepTimeout, new steps fail at once; this bounds the number of
// blocked goroutines.
type steps struct {
	mu   sync.Mutex
	list list.List // of start times
}

type step = *list.Element

func (s *steps) begin() (step, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stuckLocked() {
		return nil, errNoResponse
	}
	return s.list.PushBack(time.Now()), nil
}

// beginAnyway begins another step of a running operation, even if other steps are
// stuck.
func (s *steps) beginAnyway() step {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list.PushBack(time.Now())
}

// next ends a step and begins another.
func (s *steps) next(e step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Value = time.Now()
	s.list.MoveToBack(e)
}

func (s *steps) end(e step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list.Remove(e)
}

func (s *steps) isStuck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stuckLocked()
}

func (s *steps) stuckLocked() bool {
	first := s.list.Front()
	return first != nil && time.Since(first.Value.(time.Time)) >= stepTimeout
}

// runWithTimeout calls do as one step and waits at most stepTimeout. If do takes
// longer, the error is an [ErrRoot], because the state of every file is
// unknown.
func runWithTimeout[T any](v *Vault, do func() (T, error)) (T, error) {
	var none, value T
	e, err := v.steps.begin()
	if err != nil {
		return none, rootError(v.Dir, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer v.steps.end(e)
		value, err = do()
	}()
	select {
	case <-done:
		return value, err
	case <-time.After(stepTimeout):
		return none, rootError(v.Dir, errNoResponse)
	}
}

// Errors of a faulty change. Only the change fails; the daemon continues.
var (
	errPanic         = errors.New("internal error, described in the log of the daemon; please report this bug")
	errInputModified = errors.New("internal error: the change modified its input; please report this bug")
)
