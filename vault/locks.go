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

// WithCaller returns a context for changes that a caller, such as a listener,
// requests. A [Writer] makes the changes of one caller one after the other, so
// that no caller delays those of others with many large changes.
func WithCaller(ctx context.Context, caller string) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// lockCaller waits until no other change of the same caller is in progress.
func (w *Writer) lockCaller(ctx context.Context) (release func(), err error) {
	caller, ok := ctx.Value(callerKey{}).(string)
	if !ok {
		return func() {}, nil
	}
	return w.locks.acquire(ctx, "caller "+caller)
}

type programKey struct{}

// A program identifies the program that requests a change.
type program struct{ name, session string }

// WithProgram returns a context for changes that a program requests in one of its
// sessions. The journal records both.
func WithProgram(ctx context.Context, name, session string) context.Context {
	return context.WithValue(ctx, programKey{}, program{name, session})
}
