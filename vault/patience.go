package vault

import (
	"container/list"
	"context"
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

func (s *steps) begin() step {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list.PushBack(time.Now())
}

func (s *steps) end(e step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list.Remove(e)
}

func (s *steps) isStuck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.list.Front()
	return first != nil && time.Since(first.Value.(time.Time)) >= stepTimeout
}

// runStep calls do as one step.
func (v *Vault) runStep(do func() error) error {
	e := v.steps.begin()
	defer v.steps.end(e)
	return do()
}

// withTimeout calls do, which consists of steps. If the disk does not respond, the
// error is an [ErrRoot], because the state of every file is unknown; the context
// of do then ends, and do ends when it can.
func withTimeout[T any](ctx context.Context, v *Vault, do func(ctx context.Context) (T, error)) (T, error) {
	var none, result T
	if v.steps.isStuck() {
		return none, rootError(v.Dir, errNoResponse)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		result, err = do(ctx)
	}()
	tick := time.NewTicker(stepTimeout / 5)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return result, err
		case <-tick.C:
			if v.steps.isStuck() {
				return none, rootError(v.Dir, errNoResponse)
			}
		}
	}
}

// runWithTimeout calls do as one step, see [withTimeout].
func runWithTimeout[T any](v *Vault, do func() (T, error)) (T, error) {
	return withTimeout(context.Background(), v, func(context.Context) (result T, err error) {
		err = v.runStep(func() error { result, err = do(); return err })
		return result, err
	})
}
