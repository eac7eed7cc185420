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
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/memwatchd/memwatchd/memory"
	"golang.org/x/sync/errgroup"
)

// Options are what an index needs to know.
type Options struct {
	// Source gives files as they are now.
	Source Source
	// Paths lists every file that could be in the index, in any order. While
	// the index is not whole, what it lacks is read from there.
	Paths func() []string
	// Version is what the caller's settings make of files: an index built with
	// another is built anew.
	Version string
	// Lost is called, in its own time and without locks held, when the index
	// had to be set aside while in use and every file must be applied again.
	Lost func()
	// Logger gets what a person should know; nil discards it.
	Logger *slog.Logger
}

// Index is the index of one root. All methods are safe for concurrent use.
type Index struct {
	dir string
	opt Options

	writing sync.Mutex // one Apply, Rebuild or Close at a time

	mu     sync.RWMutex // guards what follows; held by a search while it ranks
	closed bool
	store  *store // nil while there is none
	table  *table
	name   string   // of the directory in use
	next   *rebuild // the index being built beside this one
	lost   string   // why the last one was set aside, until the new one is whole
	whole  bool     // every file has been applied since it was opened

	revision   atomic.Uint64
	generation atomic.Uint64
	builders   sync.Pool
}

// An Update is one file as it is now, or gone.
type Update struct {
	Path  string
	Doc   *memory.Document // nil: the file is gone
	Stamp memory.Stamp
	Hash  [32]byte // SHA-256 of the file's bytes
}

// Open opens the index in dir, a directory of its own that exists. An index
// that is damaged is moved to quarantine below dir, and an empty one is opened.
// The caller holds the lock of the directory.
//
// Below dir, each index has a directory of its own; the file current names the
// one in use. What was opened is not whole before [Index.Whole] says so: files
// may have changed since, and bleve falls back to an older state in silence.
func Open(dir string, opt Options) (*Index, error) {
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	x := &Index{dir: dir, opt: opt, table: newTable()}
	x.builders.New = func() any { return newBuilder() }
	x.name = x.read("current")
	if x.read("version") != x.wanted() || !indexName.MatchString(x.name) {
		x.name = indexPrefix + "1"
		if err := os.RemoveAll(x.path(x.name)); err != nil {
			return nil, err
		}
		if err := writeFile(x.path("version"), x.wanted()); err != nil {
			return nil, err
		}
		if err := writeFile(x.path("current"), x.name); err != nil {
			return nil, err
		}
	}
	if err := x.tidy(); err != nil {
		return nil, err
	}
	crashes, err := x.countOpening()
	if err != nil {
		return nil, err
	}
	var s *store
	var t *table
	if crashes < maxCrashes {
		s, t, err = load(x.path(x.name))
	} else {
		err = fmt.Errorf("it was in use at %d crashes in a row", crashes)
	}
	if err != nil {
		s, t, err = x.afresh(err)
	}
	if err != nil {
		return nil, err
	}
	x.store, x.table = s, t
	x.generation.Store(1)
	return x, nil
}

// maxCrashes is how often a process may end between opening the index and
// saying that it is whole, before the index is held to be the reason: a damaged
// one can take down the process that maps it.
const maxCrashes = 3

// countOpening returns how many openings in a row did not come to a good end.
func (x *Index) countOpening() (int, error) {
	n, _ := strconv.Atoi(x.read("opening"))
	if n < 0 || n > maxCrashes {
		n = maxCrashes
	}
	next := n + 1
	if n == maxCrashes {
		next = 1
	}
	return n, writeFile(x.path("opening"), strconv.Itoa(next))
}

// endOpening is the good end of an opening.
func (x *Index) endOpening() {
	if err := os.Remove(x.path("opening")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.opt.Logger.Warn("count of crashes cannot be reset", "err", err)
	}
}

const indexPrefix = "index-"

var indexName = regexp.MustCompile(`^index-[0-9]{1,9}$`)

func (x *Index) path(name string) string { return filepath.Join(x.dir, name) }

// read returns a small file's content, or nothing.
func (x *Index) read(name string) string {
	b, err := os.ReadFile(x.path(name))
	if err != nil {
		return ""
	}
	return string(b)
}

// tidy removes what a crash left of other indexes.
func (x *Index) tidy() error {
	entries, err := os.ReadDir(x.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		old := indexName.MatchString(e.Name()) && e.Name() != x.name
		if old || strings.HasSuffix(e.Name(), ".tmp") {
			if err := os.RemoveAll(x.path(e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// wanted names the format of this index.
func (x *Index) wanted() string {
	return fmt.Sprintf("memwatchd index %d, bleve 2.5.7\n%s\n", recordVersion, x.opt.Version)
}

// load opens a store and reads its records.
func load(dir string) (*store, *table, error) {
	s, err := openStore(dir)
	if err != nil {
		return nil, nil, err
	}
	t := newTable()
	err = s.records(func(path string, record []byte) error {
		f, err := unmarshalFile(path, record)
		if err != nil {
			return fmt.Errorf("read index: %q: %w", path, err)
		}
		t.prepare(f)
		t.put(f)
		return nil
	})
	if err != nil {
		return nil, nil, errors.Join(err, s.close())
	}
	t.loaded()
	return s, t, nil
}

// afresh moves the index to quarantine, where the last one is kept for a look,
// and opens an empty one.
func (x *Index) afresh(why error) (*store, *table, error) {
	x.opt.Logger.Warn("index is set aside and built again", "dir", x.path(x.name), "err", why)
	x.lost, x.whole = why.Error(), false
	err := errors.Join(
		os.RemoveAll(x.path("quarantine")),
		os.Rename(x.path(x.name), x.path("quarantine")))
	if err != nil {
		return nil, nil, err
	}
	return load(x.path(x.name))
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
			for n := len(blocks[i]); n < old.blockCount(); n++ {
				gone = append(gone, blockID(u.Path, n))
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

// fail is called when the store failed: what it shows and what the table says
// may differ from now on, so it is opened again, or set aside if that fails too,
// and every file has to be applied again. It does nothing if that has been seen
// to since the generation that failed. The caller holds x.writing.
func (x *Index) fail(generation uint64, cause error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || x.generation.Load() != generation {
		return
	}
	x.opt.Logger.Error("index failed", "err", cause)
	if x.store != nil {
		if err := x.store.close(); err != nil {
			x.opt.Logger.Warn("index did not close", "err", err)
		}
	}
	x.whole, x.lost = false, cause.Error()
	if err := x.open(); err != nil {
		x.opt.Logger.Error("index cannot be opened, files are read to answer", "err", err)
	}
	x.generation.Add(1)
	if x.opt.Lost != nil {
		go x.opt.Lost()
	}
}

// open opens the index in use, or an empty one in its place. The caller holds
// x.writing and x.mu.
func (x *Index) open() error {
	s, t, err := load(x.path(x.name))
	if err != nil {
		s, t, err = x.afresh(err)
	}
	if err != nil {
		x.store, x.table, x.lost = nil, newTable(), err.Error()
		return err
	}
	x.store, x.table = s, t
	return nil
}

// ready makes sure that there is a store to write to: one that could not be
// opened is tried again. The caller holds x.writing.
func (x *Index) ready() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return errors.New("write index: it is closed")
	}
	if x.store == nil {
		return x.open()
	}
	return nil
}

// Whole tells the index that every file there is has been applied: from now on
// it answers alone. It returns when all is on disk, or with an error if that
// fails; the index is whole all the same.
func (x *Index) Whole() error {
	x.writing.Lock()
	defer x.writing.Unlock()
	if err := x.ready(); err != nil {
		return err
	}
	x.mu.Lock()
	x.whole, x.lost = true, ""
	x.mu.Unlock()
	x.endOpening()
	return x.store.batch(nil, nil, true)
}

// Close waits until everything is on disk and closes the index.
func (x *Index) Close() error {
	x.writing.Lock()
	defer x.writing.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	if x.store == nil {
		return nil
	}
	err := errors.Join(x.store.batch(nil, nil, true), x.store.close())
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
