package compactor

import (
	"context"
	"sync"
)

// A Turn is a mutual exclusion lock whose acquisition can be cancelled. The
// zero value is unlocked; a Turn must not be copied.
type Turn struct {
	once  sync.Once
	taken chan struct{}
}

// Take acquires the Turn, or returns an error when the context ends. The
// returned function releases the Turn.
func (t *Turn) Take(ctx context.Context) (back func(), err error) {
	t.once.Do(func() { t.taken = make(chan struct{}, 1) })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
