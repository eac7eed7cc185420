package index

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/memwatchd/memwatchd/internal/state"
)

// mayRefill reports whether a failure may remove the index, and records that it does.
func (x *Index) mayRefill(failure error) bool {
	cause := "error"
	if p, ok := errors.AsType[*panicError](failure); ok {
		cause = p.cause()
	}
	last, known := x.refills[cause]
	if known && time.Since(last) < refillPause {
		return false
	}
	x.refills[cause] = time.Now()
	return true
}

// refillPause is the time after an index was filled again in which another failure with
// the same cause does not remove it: filling it again does not help, and meanwhile all
// answers are incomplete.
const refillPause = 10 * time.Minute

// recoverStore handles a failure of a store. The store and the table may differ from
// then on, so recoverStore removes the index, unless the cause is a lack of resources,
// and opens it again. Every file must then be applied again. If it has done so for the same
// cause recently, it keeps the store. The caller must hold x.writing.
func (x *Index) recoverStore(failed *store, cause error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if failed == nil || x.store != failed {
		return // opened again since
	}
	lacks := lacksResources(cause)
	if !lacks && !x.mayRefill(cause) {
		x.opt.Logger.Error("index failed again", "err", cause)
		x.problem = x.describeError(fmt.Sprintf("index failed again within %v of filling it; "+
			"the searches that fail read the %d newest files instead", refillPause, newestFiles), cause)
		return
	}
	x.opt.Logger.Error("index failed, filling it again from the files", "err", cause)
	if err := failed.close(); err != nil {
		x.opt.Logger.Warn("cannot close the index", "err", err)
	}
	if !lacks {
		if err := os.RemoveAll(x.dir); err != nil {
			x.opt.Logger.Warn("cannot remove the index", "err", err)
		}
	}
	x.problem = x.describeError("index failed, comparing all files", cause)
	if err := x.openStore(); err != nil {
		x.opt.Logger.Error("cannot open the index", "err", err)
	}
	if x.opt.OnIncomplete != nil {
		go x.opt.OnIncomplete()
	}
}

// newestFiles is the number of files that a search without the store reads.
const newestFiles = 500

// Open opens the index in dir, an existing directory. The caller must hold the lock of
// the directory. If the index is damaged, Open removes it and opens an empty one. If
// that fails too, later changes retry.
//
// An opened index is not complete before [Index.Confirm], because files may have changed
// and because a crash loses the last changes.
func Open(dir string, opt Options) (*Index, error) {
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	x := &Index{dir: filepath.Join(dir, "bleve"), opt: opt, table: newTable(), refills: make(map[string]time.Time)}
	x.builders.New = func() any {
		b := newBuilder()
		b.embeds = opt.Texts
		return b
	}
	x.writing.Lock()
	defer x.writing.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.openStore(); err != nil {
		x.opt.Logger.Error("cannot open the index", "err", err)
	}
	return x, nil
}

// versionName is the name of the file with the version of the index. It is written
// before the index, so an index is never mistaken for one of another format.
const versionName = "version"

// prepareDir removes an index of another version and prepares the directory of an empty
// one.
func (x *Index) prepareDir() error {
	name := filepath.Join(x.dir, versionName)
	if have, err := os.ReadFile(name); err == nil && string(have) == x.formatVersion() {
		return nil
	}
	if err := os.RemoveAll(x.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(x.dir, 0o700); err != nil {
		return err
	}
	return state.Write(name, []byte(x.formatVersion()))
}

func (x *Index) formatVersion() string {
	version := fmt.Sprintf("memwatchd index %d, zap 16\n%s\n", recordVersion, x.opt.Version)
	if x.opt.Texts {
		version += "with texts\n"
	}
	return version
}

// loadStore opens the store and reads its records into a table. It returns an error if
// the records and the blocks do not match.
func (x *Index) loadStore() (*store, *table, error) {
	if err := x.prepareDir(); err != nil {
		return nil, nil, err
	}
	s, err := openStore(x.dir, x.handleStoreError)
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
// file: the new one, and the old one that a later batch would have deleted.
func (t *table) load(s *store) error {
	var all []*file
	newest := make(map[string]*file)
	stored, err := s.eachRecord(func(record []byte) error {
		f, err := unmarshalFile(record)
		if err != nil {
			return err
		}
		all = append(all, f)
		if old := newest[f.Path]; old == nil || old.edition < f.edition {
			newest[f.Path] = f
		}
		t.edition = max(t.edition, f.edition)
		return nil
	})
	if err != nil {
		return err
	}
	blocks := make(map[uint32]bool) // whether a newest version has them
	for _, f := range all {
		for _, n := range f.blocks {
			blocks[n] = blocks[n] || newest[f.Path] == f
		}
		if newest[f.Path] == f {
			t.addFile(f)
		}
	}
	seen := make(map[uint32]bool, len(stored))
	for _, n := range stored {
		if seen[n] {
			return errors.New("blocks do not match the records")
		}
		seen[n] = true
		if !blocks[n] { // of an old version, or see file.secret
			s.gone = append(s.gone, blockID(n))
		}
	}
	for n := range blocks {
		if !seen[n] {
			return errors.New("blocks are missing")
		}
	}
	for n, r := range t.blocks.all() {
		if r.file == noFile {
			t.freeBlocks = append(t.freeBlocks, n)
		}
	}
	return nil
}

// reopenPause is the pause before another attempt to open a store.
const reopenPause = time.Second

// openStore opens the index, or an empty one in place of a damaged one. The caller must
// hold x.writing and x.mu.
func (x *Index) openStore() error {
	x.retryAfter = time.Now().Add(reopenPause)
	x.completeness.markOpened()
	x.store, x.table = nil, newTable()
	s, t, err := x.loadStore()
	if err != nil && !lacksResources(err) {
		x.opt.Logger.Warn("index is damaged, filling it again from the files", "dir", x.dir, "err", err)
		x.problem = x.describeError("index was damaged, filling it again from the files", err)
		if err = os.RemoveAll(x.dir); err == nil {
			s, t, err = x.loadStore()
		}
	}
	if err != nil {
		x.problem = x.describeError("cannot open the index", err)
		return err
	}
	x.store, x.table = s, t
	return nil
}

func (x *Index) describeError(what string, err error) string {
	text := what + ": " + err.Error()
	if diskFull(err) {
		text = "disk full, free space on the disk of " + x.dir + ": " + text
	}
	return text
}

// Purge removes the words of earlier file contents from the disk. On error some of
// these words may still be on disk.
func (x *Index) Purge() error {
	x.writing.Lock()
	err := x.ensureOpen()
	s := x.store
	x.writing.Unlock()
	if err == nil {
		err = s.purge()
	}
	if err != nil {
		return fmt.Errorf("purge index: %w", err)
	}
	return nil
}

// handleStoreError handles reports from the goroutines of a store. A nil err means
// recovery. The store repeats what failed for lack of resources or permission. Any other
// error means that its files are damaged.
func (x *Index) handleStoreError(s *store, err error, news bool) {
	switch {
	case err == nil:
		x.opt.Logger.Info("index is saved to disk again")
		return
	case news:
		x.opt.Logger.Warn("cannot save the index to disk, retrying", "err", err)
	}
	if lacksResources(err) || containsText(err, syscall.EACCES, syscall.EPERM, syscall.EFBIG, syscall.EIO) {
		return
	}
	go func() { // closing the store waits for the goroutine that reports
		x.writing.Lock()
		defer x.writing.Unlock()
		x.recoverStore(s, err)
	}()
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
	return x.openStore()
}
