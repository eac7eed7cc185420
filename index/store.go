package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	"github.com/blevesearch/bleve/v2/util"
	bleve "github.com/blevesearch/bleve_index_api"
	zap "github.com/blevesearch/zapx/v16"
	"go.etcd.io/bbolt"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A store is one bleve index on disk. It uses scorch without the mapping layer
// of bleve, because this package makes documents and scores itself. Scorch
// provides immutable segments, merging, snapshots and deletion.
type store struct {
	dir   string
	root  fs.FileInfo // of root.bolt, which lists the segments
	index bleve.Index
	queue *bleve.AnalysisQueue
	background
	numbering numbering
	built     bool // all segments were merged, or need not be; see endBuild
}

func init() {
	// By default zap reserves space for a hundred documents of the size of the
	// last one. That is too much if a single document can represent a large
	// file.
	zap.NewSegmentBufferNumResultsBump = 0
	zap.NewSegmentBufferNumResultsFactor = 0
	// Writing a segment as it is races with Close: the persister of scorch ranges
	// over a map from which its introducer deletes, which ends the process. By
	// default a single segment in memory is written so. Merging does not race.
	scorch.DefaultMinSegmentsForInMemoryMerge = 1
}

// recoverPanic calls fn, which reads mapped files. It returns an error if fn panics,
// or faults because a file was truncated.
func recoverPanic(what string, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %v", what, r)
		}
	}()
	return fn()
}

const rootName = "root.bolt"

// openStore opens or creates the index in dir. It returns an error for any
// damage that it detects, such as a wrong checksum or a missing segment. Report
// receives later failures of the background goroutines.
func openStore(dir string, report func(*store, error, bool)) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(dir, rootName))
	fresh := errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
	var listed map[string]bool
	if !fresh {
		if err := recoverPanic("open index", func() (err error) { listed, err = readRoot(dir); return err }); err != nil {
			return nil, err
		}
	}
	segments, err := checkSegments(dir, listed)
	if err != nil {
		return nil, err
	}
	if fresh && segments > 0 {
		return nil, fmt.Errorf("open index %s: %d segments are missing from %s", dir, segments, rootName)
	}
	s := &store{dir: dir, queue: bleve.NewAnalysisQueue(2)}
	s.background = newBackground(func(err error, news bool) { report(s, err, news) })
	s.index, err = scorch.NewScorch(scorch.Name, map[string]any{
		"path":                   dir,
		"bolt_timeout":           "1s", // the default is no timeout
		"asyncErrorCallbackName": callbacks,
		"eventCallbackName":      callbacks,
		// A batch is visible when it returns, and on disk shortly after. If a
		// crash loses a batch, the comparison of records and files at the next
		// start detects the loss.
		"unsafe_batch": true,
		// The default of scorch is 2000 documents. Each save of a smaller index
		// would then rewrite the whole index.
		"scorchMergePlanOptions": map[string]any{"FloorSegmentSize": 200},
		// The threshold counts event callbacks in progress. While the one of the
		// merger waits for the end of a first build, the persister writes each
		// segment as it is; otherwise it merges those in memory.
		"scorchPersisterOptions": map[string]any{"MemoryPressurePauseThreshold": 1},
	}, s.queue)
	if err != nil {
		s.queue.Close()
		return nil, err
	}
	stores.Store(dir, s)
	stores.Store(s.index, s)
	err = recoverPanic("open index "+dir, s.index.Open)
	if err == nil {
		s.root, err = os.Stat(filepath.Join(dir, rootName))
	}
	switch {
	case err != nil:
	case fresh:
		err = s.persistNew()
	default:
		s.stopFilling()
		s.built = true
		err = recoverPanic("open index", s.checkRoot)
	}
	if err != nil {
		s.stopFilling() // close must not write to a partly opened store
		s.close()
		return nil, err
	}
	return s, nil
}

// readRoot returns the names of the segments that root.bolt lists. It returns an error
// if root.bolt was cut short: bolt would notice only when it needs a lost page,
// possibly within a write that can then neither end nor be repeated.
func readRoot(dir string) (listed map[string]bool, err error) {
	name := filepath.Join(dir, rootName)
	db, err := bbolt.Open(name, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	listed = map[string]bool{}
	return listed, db.View(func(tx *bbolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("open index %s: %s has %d of %d bytes", dir, rootName, info.Size(), tx.Size())
		}
		snapshots := tx.Bucket(util.BoltSnapshotsBucket)
		if snapshots == nil {
			return nil
		}
		return snapshots.ForEachBucket(func(epoch []byte) error {
			snapshot := snapshots.Bucket(epoch)
			return snapshot.ForEachBucket(func(key []byte) error {
				if name := snapshot.Bucket(key).Get(util.BoltPathKey); name != nil {
					listed[string(name)] = true
				}
				return nil
			})
		})
	})
}

// checkRoot returns an error unless the open index is the last written state.
// If a segment is missing, scorch silently falls back to an earlier state or to
// an empty index.
func (s *store) checkRoot() error {
	epochs, err := s.index.(*scorch.Scorch).RootBoltSnapshotEpochs()
	if err != nil || len(epochs) == 0 {
		return err // created, but never written
	}
	reader, err := s.index.Reader()
	if err != nil {
		return err
	}
	defer reader.Close()
	barrier, err := reader.GetInternal([]byte(persistKey))
	if err == nil && barrier == nil {
		err = fmt.Errorf("open index %s: segments are missing", s.dir)
	}
	return err
}

// persistKey is a key with a value in every index.
const persistKey = "barrier"

// persistNew writes a new index to disk. Without this step a power failure could
// leave an index that cannot be opened.
func (s *store) persistNew() error {
	if err := s.writeBatch(nil, nil, true); err != nil {
		return err
	}
	for _, name := range []string{filepath.Join(s.dir, rootName), s.dir, filepath.Dir(s.dir)} {
		if err := syncFile(name); err != nil {
			return err
		}
	}
	return nil
}

// endBuild ends the first build: from now on segments are merged, first all into one,
// because each term of a query is looked up in each segment, and rare terms take more
// space in many. When that is done, it calls merged, unless that is nil, in a separate
// goroutine. Calls must not overlap.
func (s *store) endBuild(merged func()) {
	if s.built {
		return
	}
	s.built = true
	s.stopFilling()
	snapshot, err := s.openSnapshot()
	if err != nil {
		return // the next search reports it
	}
	defer snapshot.Close()
	n := len(snapshot.Segments())
	all := mergeplan.SingleSegmentMergePlanOptions
	all.SegmentsPerMergeTask = n
	go func() {
		if n > 1 {
			recoverPanic("merge index", func() error {
				return s.index.(*scorch.Scorch).ForceMerge(context.Background(), &all) // until the store closes
			})
		}
		if merged != nil {
			merged()
		}
	}()
}

// filesReplaced reports whether the opened files have been removed or replaced.
func (s *store) filesReplaced() bool {
	info, err := os.Stat(filepath.Join(s.dir, rootName))
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, s.root)
}

// writeBatch atomically writes blocks and deletes ids. If durable is set, it returns
// when all previous writes are on disk.
func (s *store) writeBatch(blocks []*block, gone []string, durable bool) error {
	b := bleve.NewBatch()
	for _, d := range blocks {
		for _, p := range d.parts {
			b.Update(p)
		}
	}
	for _, id := range gone {
		b.Delete(id)
	}
	var done chan error
	var failed <-chan error
	if durable {
		done = make(chan error, 1)
		b.SetPersistedCallback(func(err error) { done <- err })
		// Scorch persists only batches that change something.
		b.SetInternal([]byte(persistKey), []byte{1})
		failed = s.expectPersist()
	}
	// If a goroutine of scorch has ended, Batch might block forever.
	written := make(chan error, 1)
	go func() { written <- recoverPanic("panic", func() error { return s.index.Batch(b) }) }()
	var err error
	select {
	case err = <-written:
	case <-s.broken:
		err = s.writeError()
	}
	if err == nil {
		err = s.countBatch()
	}
	if err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	if durable {
		return s.waitPersisted(done, failed)
	}
	return nil
}

// eachRecord calls fn for every stored record and returns the places of all
// parts.
func (s *store) eachRecord(fn func(record []byte) error) (parts []place, err error) {
	snapshot, err := s.openSnapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	for _, seg := range snapshot.Segments() {
		places, err := s.numbering.readPlaces(seg, snapshot)
		if err != nil {
			return nil, err
		}
		deleted := seg.Deleted()
		for n, at := range places {
			if deleted != nil && deleted.Contains(uint32(n)) {
				continue
			}
			parts = append(parts, at)
			if at.first() > 0 {
				continue
			}
			var failed error
			err := seg.Segment().
				VisitStoredFields(uint64(n), func(field string, _ byte, value []byte, _ []uint64) bool {
					if field == fieldRecord {
						failed = fn(value) // value is valid only during the visit
					}
					return true
				})
			if err := errors.Join(err, failed); err != nil {
				return nil, err
			}
		}
	}
	return parts, nil
}

// closeLimit bounds the time in which scorch must stop. If one goroutine of
// scorch has ended, another one may wait for it forever.
const closeLimit = 10 * time.Second

// close stops scorch. It waits for pending writes in a first build only, because their
// segments are written as they are, which races with Close.
func (s *store) close() error {
	select {
	case <-s.filled:
	case <-s.broken: // nothing can be written
	default:
		s.stopFilling()
		// An error means that the persister has failed, and merges from now on,
		// or that the disk has not responded for persistLimit.
		s.writeBatch(nil, nil, true)
	}
	close(s.closing)
	defer stores.Delete(s.dir)
	defer stores.Delete(s.index)
	defer s.queue.Close()
	closed := make(chan error, 1)
	go func() { closed <- recoverPanic("close index", s.index.Close) }()
	select {
	case err := <-closed:
		return err
	case <-time.After(closeLimit):
		return fmt.Errorf("close index: not finished after %v", closeLimit)
	}
}

var segmentName = lazyregexp.New(`^[0-9a-f]{12}\.zap$`)

// checkSegments verifies the checksum of each listed segment, which scorch writes but
// never reads. It removes stray files, which scorch cannot handle, and returns the
// number of segments. Scorch removes those that are not listed: if a process is
// killed while it writes a segment, an incomplete one is left.
func checkSegments(dir string, listed map[string]bool) (n int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".zap" {
			continue
		}
		name := filepath.Join(dir, e.Name())
		if !segmentName().MatchString(e.Name()) {
			if err := os.Remove(name); err != nil {
				return 0, err
			}
			continue
		}
		if listed[e.Name()] {
			if err := checkSegment(name); err != nil {
				return 0, err
			}
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
		return &fs.PathError{Op: "check", Path: name, Err: fmt.Errorf("%d bytes are too few for a "+
			"segment", info.Size())}
	}
	sum := crc32.NewIEEE()
	if _, err := io.CopyN(sum, f, info.Size()-4); err != nil {
		return err
	}
	var tail [4]byte
	if _, err := io.ReadFull(f, tail[:]); err != nil {
		return err
	}
	if binary.BigEndian.Uint32(tail[:]) != sum.Sum32() {
		return &fs.PathError{Op: "check", Path: name, Err: fmt.Errorf("checksum mismatch")}
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

// writeFile replaces a small file so that a crash leaves the old or the new
// version.
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

// dirSize returns the total size of the files in a directory, in bytes, or 0 if
// the directory cannot be read.
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
