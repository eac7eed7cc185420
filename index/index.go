// Package index searches memory. For every file it stores the words of the
// entries in bleve and their measures in memory, and it ranks entries for one
// reader at a time.
//
// The index is a cache. A hit always shows the current content of its file. An
// index that cannot be opened or that fails is removed and filled again from the
// files. Until it is complete, answers report that they are not.
package index

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/memory"
)

// isDegraded reports whether the index may lack files.
func (x *Index) isDegraded() bool { return !x.completeness.complete || x.store == nil }

// Options configures an index.
type Options struct {
	// Source reads the current files.
	Source Source
	// Version identifies the settings of the caller that affect the indexed
	// content. An index with another version is rebuilt.
	Version string
	// Texts makes the index keep the keys of the texts that can be embedded (see
	// [Texts]), which searches by meaning need.
	Texts bool
	// OnIncomplete is called in a separate goroutine, without locks, if every file must
	// be applied again because the index failed.
	OnIncomplete func()
	// Logger receives messages for the operator; nil discards them.
	Logger *slog.Logger
}

// An Index is the index of one root. All methods are safe for concurrent use.
type Index struct {
	dir string
	opt Options

	writing    sync.Mutex // held while the store is opened, changed or closed
	retryAfter time.Time  // earliest time of the next attempt to open the store, guarded by writing

	mu           sync.RWMutex // guards the following fields; never held while files are read
	closed       bool
	store        *store // nil while the index has no open store
	table        *table
	problem      string               // description of the last failure, until the new index is complete
	completeness completeness         // whether the table holds every file
	revision     uint64               // number of changes
	refills      map[string]time.Time // when failures removed the index, by cause

	builders sync.Pool // of *builder, which keep their caches of stems
}

// An Update is the current state of one file.
type Update struct {
	Path  string
	Doc   *memory.Document // nil if the file does not exist
	Stamp disk.Stamp
	Hash  [32]byte // SHA-256 of the file content
}

// Apply makes the index match all updates. On error it applies none. A search
// that begins after Apply returns sees the updates.
func (x *Index) Apply(ctx context.Context, updates []Update) error {
	if len(updates) == 0 {
		return nil
	}
	known := x.snapshot()
	files, blocks, err := x.buildUpdates(ctx, updates, known)
	if err != nil {
		return err
	}
	x.writing.Lock()
	defer x.writing.Unlock()
	if err := x.ensureOpen(); err != nil {
		return err
	}
	for i, u := range updates {
		if before := x.table.files.get(u.Path); files[i] != nil && before != known.files.get(u.Path) {
			files[i], blocks[i] = x.buildUpdate(u, nil) // the blocks of the record before may be gone
		}
	}
	if err := x.writeUpdates(updates, files, blocks); err != nil {
		x.recoverStore(x.store, err)
		return err
	}
	return nil
}

const buildWorkers = 2

func (x *Index) buildUpdates(ctx context.Context, updates []Update, known *table) ([]*file, [][]*block, error) {
	files := make([]*file, len(updates))
	blocks := make([][]*block, len(updates))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(buildWorkers)
	for i, u := range updates {
		g.Go(func() error {
			if u.Doc != nil && ctx.Err() == nil {
				files[i], blocks[i] = x.buildUpdate(u, known.files.get(u.Path))
			}
			return ctx.Err()
		})
	}
	return files, blocks, g.Wait()
}

// buildUpdate builds the record of a file and its blocks. It can reuse blocks of a record.
func (x *Index) buildUpdate(u Update, reusable *file) (*file, []*block) {
	b := x.builders.Get().(*builder)
	defer x.builders.Put(b)
	return b.buildFile(u.Doc, u.Stamp, u.Hash, reusable)
}

// writeUpdates stores files and makes the next version of the table, which becomes
// visible together with their blocks. Searches continue concurrently.
func (x *Index) writeUpdates(updates []Update, files []*file, blocks [][]*block) error {
	next := x.table.edit()
	last := make(map[string]int, len(updates)) // the last update of a path takes precedence
	for i, u := range updates {
		last[u.Path] = i
	}
	// New blocks have other numbers than those in the table, so a search that has not
	// the next version does not see them.
	for i, u := range updates {
		if f := files[i]; f != nil && last[u.Path] == i {
			if err := next.assignBlocks(f); err != nil {
				return err
			}
		}
	}
	var all []*block
	var gone []string
	for i, u := range updates {
		if last[u.Path] != i {
			continue
		}
		f := files[i]
		if old := next.files.get(u.Path); old != nil {
			for _, n := range next.removeFile(old, f) {
				gone = append(gone, blockID(n))
			}
		}
		if f == nil {
			continue
		}
		f.edition = next.edition
		next.addFile(f)
		for _, b := range blocks[i] {
			b.number = f.blocks[b.nth]
			if !f.secret {
				b.path = f.Path
			}
		}
		if !f.secret {
			blocks[i][0].record = f.marshal()
		}
		all = append(all, blocks[i]...)
	}
	return x.store.writeBatch(all, gone, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.table = next
		x.revision++
	})
}

func (x *Index) snapshot() *table {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.table
}

// Confirm records that every file has been compared with the index since
// [Status.Epoch] was read. From then on, results are not degraded. Confirm
// returns an error if the index has been opened again since, because every file
// must then be compared again. Confirm waits until everything is on disk. If
// that fails, Status reports the failure.
func (x *Index) Confirm(epoch uint64) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	if err := x.ensureOpen(); err != nil {
		return err
	}
	x.mu.Lock()
	confirmed := x.completeness.markComplete(epoch)
	if confirmed {
		x.problem = ""
	}
	x.mu.Unlock()
	if !confirmed {
		return errors.New("index was reopened during the comparison with the files")
	}
	if err := x.store.flush(); err != nil {
		x.opt.Logger.Warn("cannot save the index to disk yet", "err", err)
	}
	x.store.endBuild()
	return nil
}

// Close waits until everything is on disk and closes the index, for good even
// if it returns an error. Data that cannot be written is indexed again from the
// files after the next Open.
func (x *Index) Close() error {
	x.writing.Lock()
	defer x.writing.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	if x.store == nil {
		return nil
	}
	if err := x.store.flush(); err != nil {
		x.opt.Logger.Warn("index closed with unsaved changes", "err", err)
	}
	err := x.store.close()
	x.store = nil
	return err
}
