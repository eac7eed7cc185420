package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// An editQueue joins edits of one file that wait for the one before them into one change. A
// change costs a parse of the file and several writes that wait for the disk, however many
// edits it contains.
type editQueue struct {
	mu    sync.Mutex
	files map[string]*queuedFile // by file and caller
}

// A queuedFile is a file with a change in progress.
type queuedFile struct {
	turn sync.Mutex // held during a change
	next *editBatch // the edits for the next change; nil for none
	uses int        // number of callers
}

// An editBatch is a list of edits that become one change.
type editBatch struct {
	edits []*queuedEdit
	done  chan struct{} // closed after the change
}

type queuedEdit struct {
	fileEdit
	name string

	after   *memory.Document
	written vault.Written
	err     error
}

func (b *editBatch) hasName(name string) bool {
	return slices.ContainsFunc(b.edits, func(e *queuedEdit) bool { return e.name == name })
}

// editTogether is editFile for an edit that others of the same caller can join, except
// those with the same name. Each of them returns after the change that contains it. An edit
// that fails does not affect the others.
func (m writeOps) editTogether(ctx context.Context, c Call, name string, a fileEdit) (*memory.Document, vault.Written,
	error) {
	q, e := &m.waiting, &queuedEdit{fileEdit: a, name: name, err: errNotMade}
	key := fmt.Sprintf("%q %q %q %v %p %t", a.path, c.listener, c.program, c.Scope, c.Fixed, a.unseen)
	q.mu.Lock()
	if q.files == nil {
		q.files = map[string]*queuedFile{}
	}
	f := q.files[key]
	if f == nil {
		f = &queuedFile{}
		q.files[key] = f
	}
	f.uses++
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if f.uses--; f.uses == 0 {
			delete(q.files, key)
		}
	}()
	for f.next != nil && f.next.hasName(name) {
		done := f.next.done
		q.mu.Unlock()
		if err := waitDone(ctx, done); err != nil {
			return nil, vault.Written{}, err
		}
		q.mu.Lock()
	}
	b, first := f.next, f.next == nil
	if first {
		b = &editBatch{done: make(chan struct{})}
		f.next = b
	}
	b.edits = append(b.edits, e)
	q.mu.Unlock()
	if first {
		f.makeChange(func() {
			q.mu.Lock()
			f.next = nil
			q.mu.Unlock()
			m.editBatch(ctx, c, b.edits)
		}, b.done)
	} else if err := waitDone(ctx, b.done); err != nil {
		return nil, vault.Written{}, err
	}
	return e.after, e.written, e.err
}

// errNotMade is the error of an edit whose change panics.
var errNotMade = api.Errorf(api.Internal, "the change was not made")

// makeChange calls do after the change in progress, and closes done.
func (f *queuedFile) makeChange(do func(), done chan struct{}) {
	f.turn.Lock()
	defer close(done)
	defer f.turn.Unlock()
	do()
}

func waitDone(ctx context.Context, done chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return writeError(ctx.Err())
	}
}

// editBatch makes the change of several edits, or if it fails that of each one. The edits
// of others do not end with the context of the first one.
func (m writeOps) editBatch(ctx context.Context, c Call, edits []*queuedEdit) {
	if len(edits) > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), api.MaxAnswerTime)
		defer cancel()
	}
	all := edits[0].fileEdit
	all.change = func(doc *memory.Document, r *memory.Revision) error {
		for _, e := range edits {
			e.err = e.change(doc, r)
			if _, skips := errors.AsType[skipError](e.err); e.err != nil && !skips {
				e.err = e.writeError(e.err)
			}
		}
		if !slices.ContainsFunc(edits, func(e *queuedEdit) bool { return e.err == nil }) {
			return edits[0].err
		}
		return nil
	}
	after, written, err := m.editFile(ctx, c, all)
	for _, e := range edits {
		switch {
		case err == nil:
			e.after, e.written = after, written
		case len(edits) == 1:
			e.err = err
		default:
			m.editBatch(ctx, c, []*queuedEdit{e})
		}
	}
}
