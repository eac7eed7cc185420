package index

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"
	zap "github.com/blevesearch/zapx/v16"
)

// store is one bleve index on disk. Scorch is used without bleve's mapping
// layer: documents are made here, and so are scores; what is left is what
// scorch does well: immutable segments, merging, snapshots, deletion.
type store struct {
	dir   string
	root  fs.FileInfo // of the file that says which segments there are
	index bleve.Index
	queue *bleve.AnalysisQueue
	background
	numbering numbering
}

func init() {
	// Room for a hundred documents of the last one's size is too much where one
	// document can be a large file's.
	zap.NewSegmentBufferNumResultsBump = 0
	zap.NewSegmentBufferNumResultsFactor = 0
}

// guard calls what looks into files that are mapped. That it panics, or faults
// because a file was cut short, is an error.
func guard(what string, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %v", what, r)
		}
	}()
	return fn()
}

const rootName = "root.bolt"

// openStore opens or creates the index in dir. Any damage that can be seen
// without reading everything is an error. Report is told of what fails later, in
// the background.
func openStore(dir string, nap time.Duration, report func(*store, error, bool)) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	segments, err := checkSegments(dir)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(dir, rootName))
	fresh := errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
	if fresh && segments > 0 {
		return nil, fmt.Errorf("open index %s: %d segments, and none of them in %s", dir, segments, rootName)
	}
	s := &store{dir: dir, queue: bleve.NewAnalysisQueue(2)}
	s.background = newBackground(func(err error, news bool) {
		if report != nil {
			report(s, err, news)
		}
	})
	s.index, err = scorch.NewScorch(scorch.Name, map[string]any{
		"path":                   dir,
		"bolt_timeout":           "1s", // for ever, without it
		"asyncErrorCallbackName": callbacks,
		"eventCallbackName":      callbacks,
		// A batch is visible when it returns, and on disk a moment later. What
		// a crash takes back is found missing at the next start, when the
		// records are compared with the files.
		"unsafe_batch": true,
		// Below the size that scorch sets, of 2000 files, each save would write
		// the whole index anew.
		"scorchMergePlanOptions": map[string]any{"FloorSegmentSize": 200},
		"scorchPersisterOptions": map[string]any{"PersisterNapTimeMSec": cmp.Or(nap, 200*time.Millisecond).Milliseconds(), "PersisterNapUnderNumFiles": 1000},
	}, s.queue)
	if err != nil {
		s.queue.Close()
		return nil, err
	}
	stores.Store(dir, s)
	stores.Store(s.index, s)
	err = guard("open index "+dir, s.index.Open)
	if err == nil {
		s.root, err = os.Stat(filepath.Join(dir, rootName))
	}
	switch {
	case err != nil:
	case fresh:
		err = s.settle()
	default:
		err = guard("open index", s.checkRoot)
	}
	if err != nil {
		s.close() // what there is of it
		return nil, err
	}
	return s, nil
}

// checkRoot reports whether what is open is what was written last. Where a
// segment is missing scorch falls back to what was before, or nothing at all, and
// says so to nobody.
func (s *store) checkRoot() error {
	epochs, err := s.index.(*scorch.Scorch).RootBoltSnapshotEpochs()
	if err != nil || len(epochs) == 0 {
		return err // no more than created
	}
	reader, err := s.index.Reader()
	if err != nil {
		return err
	}
	defer reader.Close()
	barrier, err := reader.GetInternal([]byte(barrier))
	if err == nil && barrier == nil {
		err = fmt.Errorf("open index %s: segments are missing", s.dir)
	}
	return err
}

// barrier is a key that every index has a value for.
const barrier = "barrier"

// settle brings an index that is new to disk. Otherwise a power cut may leave
// one that cannot be opened.
func (s *store) settle() error {
	if err := s.batch(nil, nil, true); err != nil {
		return err
	}
	for _, name := range []string{filepath.Join(s.dir, rootName), s.dir, filepath.Dir(s.dir)} {
		if err := syncFile(name); err != nil {
			return err
		}
	}
	return nil
}

// gone reports whether the files are not those any more that were opened.
func (s *store) gone() bool {
	info, err := os.Stat(filepath.Join(s.dir, rootName))
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, s.root)
}

// batch writes blocks and takes out ids, at once or not at all. With durable it
// returns when everything written so far is on disk.
func (s *store) batch(blocks []*block, gone []string, durable bool) error {
	b := bleve.NewBatch()
	for _, d := range blocks {
		b.Update(d)
	}
	for _, id := range gone {
		b.Delete(id)
	}
	var done chan error
	var failed <-chan error
	if durable {
		done = make(chan error, 1)
		b.SetPersistedCallback(func(err error) { done <- err })
		// Scorch persists only what changes something.
		b.SetInternal([]byte(barrier), []byte{1})
		failed = s.expect()
	}
	// Where one of scorch's goroutines has ended it might wait for ever.
	written := make(chan error, 1)
	go func() { written <- guard("panic", func() error { return s.index.Batch(b) }) }()
	var err error
	select {
	case err = <-written:
	case <-s.broken:
		err = s.failure()
	}
	if err == nil {
		err = s.written()
	}
	if err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	if durable {
		return s.wait(done, failed)
	}
	return nil
}

// records calls fn with every stored record, and returns the numbers of all
// blocks.
func (s *store) records(fn func(record []byte) error) (blocks []uint32, err error) {
	snapshot, err := s.snapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	for _, seg := range snapshot.Segments() {
		numbers, err := s.numbering.of(seg, snapshot)
		if err != nil {
			return nil, err
		}
		deleted := seg.Deleted()
		for n, number := range numbers {
			if deleted != nil && deleted.Contains(uint32(n)) {
				continue
			}
			blocks = append(blocks, number)
			var failed error
			err := seg.Segment().VisitStoredFields(uint64(n), func(field string, _ byte, value []byte, _ []uint64) bool {
				if field == fieldRecord {
					failed = fn(value) // which is gone when the visit is over
				}
				return true
			})
			if err := errors.Join(err, failed); err != nil {
				return nil, err
			}
		}
	}
	return blocks, nil
}

// closeLimit is how long scorch may take to stop: where one of its goroutines
// has ended, another may wait for it.
const closeLimit = 10 * time.Second

// close stops scorch. It does not wait for what is not on disk yet.
func (s *store) close() error {
	close(s.closing)
	defer stores.Delete(s.dir)
	defer stores.Delete(s.index)
	defer s.queue.Close()
	closed := make(chan error, 1)
	go func() { closed <- guard("close index", s.index.Close) }()
	limit := time.NewTimer(closeLimit)
	defer limit.Stop()
	select {
	case err := <-closed:
		return err
	case <-limit.C:
		return fmt.Errorf("close index: it works on after %v", closeLimit)
	}
}

var segmentName = regexp.MustCompile(`^[0-9a-f]{12}\.zap$`)

// checkSegments takes out strays, over which scorch stumbles, and compares each
// segment with its checksum, which scorch writes and never reads. It returns how
// many there are.
func checkSegments(dir string) (n int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".zap" {
			continue
		}
		name := filepath.Join(dir, e.Name())
		if !segmentName.MatchString(e.Name()) {
			if err := os.Remove(name); err != nil {
				return 0, err
			}
			continue
		}
		if err := checkSegment(name); err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

func checkSegment(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < 4 {
		return &fs.PathError{Op: "check", Path: name, Err: fmt.Errorf("%d bytes are no segment", info.Size())}
	}
	sum := crc32.NewIEEE()
	buf := make([]byte, 256<<10)
	for left := info.Size() - 4; left > 0; {
		n, err := f.Read(buf[:min(left, int64(len(buf)))])
		if err != nil {
			return err
		}
		sum.Write(buf[:n])
		left -= int64(n)
	}
	var tail [4]byte
	if _, err := f.ReadAt(tail[:], info.Size()-4); err != nil {
		return err
	}
	if binary.BigEndian.Uint32(tail[:]) != sum.Sum32() {
		return &fs.PathError{Op: "check", Path: name, Err: fmt.Errorf("checksum differs")}
	}
	return nil
}

func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// writeFile replaces a small file so that a crash leaves the old or the new one.
func writeFile(name, content string) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncFile(filepath.Dir(name))
}

// dirSize is the bytes of the files in a directory.
func dirSize(dir string) (n int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

// merge makes one segment of all, which leaves nothing of what was deleted.
func (s *store) merge(ctx context.Context) error {
	return s.index.(*scorch.Scorch).ForceMerge(ctx, nil)
}
