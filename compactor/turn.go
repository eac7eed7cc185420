package compactor

import (
	"context"
	"sync"
)

// A Semaphore is a mutual exclusion lock whose acquisition can be cancelled. The
// zero value is unlocked; a Semaphore must not be copied.
type Semaphore struct {
	once sync.Once
	slot chan struct{}
}

// Acquire waits until the Semaphore is free and acquires it. The returned
// function releases it and must be called once. If the context ends first,
// Acquire returns nil and the error of the context.
func (t *Semaphore) Acquire(ctx context.Context) (back func(), err error) {
	t.once.Do(func() { t.slot = make(chan struct{}, 1) })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case t.slot <- struct{}{}:
		return func() { <-t.slot }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
