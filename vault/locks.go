package vault

import (
	"context"
	"sync"
)

// locks holds a lock for each key in use. Waiters for a key are served in the
// order of their calls. The zero value is ready for use.
type locks struct {
	mu   sync.Mutex
	keys map[string]*keyLock
}

type keyLock struct {
	held  chan struct{}
	users int // that hold the lock or wait for it
}

// acquire waits for the lock of a key and returns the function that releases
// it.
func (l *locks) acquire(ctx context.Context, key string) (release func(), err error) {
	l.mu.Lock()
	k := l.keys[key]
	if k == nil {
		if l.keys == nil {
			l.keys = make(map[string]*keyLock)
		}
		k = &keyLock{held: make(chan struct{}, 1)}
		l.keys[key] = k
	}
	k.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		k.users--
		if k.users == 0 {
			delete(l.keys, key)
		}
	}
	select {
	case k.held <- struct{}{}:
		return func() { <-k.held; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

type callerKey struct{}

// A caller requests changes on a listener, for a program in one of its sessions.
type caller struct{ listener, program, session string }

// WithCaller returns a context for the changes of a caller. A [Writer] makes the changes of
// one listener one after the other, so that no caller delays those of others with many
// large changes. The journal records the program and the session.
func WithCaller(ctx context.Context, listener, program, session string) context.Context {
	return context.WithValue(ctx, callerKey{}, caller{listener, program, session})
}

// callerOf returns the caller of a context; zero for the daemon itself.
func callerOf(ctx context.Context) caller {
	by, _ := ctx.Value(callerKey{}).(caller)
	return by
}

// lockCaller waits until no other change of the same listener is in progress.
func (w *Writer) lockCaller(ctx context.Context) (release func(), err error) {
	by := callerOf(ctx)
	if by.listener == "" {
		return func() {}, nil
	}
	return w.locks.acquire(ctx, "caller "+by.listener)
}
