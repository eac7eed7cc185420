package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// Open opens the index in dir, an existing directory for the index only. The
// caller must hold the lock of the directory. If the index is damaged, Open
// moves it to quarantine below dir and opens an empty index. If that fails too,
// searches read the files, and later calls retry.
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
	var poison error
	if n := x.countOpening(); n >= maxCrashes {
		poison = fmt.Errorf("in use during %d consecutive crashes", n)
	}
	if err := x.openCurrent(poison); err != nil {
		x.opt.Logger.Error("cannot open the index, requests read the files instead", "err", err)
	}
	x.stableTimer = time.AfterFunc(stableAfter, x.endOpening)
	return x, nil
}

const (
	// maxCrashes is the number of consecutive processes that end soon after
	// opening the index, after which the index is regarded as the cause. A
	// damaged index can crash the process that maps it.
	maxCrashes = 3
	// stableAfter is the time after which an opening counts as successful.
	stableAfter = time.Minute
)

// countOpening increments the counter of openings and returns the number of
// previous consecutive openings that did not end well.
func (x *Index) countOpening() int {
	n, _ := strconv.Atoi(x.readFile("opening"))
	if n < 0 || n > maxCrashes {
		n = maxCrashes
	}
	if err := x.writeFile("opening", strconv.Itoa(n%maxCrashes+1)); err != nil {
		x.opt.Logger.Warn("cannot update the crash counter", "err", err)
	}
	return n
}

// endOpening resets the counter of openings.
func (x *Index) endOpening() {
	if err := os.Remove(x.path("opening")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.opt.Logger.Warn("cannot reset the crash counter", "err", err)
	}
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
		old := indexName().MatchString(e.Name()) && e.Name() != current && (x.next == nil || e.Name() != x.next.name)
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
	err = recoverPanic("read index", func() error {
		blocks := 0
		parts, err := s.eachRecord(func(record []byte) error {
			f, err := unmarshalFile(record)
			if err != nil {
				return err
			}
			if t.files.get(f.path) != nil {
				return fmt.Errorf("%q has more than one record", f.path)
			}
			t.addFile(f)
			for _, p := range f.variants {
				blocks += len(p.blocks)
			}
			return nil
		})
		for _, p := range parts {
			if p.first() == 0 {
				blocks--
			}
		}
		stray := func(p place) bool {
			n := p.block()
			return n >= t.blocks.length || t.blocks.at(n).variant == noVariant
		}
		if err == nil && (blocks != 0 || slices.ContainsFunc(parts, stray)) {
			err = errors.New("blocks do not match the records")
		}
		if err != nil {
			return fmt.Errorf("read index: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, nil, errors.Join(err, s.close())
	}
	t.collectFree()
	return s, t, nil
}

// reopenPause is the pause before another attempt to open a store.
const reopenPause = time.Second

// openCurrent opens the index in use. If that index is damaged, or poison holds
// the reason why it is unusable, openCurrent replaces it with an empty one. The caller
// must hold x.writing and x.mu.
func (x *Index) openCurrent(poison error) error {
	x.retryAfter = time.Now().Add(reopenPause)
	x.generation.Add(1)
	x.completeness.markOpened()
	x.store, x.table = nil, newTable()
	s, t, err := x.loadOrReplace(poison)
	if err == nil {
		x.store, x.table = s, t
		return nil
	}
	if diskFull(err) {
		x.freeDiskSpace()
	}
	x.problem = x.describeError("cannot open the index, requests read the files instead", err)
	return err
}

func (x *Index) loadOrReplace(poison error) (s *store, t *table, err error) {
	if err := x.chooseCurrent(); err != nil {
		return nil, nil, err
	}
	err = poison
	if err == nil {
		s, t, err = x.loadStore(x.name)
		if err == nil || lacksResources(err) {
			return s, t, err
		}
	}
	// The last damaged index is kept for inspection.
	x.opt.Logger.Warn("index quarantined, rebuilding", "dir", x.path(x.name), "err", err)
	x.problem = x.describeError("index quarantined, rebuilding from the files", err)
	err = os.RemoveAll(x.path("quarantine"))
	if err == nil {
		err = os.Rename(x.path(x.name), x.path("quarantine"))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// freeDiskSpace removes the quarantined index, which is kept only for inspection.
func (x *Index) freeDiskSpace() {
	if err := os.RemoveAll(x.path("quarantine")); err != nil {
		x.opt.Logger.Warn("cannot remove the quarantined index", "err", err)
	}
}

// Purge removes the words of earlier file contents from the disk: those of deleted
// documents, the quarantined index and stray indexes. It waits for the end of a rebuild.
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
	err = errors.Join(err, os.RemoveAll(x.path("quarantine")), x.removeStray())
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
// means recovery. If the store cannot recover by itself, handleStoreError opens
// it again.
func (x *Index) handleStoreError(s *store, err error, news bool) {
	switch {
	case err == nil:
		x.opt.Logger.Info("index is saved to disk again")
		return
	case news:
		x.opt.Logger.Warn("cannot save the index to disk, retrying", "err", err)
	}
	if diskFull(err) {
		x.freeDiskSpace()
	}
	select {
	case <-s.broken:
	default:
		return
	}
	go func() {
		x.writing.Lock()
		again := x.retryAfter
		x.writing.Unlock()
		time.Sleep(time.Until(again)) // an immediate retry would fail again
		x.writing.Lock()
		defer x.writing.Unlock()
		if x.store == s {
			x.recoverStore(x.generation.Load(), err)
		}
	}()
}

// recoverStore handles a failure of the store. The store and the table may
// differ from then on, so recoverStore opens the index again, and every file
// must be applied again. The index is set aside if it cannot be opened. It is
// also set aside if it failed before it was complete, unless the cause is a
// lack of resources. If the index has been opened again since the generation
// that failed, recoverStore does nothing. The caller must hold x.writing.
func (x *Index) recoverStore(generation uint64, cause error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || x.generation.Load() != generation {
		return
	}
	x.opt.Logger.Error("index failed, reopening", "err", cause)
	var poison error
	if !x.completeness.complete && !lacksResources(cause) {
		poison = cause
	}
	if x.store != nil {
		if err := x.store.close(); err != nil {
			x.opt.Logger.Warn("cannot close the index", "err", err)
		}
	}
	x.problem = x.describeError("index failed, rechecking all files", cause)
	if err := x.openCurrent(poison); err != nil {
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
	return x.openCurrent(nil)
}
