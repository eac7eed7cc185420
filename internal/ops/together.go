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
	turn  chan struct{} // contains an element during a change
	edits []*queuedEdit // that wait for a change
	uses  int           // number of callers
}

type queuedEdit struct {
	fileEdit
	name string
	made bool // the change is over

	after   *memory.Document
	written vault.Written
	err     error
}

// editTogether is editFile for an edit that others of the same caller can join, except
// those with the same name. Each of them returns after the change that contains it. An edit
// that fails does not affect the others.
func (m writeOps) editTogether(ctx context.Context, c Call, name string, a fileEdit) (*memory.Document, vault.Written,
	error) {
	e := &queuedEdit{fileEdit: a, name: name}
	key := fmt.Sprintf("%q %q %q %v %p %t", a.path, c.listener, c.program, c.Scope, c.Fixed, a.unseen)
	f := m.waiting.add(key, e)
	defer m.waiting.remove(key, e)
	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, vault.Written{}, writeError(ctx.Err())
	}
	defer func() { <-f.turn }()
	for !e.made {
		m.editBatch(ctx, c, m.waiting.take(f))
	}
	return e.after, e.written, e.err
}

// add adds an edit to those that wait for a change of a file.
func (q *editQueue) add(key string, e *queuedEdit) *queuedFile {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.files == nil {
		q.files = map[string]*queuedFile{}
	}
	if q.files[key] == nil {
		q.files[key] = &queuedFile{turn: make(chan struct{}, 1)}
	}
	f := q.files[key]
	f.edits, f.uses = append(f.edits, e), f.uses+1
	return f
}

// remove ends the wait of an edit, whose caller may have gone.
func (q *editQueue) remove(key string, e *queuedEdit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f := q.files[key]
	f.edits, f.uses = slices.DeleteFunc(f.edits, func(other *queuedEdit) bool { return other == e }), f.uses-1
	if f.uses == 0 {
		delete(q.files, key)
	}
}

// take returns the first edits of each name, which become one change.
func (q *editQueue) take(f *queuedFile) (edits []*queuedEdit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	names := map[string]bool{}
	f.edits = slices.DeleteFunc(f.edits, func(e *queuedEdit) bool {
		first := !names[e.name]
		if first {
			edits, names[e.name], e.made = append(edits, e), true, true
			e.err = errNotMade
		}
		return first
	})
	return edits
}

// errNotMade is the error of an edit whose change panics.
var errNotMade = api.Errorf(api.Internal, "the change was not made")

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
