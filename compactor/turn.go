package compactor

import (
	"context"
	"sync"
)

// A Turn lets one at a time do something. The zero value is free; it must not be
// copied.
type Turn struct {
	once  sync.Once
	taken chan struct{}
}

// Take waits until nobody else has the turn, or until the context ends. What it
// returns gives the turn back.
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
