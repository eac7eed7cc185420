package vault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/memwatchd/memwatchd/memory"
)

// turns holds a semaphore for each key in use. Waiters for a key are served in
// the order of their calls. The zero value is ready for use.
type turns struct {
	mu   sync.Mutex
	keys map[string]*turn
}

type turn struct {
	semaphore chan struct{}
	users     int // that hold the semaphore or wait for it
}

// acquire waits for the semaphore of a key and returns the function that
// releases it.
func (t *turns) acquire(ctx context.Context, key string) (release func(), err error) {
	t.mu.Lock()
	k := t.keys[key]
	if k == nil {
		if t.keys == nil {
			t.keys = make(map[string]*turn)
		}
		k = &turn{semaphore: make(chan struct{}, 1)}
		t.keys[key] = k
	}
	k.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		k.users--
		if k.users == 0 {
			delete(t.keys, key)
		}
	}
	select {
	case k.semaphore <- struct{}{}:
		return func() { <-k.semaphore; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

type callerKey struct{}

// WithCaller returns a context for changes that a caller, such as a listener,
// requests. A [Writer] makes the changes of one caller one after the other, and
// those of different callers in turn.
func WithCaller(ctx context.Context, caller string) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

type programKey struct{}

// A program identifies the program that requests a change.
type program struct{ name, session string }

// WithProgram returns a context for changes that a program requests in one of its
// sessions. The journal records both.
func WithProgram(ctx context.Context, name, session string) context.Context {
	return context.WithValue(ctx, programKey{}, program{name, session})
}

// takeTurn returns an error if the change is not permitted. It then waits until
// no other change of the same caller, and no other change of the same file, is
// in progress. So each caller has at most one change among those that wait for
// the semaphore of the Writer.
func (w *Writer) takeTurn(ctx context.Context, c *Change) (release func(), err error) {
	if !c.Requested && !w.isEnabled() {
		return nil, fmt.Errorf("write %s: %w", c.Path, ErrOff)
	}
	if reason := w.Vault.Skips(c.Path, false); reason != "" && !slices.Contains(w.Settings, c.Path) {
		return nil, &RefusedError{c.Path, reason + ": excluded from memory"}
	}
	c.program, _ = ctx.Value(programKey{}).(program) // zero for the daemon itself
	ofCaller := func() {}
	if caller, ok := ctx.Value(callerKey{}).(string); ok {
		ofCaller, err = w.callers.acquire(ctx, caller)
		if err != nil {
			return nil, err
		}
	}
	ofFile, err := w.files.acquire(ctx, c.Path)
	if err != nil {
		ofCaller()
		return nil, err
	}
	return func() { ofFile(); ofCaller() }, nil
}

// A preparedEdit is the result of Edit for one version of a file.
type preparedEdit struct {
	old  *File // nil if there was no file
	data []byte
	err  error
}

// prepareEdit calls Edit for the current version of the file before the change
// holds the semaphore, because merging into a large file takes longer than all
// other steps of a change. While a program may be saving the file, there is no
// version to prepare.
func (w *Writer) prepareEdit(c *Change) {
	w.init()
	file, err := w.Vault.Read(c.Path)
	p := &preparedEdit{old: &file}
	switch {
	case errors.Is(err, fs.ErrNotExist) && !w.writePolicy().wasPresent(c.Path):
		p.old = nil
	case err != nil || file.Unstable:
		return
	}
	p.data, p.err = w.runEdit(c, p.old)
	c.prepared = p
}

// isFor reports whether the result was prepared for a version of the file.
func (p *preparedEdit) isFor(old *source) bool {
	if p == nil || p.old == nil || old == nil {
		return p != nil && p.old == nil && old == nil
	}
	return p.old.Stamp == old.Stamp && p.old.Unstable == old.Unstable && bytes.Equal(p.old.Data, old.Data)
}

// callEdit returns the content that a change requests, and calls Check; old is
// nil if there is no file. It calls Edit unless the version has been prepared.
func (w *Writer) callEdit(c *Change, old *source) (data []byte, err error) {
	w.Vault.steps.end(w.step) // the duration of Edit does not count as disk time
	defer func() { w.step = w.Vault.steps.beginAnyway() }()
	if c.prepared.isFor(old) {
		data, err = c.prepared.data, c.prepared.err
	} else {
		c.prepared = nil // Edit may keep results of its last call
		var file *File
		if old != nil {
			file = &old.File
		}
		data, err = w.runEdit(c, file)
	}
	if err == nil && c.Check != nil {
		err = c.Check()
	}
	if _, copied := memory.CopyOf(c.Path); copied && err == nil && old != nil && data != nil &&
		!bytes.Equal(data, old.Data) {
		return nil, &RefusedError{c.Path, "a conflict copy is never changed; run `memwatchd conflicts merge`"}
	}
	return data, err
}

// runEdit calls Edit. It recovers from panics: the daemon would meet the same
// file, and so the same panic, again and again.
func (w *Writer) runEdit(c *Change, old *File) (data []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			w.logger().Error("panic in a change", "path", c.Path, "cause", c.Cause, "err", v, "stack",
				string(debug.Stack()))
			data, err = nil, errPanic
		}
	}()
	if old == nil {
		return c.Edit(nil)
	}
	hash := hashOf(old.Data)
	data, err = c.Edit(old)
	if hashOf(old.Data) != hash {
		return nil, errInputModified
	}
	return data, err
}
