// Package index finds: it keeps, for every file of memory, the entries' words in
// bleve and their measures in memory, and ranks entries for one reader at a
// time.
//
// It is a cache. Nothing in it is true by itself: a hit is shown as its file is
// at that moment, and what cannot be opened, or fails, is set aside and built
// again from the files, which meanwhile are read to answer.
package index

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"golang.org/x/sync/errgroup"
)

// Options are what an index needs to know.
type Options struct {
	// Source gives files as they are now.
	Source Source
	// Paths lists every file that could be in the index, in any order. While
	// the index is not complete, searches read the missing files from there.
	Paths func() []string
	// Version is what the caller's settings make of files: an index built with
	// another is built anew.
	Version string
	// Lost is called, in its own time and without locks held, when the index
	// had to be set aside while in use and every file must be applied again.
	Lost func()
	// Nap is how long changes gather before they are brought to disk together:
	// 200 ms if it is zero, which is what many small updates want. Confirm and
	// Close wait for the disk, and so for it.
	Nap time.Duration
	// Logger gets what a person should know; nil discards it.
	Logger *slog.Logger
}

// Index is the index of one root. All methods are safe for concurrent use.
type Index struct {
	dir string
	opt Options

	writing sync.Mutex // one Apply, Rebuild or Close at a time
	again   time.Time  // when it is worth trying again to open the store, guarded by writing
	sound   *time.Timer

	rebuilding chan struct{} // full while there is a rebuild

	mu     sync.RWMutex // guards what follows; held by a search while it ranks
	closed bool
	store  *store // nil while there is none
	table  *table
	name   string   // of the directory in use
	next   *rebuild // the index being built beside this one
	lost   string   // what became of the last one, until the new one is whole
	cover  coverage // whether the table holds every file

	revision   atomic.Uint64
	generation atomic.Uint64 // rises when the store is opened
	builders   sync.Pool
}

// An Update is one file as it is now, or gone.
type Update struct {
	Path  string
	Doc   *memory.Document // nil: the file is gone
	Stamp memory.Stamp
	Hash  [32]byte // SHA-256 of the file's bytes
}

// Apply makes the index match the updates: all of them, or none and an error. A
// search that begins after it returns sees them.
func (x *Index) Apply(ctx context.Context, updates []Update) error {
	if len(updates) == 0 {
		return nil
	}
	files, blocks, err := x.build(ctx, updates)
	if err != nil {
		return err
	}
	x.writing.Lock()
	defer x.writing.Unlock()
	if err := x.ready(); err != nil {
		return err
	}
	x.mu.RLock()
	next := x.next
	x.mu.RUnlock()
	if err := x.write(x.store, x.table, updates, files, blocks); err != nil {
		x.fail(x.generation.Load(), err)
		return err
	}
	if next != nil {
		files, blocks, err := x.build(ctx, updates)
		if err == nil {
			err = x.write(next.store, next.table, updates, files, blocks)
		}
		if err != nil {
			next.err = err
		}
	}
	x.revision.Add(1)
	return nil
}

// build makes records and blocks, on two goroutines if there is enough to do.
func (x *Index) build(ctx context.Context, updates []Update) ([]*file, [][]*block, error) {
	files := make([]*file, len(updates))
	blocks := make([][]*block, len(updates))
	workers := 1
	if len(updates) > 16 {
		workers = 2
	}
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range workers {
		g.Go(func() error {
			b := x.builders.Get().(*builder)
			defer x.builders.Put(b)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(updates) {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if u := &updates[i]; u.Doc != nil {
					files[i], blocks[i] = b.build(u.Doc, u.Stamp, u.Hash, nil)
				}
			}
		})
	}
	return files, blocks, g.Wait()
}

// write puts files into a store and its table. Searches go on meanwhile: they
// see a file's new blocks as soon as bleve shows them, because these have
// numbers of their own, and the old ones' are given back only when no search
// can meet them any more.
func (x *Index) write(s *store, t *table, updates []Update, files []*file, blocks [][]*block) error {
	var all []*block
	var gone []string
	x.mu.Lock()
	last := make(map[string]int, len(updates)) // of several updates of a path the last one counts
	for i, u := range updates {
		last[u.Path] = i
	}
	for i, u := range updates {
		if last[u.Path] != i {
			files[i], blocks[i] = nil, nil
			continue
		}
		f := files[i]
		if f != nil {
			if err := t.allot(f); err != nil {
				x.mu.Unlock()
				return err
			}
			for _, b := range blocks[i] {
				b.number = f.parts[b.part].blocks[b.nth]
			}
			blocks[i][0].record = f.marshal()
			t.prepare(f)
			all = append(all, blocks[i]...)
		}
		if old := t.files[u.Path]; old != nil {
			for _, p := range old.parts {
				for _, n := range p.blocks {
					gone = append(gone, blockID(n))
				}
			}
		}
	}
	x.mu.Unlock()

	err := s.batch(all, gone, false)

	x.mu.Lock()
	defer x.mu.Unlock()
	for i, u := range updates {
		if last[u.Path] != i {
			continue
		}
		if err != nil {
			if files[i] != nil {
				t.free(files[i])
			}
			continue
		}
		if old := t.files[u.Path]; old != nil {
			t.drop(old)
		}
		if files[i] != nil {
			t.put(files[i])
		}
	}
	return err
}

// Confirm records that every file has been compared with the index since
// [Status.Epoch] was read: from now on the index answers alone. It fails if the
// index was opened again since, because every file must then be compared again.
// Confirm waits until all is on disk; if that fails, Status reports it.
func (x *Index) Confirm(epoch uint64) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	if err := x.ready(); err != nil {
		return err
	}
	x.mu.Lock()
	confirmed := x.cover.confirm(epoch)
	if confirmed {
		x.lost = ""
	}
	x.mu.Unlock()
	if !confirmed {
		return errors.New("index was opened again while files were compared with it")
	}
	if err := x.store.batch(nil, nil, true); err != nil {
		x.opt.Logger.Warn("index is not on disk yet", "err", err)
	}
	return nil
}

// Close waits until everything is on disk and closes the index. What cannot be
// brought there is read from the files the next time.
func (x *Index) Close() error {
	// What a rebuild leaves it puts away itself: not when another index is open
	// in the same directory.
	defer func() {
		x.rebuilding <- struct{}{}
		<-x.rebuilding
	}()
	x.writing.Lock()
	defer x.writing.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	x.sound.Stop()
	if x.store == nil {
		return nil
	}
	if err := x.store.batch(nil, nil, true); err != nil {
		x.opt.Logger.Warn("index is closed without all being on disk", "err", err)
	}
	err := x.store.close()
	x.store = nil
	x.endOpening()
	return err
}

// Known gives every file in the index with the stamp that it was read with, in
// the order of paths.
func (x *Index) Known() iter.Seq2[string, memory.Stamp] {
	x.mu.RLock()
	files := slices.Collect(maps.Values(x.table.files))
	x.mu.RUnlock()
	slices.SortFunc(files, func(a, b *file) int { return strings.Compare(a.path, b.path) })
	return func(yield func(string, memory.Stamp) bool) {
		for _, f := range files {
			if !yield(f.path, f.stamp) {
				return
			}
		}
	}
}
