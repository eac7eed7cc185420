package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// A rebuild is an index that will replace the one in use.
type rebuild struct {
	name       string
	store      *store
	table      *table
	err        error // error of a concurrent Apply
	incomplete bool  // a file could not be read
	read       func(ctx context.Context, path string) (Update, error)

	files     int          // number of files to read
	filesRead atomic.Int64 // number of files read
}

// ErrUnreadable is returned by the read function of a rebuild for a file that
// exists but cannot be read. The rebuild continues without the file, and the
// new index is not complete.
var ErrUnreadable = errors.New("file cannot be read")

// ErrRebuilding is returned by Rebuild if another rebuild is in progress.
var ErrRebuilding = errors.New("a rebuild is already running")

// rebuildBatch is the number of files that are applied together. It balances
// speed and memory.
const rebuildBatch = 256

// Rebuild makes a new index from the files at paths and replaces the one in
// use, which serves searches until then. The function read returns the current
// state of a file; an Update without Doc omits the path. Concurrent updates are
// applied to both indexes.
//
// If another rebuild is in progress, the error is [ErrRebuilding]. After any
// error the old index stays in use.
func (x *Index) Rebuild(ctx context.Context, paths []string,
	read func(ctx context.Context, path string) (Update, error)) error {
	select {
	case x.rebuilding <- struct{}{}:
		defer func() { <-x.rebuilding }()
	default:
		return fmt.Errorf("rebuild index: %w", ErrRebuilding)
	}
	next, err := x.beginRebuild(len(paths), read)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(paths, rebuildBatch) {
		if err = x.addFiles(ctx, next, chunk); err != nil {
			break
		}
		next.filesRead.Add(int64(len(chunk)))
	}
	if err == nil {
		err = x.activateRebuild(ctx, next)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("rebuild index: %w", err), x.discardRebuild(next))
	}
	return nil
}

// discardRebuild closes and removes an index that will not be used. It holds x.writing
// to exclude a concurrent Apply.
func (x *Index) discardRebuild(next *rebuild) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	x.mu.Lock()
	x.next = nil
	x.mu.Unlock()
	return errors.Join(next.store.close(), os.RemoveAll(x.path(next.name)))
}

func (x *Index) beginRebuild(files int, read func(context.Context, string) (Update, error)) (*rebuild, error) {
	x.writing.Lock()
	defer x.writing.Unlock()
	if x.closed {
		return nil, errors.New("rebuild index: index is closed")
	}
	n, _ := strconv.Atoi(strings.TrimPrefix(x.name, indexPrefix))
	next := &rebuild{name: indexPrefix + strconv.Itoa(n%999_999_999+1), files: files, read: read}
	if err := os.RemoveAll(x.path(next.name)); err != nil {
		return nil, err
	}
	var err error
	next.store, next.table, err = x.loadStore(next.name)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	x.next = next
	x.mu.Unlock()
	return next, nil
}

// addFiles adds the files at paths. It reads them under the lock, so that no Apply of
// a newer version occurs between reading and writing.
func (x *Index) addFiles(ctx context.Context, next *rebuild, paths []string) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	return x.addLocked(ctx, next, paths)
}

func (x *Index) addLocked(ctx context.Context, next *rebuild, paths []string) error {
	if next.err != nil {
		return next.err
	}
	if x.closed {
		return errors.New("index is closed")
	}
	var updates []Update
	for _, path := range paths {
		u, err := next.read(ctx, path)
		if errors.Is(err, ErrUnreadable) {
			next.incomplete = true
			continue
		}
		if err != nil {
			return err
		}
		if u.Doc != nil {
			updates = append(updates, u)
		}
	}
	files, blocks, err := x.buildUpdates(ctx, updates)
	if err != nil {
		return err
	}
	return x.writeUpdates(next.store, &next.table, updates, files, blocks)
}

// activateRebuild replaces the old index with the new one. First it reads again the files
// that differ between the two. A file can be missing for a moment, because its
// directory was moved and moved back or because it was open for writing. If the
// file then equals the version in the old index again, no Apply follows.
func (x *Index) activateRebuild(ctx context.Context, next *rebuild) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	var differ []string
	for path, f := range x.table.files.all() {
		if made := next.table.files.get(path); made == nil || made.stamp != f.stamp || made.kind != f.kind ||
			made.owner != f.owner {
			differ = append(differ, path)
		}
	}
	slices.Sort(differ)
	if err := x.addLocked(ctx, next, differ); err != nil {
		return err
	}
	if err := next.store.flush(); err != nil {
		return err
	}
	next.store.endBuild(x.opt.OnMerged)
	if err := writeFile(x.path("current"), next.name); err != nil {
		return err
	}
	if err := x.writeFile("version", x.formatVersion()); err != nil {
		x.opt.Logger.Warn("cannot save the index version, the next start rebuilds the index", "err", err)
	}
	x.mu.Lock()
	old, name := x.store, x.name
	x.store, x.table, x.name, x.next = next.store, next.table, next.name, nil
	switch {
	case next.incomplete:
		x.completeness.markOpened()
	case x.completeness.complete: // otherwise the new index may lack the same files
		x.problem = ""
	}
	x.mu.Unlock()
	if next.incomplete && x.opt.OnIncomplete != nil {
		go x.opt.OnIncomplete()
	}
	x.generation.Add(1)
	x.revision.Add(1)
	var err error
	if old != nil {
		err = old.close()
	}
	if err = errors.Join(err, os.RemoveAll(x.path(name))); err != nil {
		x.opt.Logger.Warn("cannot remove the old index", "dir", x.path(name), "err", err)
	}
	return nil
}
