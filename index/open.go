package index

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Open opens the index in dir, a directory of its own that exists. An index
// that is damaged is moved to quarantine below dir, and an empty one is opened.
// If that cannot be either, files are read to answer, and it is tried again
// later. The caller holds the lock of the directory.
//
// Below dir, each index has a directory of its own; the file current names the
// one in use. What was opened is not complete before [Index.Confirm]: files
// may have changed since, and bleve falls back to an older state in silence.
func Open(dir string, opt Options) (*Index, error) {
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	x := &Index{dir: dir, opt: opt, table: newTable(), rebuilding: make(chan struct{}, 1)}
	x.builders.New = func() any { return newBuilder() }
	x.writing.Lock()
	defer x.writing.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.tidy(); err != nil {
		return nil, err
	}
	var poison error
	if n := x.countOpening(); n >= maxCrashes {
		poison = fmt.Errorf("it was in use at %d crashes in a row", n)
	}
	if err := x.open(poison); err != nil {
		x.opt.Logger.Error("index cannot be opened, files are read to answer", "err", err)
	}
	x.sound = time.AfterFunc(soundAfter, x.endOpening)
	return x, nil
}

const (
	// maxCrashes is how often in a row a process may end soon after it has
	// opened the index, before the index is held to be the reason: a damaged one
	// can take down the process that maps it.
	maxCrashes = 3
	// soundAfter is when that is not soon any more.
	soundAfter = time.Minute
)

// countOpening returns how many openings in a row did not come to a good end.
func (x *Index) countOpening() int {
	n, _ := strconv.Atoi(x.read("opening"))
	if n < 0 || n > maxCrashes {
		n = maxCrashes
	}
	next := n + 1
	if n == maxCrashes {
		next = 1
	}
	if err := x.writeFile("opening", strconv.Itoa(next)); err != nil {
		x.opt.Logger.Warn("crashes cannot be counted", "err", err)
	}
	return n
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

// writeFile replaces a small file, or whatever has taken its place.
func (x *Index) writeFile(name, content string) error {
	if info, err := os.Lstat(x.path(name)); err == nil && info.IsDir() {
		if err := os.RemoveAll(x.path(name)); err != nil {
			return err
		}
	}
	return writeFile(x.path(name), content)
}

// tidy removes all indexes but the one in use and one that is being built: those
// that a crash left, and those of another format.
func (x *Index) tidy() error {
	entries, err := os.ReadDir(x.dir)
	if err != nil {
		return err
	}
	current := x.read("current")
	for _, e := range entries {
		old := indexName.MatchString(e.Name()) && e.Name() != current && (x.next == nil || e.Name() != x.next.name)
		if old || strings.HasSuffix(e.Name(), ".tmp") {
			if err := os.RemoveAll(x.path(e.Name())); err != nil {
				x.opt.Logger.Warn("what a crash left cannot be removed", "err", err)
			}
		}
	}
	return nil
}

// choose finds out which index is in use. If there is none of the right format,
// that is an empty one.
func (x *Index) choose() error {
	name := x.read("current")
	if x.read("version") == x.wanted() && indexName.MatchString(name) {
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
	// In this order: an index is never taken for one of another format.
	if err := errors.Join(x.writeFile("current", name), x.writeFile("version", x.wanted())); err != nil {
		return err
	}
	x.name = name
	return x.tidy() // the index of the other format has words of files as they were
}

// wanted names the format of this index.
func (x *Index) wanted() string {
	return fmt.Sprintf("memwatchd index %d, bleve 2.5.7\n%s\n", recordVersion, x.opt.Version)
}

// load opens a store and reads its records.
func (x *Index) load(name string) (*store, *table, error) {
	s, err := openStore(x.path(name), x.opt.Nap, x.trouble)
	if err != nil {
		return nil, nil, err
	}
	t := newTable()
	err = guard("read index", func() error {
		want := 0
		blocks, err := s.records(func(record []byte) error {
			f, err := unmarshalFile(record)
			if err != nil {
				return err
			}
			if t.files[f.path] != nil {
				return fmt.Errorf("%q has more than one record", f.path)
			}
			t.prepare(f)
			t.put(f)
			for _, p := range f.parts {
				want += len(p.blocks)
			}
			return nil
		})
		stray := func(n uint32) bool { return int(n) >= len(t.blocks) || t.blocks[n].part == nowhere }
		if err == nil && (len(blocks) != want || slices.ContainsFunc(blocks, stray)) {
			err = errors.New("blocks are not those of the records")
		}
		if err != nil {
			return fmt.Errorf("read index: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, nil, errors.Join(err, s.close())
	}
	t.loaded()
	return s, t, nil
}

// openingAgain is how long it takes until a store that could not be opened is
// tried again.
const openingAgain = time.Second

// open opens the index in use, or an empty one in its place if it is damaged, or
// poison for the process. The caller holds x.writing and x.mu.
func (x *Index) open(poison error) error {
	x.again = time.Now().Add(openingAgain)
	x.generation.Add(1)
	x.cover.open()
	x.store, x.table = nil, newTable()
	err := x.choose()
	if err == nil {
		var s *store
		var t *table
		if s, t, err = x.openOr(poison); err == nil {
			x.store, x.table = s, t
			return nil
		}
	}
	if diskFull(err) {
		x.makeRoom()
	}
	x.lost = x.told("index cannot be opened, files are read to answer", err)
	return err
}

func (x *Index) openOr(poison error) (*store, *table, error) {
	err := poison
	if err == nil {
		var s *store
		var t *table
		if s, t, err = x.load(x.name); err == nil || exhausted(err) {
			return s, t, err
		}
	}
	// The last one is kept for a look.
	x.opt.Logger.Warn("index is set aside and built again", "dir", x.path(x.name), "err", err)
	x.lost = x.told("index was set aside, and is built again from the files", err)
	err = os.RemoveAll(x.path("quarantine"))
	if err == nil {
		err = os.Rename(x.path(x.name), x.path("quarantine"))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	return x.load(x.name)
}

// told is what a person is told of an error.
func (x *Index) told(what string, err error) string {
	text := what + ": " + err.Error()
	if diskFull(err) {
		text = "disk full, make room on that of " + x.dir + ": " + text
	}
	return text
}

// makeRoom gives up what is kept for a look only.
func (x *Index) makeRoom() {
	if err := os.RemoveAll(x.path("quarantine")); err != nil {
		x.opt.Logger.Warn("quarantine cannot be removed", "err", err)
	}
}

// DropQuarantine removes the last index that was set aside, which is kept for
// inspection, and whatever else is left of older indexes: they have words of files
// as they were.
func (x *Index) DropQuarantine() error {
	x.writing.Lock()
	defer x.writing.Unlock()
	if err := errors.Join(os.RemoveAll(x.path("quarantine")), x.tidy()); err != nil {
		return fmt.Errorf("index: quarantine: %w", err)
	}
	return nil
}

// trouble is told by a store's goroutines what they cannot do, and that they can
// again. What will not mend itself is mended by opening the store anew.
func (x *Index) trouble(s *store, err error, news bool) {
	switch {
	case err == nil:
		x.opt.Logger.Info("index is on disk again")
		return
	case news:
		x.opt.Logger.Warn("index cannot be brought to disk, trying again", "err", err)
	}
	if diskFull(err) {
		x.makeRoom()
	}
	select {
	case <-s.broken:
	default:
		if !s.gone() {
			return
		}
	}
	go func() {
		x.writing.Lock()
		again := x.again
		x.writing.Unlock()
		time.Sleep(time.Until(again)) // what is broken at once would be again
		x.writing.Lock()
		defer x.writing.Unlock()
		if x.store == s {
			x.fail(x.generation.Load(), err)
		}
	}()
}

// fail is called when the store failed: what it shows and what the table says
// may differ from now on, so it is opened again, and every file has to be applied
// again. It is set aside if that fails, or if it fails once more before it is
// whole. Nothing is done if that has been seen to since the generation that
// failed. The caller holds x.writing.
func (x *Index) fail(generation uint64, cause error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || x.generation.Load() != generation {
		return
	}
	x.opt.Logger.Error("index failed, opening it again", "err", cause)
	var poison error
	if !x.cover.complete && !exhausted(cause) {
		poison = cause
	}
	if x.store != nil {
		if err := x.store.close(); err != nil {
			x.opt.Logger.Warn("index did not close", "err", err)
		}
	}
	x.lost = x.told("index failed, and every file is looked at again", cause)
	if err := x.open(poison); err != nil {
		x.opt.Logger.Error("index cannot be opened, files are read to answer", "err", err)
	}
	if x.opt.Lost != nil {
		go x.opt.Lost()
	}
}

// ready makes sure that there is a store to write to: one that could not be
// opened is tried again after a while. The caller holds x.writing.
func (x *Index) ready() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.closed:
		return errors.New("write index: it is closed")
	case x.store != nil:
		return nil
	case time.Now().Before(x.again):
		return errors.New(x.lost)
	}
	return x.open(nil)
}
