package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// Open opens the index in dir, an existing directory for the index only. The
// caller must hold the lock of the directory. If the index is damaged, Open
// removes it and opens an empty one. If that fails too, searches read the files,
// and later calls retry.
//
// Each index has its own directory below dir; the file current contains the
// name of the one in use. An opened index is not complete before
// [Index.Confirm], because files may have changed and because a crash loses the
// last changes.
func Open(dir string, opt Options) (*Index, error) {
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	x := &Index{dir: dir, opt: opt, table: newTable(), rebuilding: make(chan struct{}, 1),
		builders: make(chan *builder, 1)}
	x.writing.Lock()
	defer x.writing.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.removeStray(); err != nil {
		return nil, err
	}
	if err := x.openCurrent(); err != nil {
		x.opt.Logger.Error("cannot open the index, requests read the files instead", "err", err)
	}
	return x, nil
}

const indexPrefix = "index-"

var indexName = lazyregexp.New(`^index-[0-9]{1,9}$`)

func (x *Index) path(name string) string { return filepath.Join(x.dir, name) }

// readFile returns the content of a small file, or "" if it cannot be read.
func (x *Index) readFile(name string) string {
	b, err := os.ReadFile(x.path(name))
	if err != nil {
		return ""
	}
	return string(b)
}

// writeFile replaces a small file, even if its name is now a directory.
func (x *Index) writeFile(name, content string) error {
	if info, err := os.Lstat(x.path(name)); err == nil && info.IsDir() {
		if err := os.RemoveAll(x.path(name)); err != nil {
			return err
		}
	}
	return writeFile(x.path(name), content)
}

// removeStray removes all indexes except the one in use and the one being
// built. Others remain after a crash or a change of the format.
func (x *Index) removeStray() error {
	entries, err := os.ReadDir(x.dir)
	if err != nil {
		return err
	}
	current := x.readFile("current")
	for _, e := range entries {
		// Earlier versions kept a damaged index and counted crashes.
		old := e.Name() == "quarantine" || e.Name() == "opening" || indexName().MatchString(e.Name()) && e.Name() != current && (x.next == nil || e.Name() != x.next.name)
		if old || strings.HasSuffix(e.Name(), ".tmp") {
			if err := os.RemoveAll(x.path(e.Name())); err != nil {
				x.opt.Logger.Warn("cannot remove an unused index", "err", err)
			}
		}
	}
	return nil
}

// chooseCurrent determines the index in use. If no index has the right format, it
// selects a new empty one.
func (x *Index) chooseCurrent() error {
	name := x.readFile("current")
	if x.readFile("version") == x.formatVersion() && indexName().MatchString(name) {
		x.name = name
		return nil
	}
	if err := os.MkdirAll(x.dir, 0o700); err != nil {
		return err
	}
	name = indexPrefix + "1"
	if x.next != nil && x.next.name == name {
		name = indexPrefix + "2"
	}
	if err := os.RemoveAll(x.path(name)); err != nil {
		return err
	}
	// This order ensures that an index is never mistaken for one of another
	// format.
	if err := errors.Join(x.writeFile("current", name), x.writeFile("version", x.formatVersion())); err != nil {
		return err
	}
	x.name = name
	return x.removeStray() // the old index contains words of earlier file contents
}

// formatVersion returns the identifier of the format of this index.
func (x *Index) formatVersion() string {
	version := fmt.Sprintf("memwatchd index %d, zap 16\n%s\n", recordVersion, x.opt.Version)
	if x.opt.Texts {
		version += "with texts\n"
	}
	return version
}

// loadStore opens a store and reads its records into a table. It returns an
// error if the records and the blocks do not match.
func (x *Index) loadStore(name string) (*store, *table, error) {
	s, err := openStore(x.path(name), x.handleStoreError)
	if err != nil {
		return nil, nil, err
	}
	t := newTable()
	err = recoverPanic("read index", func() error { return t.load(s) })
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read index: %w", err), s.close())
	}
	return s, t, nil
}

// load adds the files in a store. After a crash, the store can have two versions of a
// file: the new one, and the old one that a later batch would have deleted. Both are
// left out and deleted then, because the order is unknown.
func (t *table) load(s *store) error {
	var all []*file
	paths := make(map[string]int)
	parts, err := s.eachRecord(func(record []byte) error {
		f, err := unmarshalFile(record)
		if err == nil {
			all = append(all, f)
			paths[f.path]++
		}
		return err
	})
	if err != nil {
		return err
	}
	blocks := make(map[uint32]bool)
	for _, f := range all {
		for _, p := range f.variants {
			for _, n := range p.blocks {
				blocks[n] = true
				if paths[f.path] > 1 {
					s.gone = append(s.gone, blockID(n))
				}
			}
		}
		if paths[f.path] == 1 {
			t.addFile(f)
		}
	}
	seen := make(map[place]bool, len(parts))
	for _, p := range parts {
		if seen[p] || !blocks[p.block()] {
			return errors.New("blocks do not match the records")
		}
		seen[p] = true
	}
	for n := range blocks {
		if !seen[place(n<<5)] {
			return errors.New("blocks are missing")
		}
	}
	t.collectFree()
	return nil
}

// reopenPause is the pause before another attempt to open a store.
const reopenPause = time.Second

// openCurrent opens the index in use. If that index is damaged, openCurrent replaces it
// with an empty one. The caller must hold x.writing and x.mu.
func (x *Index) openCurrent() error {
	x.retryAfter = time.Now().Add(reopenPause)
	x.generation.Add(1)
	x.completeness.markOpened()
	x.store, x.table = nil, newTable()
	s, t, err := x.loadOrReplace()
	if err != nil {
		x.problem = x.describeError("cannot open the index, requests read the files instead", err)
		return err
	}
	x.store, x.table = s, t
	return nil
}

func (x *Index) loadOrReplace() (*store, *table, error) {
	if err := x.chooseCurrent(); err != nil {
		return nil, nil, err
	}
	s, t, err := x.loadStore(x.name)
	if err == nil || lacksResources(err) {
		return s, t, err
	}
	x.opt.Logger.Warn("index is damaged, filling it again from the files", "dir", x.path(x.name), "err", err)
	x.problem = x.describeError("index was damaged, filling it again from the files", err)
	if err := os.RemoveAll(x.path(x.name)); err != nil {
		return nil, nil, err
	}
	return x.loadStore(x.name)
}

// describeError returns the description of an error for Status.
func (x *Index) describeError(what string, err error) string {
	text := what + ": " + err.Error()
	if diskFull(err) {
		text = "disk full, free space on the disk of " + x.dir + ": " + text
	}
	return text
}

// Purge removes the words of earlier file contents from the disk: those of deleted
// documents and of stray indexes. It waits for the end of a rebuild.
// On error some of these words may still be on disk.
func (x *Index) Purge(ctx context.Context) error {
	select {
	case x.rebuilding <- struct{}{}:
		defer func() { <-x.rebuilding }()
	case <-ctx.Done():
		return fmt.Errorf("purge index: %w", ctx.Err())
	}
	x.writing.Lock()
	err := x.ensureOpen()
	s := x.store
	err = errors.Join(err, x.removeStray())
	x.writing.Unlock()
	if s != nil {
		err = errors.Join(err, s.purge())
	}
	if err != nil {
		return fmt.Errorf("purge index: %w", err)
	}
	return nil
}

// handleStoreError handles reports from the goroutines of a store. A nil err
// means recovery. The store repeats what failed, unless its files are damaged.
func (x *Index) handleStoreError(s *store, err error, news bool) {
	switch {
	case err == nil:
		x.opt.Logger.Info("index is saved to disk again")
		return
	case news:
		x.opt.Logger.Warn("cannot save the index to disk, retrying", "err", err)
	}
	if !containsText(err, errPanic, scorch.ErrAsyncPanic, errChecksum, syscall.ENOENT) {
		return
	}
	go func() { // closing the store waits for the goroutine that reports
		x.writing.Lock()
		defer x.writing.Unlock()
		if x.store == s {
			x.recoverStore(x.generation.Load(), err)
		}
	}()
}

// recoverStore handles a failure of the store. The store and the table may differ
// from then on, so recoverStore removes the index, unless the cause is a lack of
// resources, and opens it again. Every file must then be applied again. If the index
// has been opened again since the generation that failed, recoverStore does nothing.
// The caller must hold x.writing.
func (x *Index) recoverStore(generation uint64, cause error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || x.generation.Load() != generation {
		return
	}
	x.opt.Logger.Error("index failed, filling it again from the files", "err", cause)
	if x.store != nil {
		if err := x.store.close(); err != nil {
			x.opt.Logger.Warn("cannot close the index", "err", err)
		}
	}
	if !lacksResources(cause) {
		if err := os.RemoveAll(x.path(x.name)); err != nil {
			x.opt.Logger.Warn("cannot remove the index", "err", err)
		}
	}
	x.problem = x.describeError("index failed, comparing all files", cause)
	if err := x.openCurrent(); err != nil {
		x.opt.Logger.Error("cannot open the index, requests read the files instead", "err", err)
	}
	if x.opt.OnIncomplete != nil {
		go x.opt.OnIncomplete()
	}
}

// ensureOpen ensures that there is a store to write to. After a failed opening it
// retries after reopenPause. The caller must hold x.writing.
func (x *Index) ensureOpen() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.closed:
		return errors.New("write index: index is closed")
	case x.store != nil:
		return nil
	case time.Now().Before(x.retryAfter):
		return errors.New(x.problem)
	}
	return x.openCurrent()
}

// errUnsaved reports that too many changes wait for a disk that fails.
var errUnsaved = errors.New("cannot save the index")

// diskFull reports whether err means that the disk or the quota is full. It compares
// the text, because scorch does not keep the error.
func diskFull(err error) bool { return containsText(err, syscall.ENOSPC, syscall.EDQUOT) }

// lacksResources reports whether err means a lack of system resources, a read-only file
// system or a disk that does not respond. Such an error is no evidence of a damaged index.
func lacksResources(err error) bool {
	return diskFull(err) || errors.Is(err, errUnsaved) || containsText(err, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
		syscall.EROFS, berrors.ErrTimeout)
}

func containsText(err error, texts ...error) bool {
	return slices.ContainsFunc(texts, func(t error) bool { return strings.Contains(err.Error(), t.Error()) })
}
