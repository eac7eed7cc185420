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
	"slices"
	"sync"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	"github.com/blevesearch/bleve/v2/util"
	bleve "github.com/blevesearch/bleve_index_api"
	zapapi "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v16"
	"go.etcd.io/bbolt"

	"github.com/memwatchd/memwatchd/internal/state"
)

// A store is one index of bleve, which [bleve.Open] opens. Its documents are blocks, which
// this package makes and scores itself; scorch, the index of bleve, keeps them in
// immutable segments, which it merges, and provides snapshots.
//
// [bleve.Open]: https://pkg.go.dev/github.com/blevesearch/bleve/v2#Open
type store struct {
	dir    string
	report func(s *store, err error, news bool)

	scorch *scorch.Scorch
	queue  *bleve.AnalysisQueue

	closing chan struct{}
	hurry   chan struct{} // receives when a caller waits for the disk
	numbers numbering
	purges  sync.Mutex // one merge of all segments at a time

	batches sync.Mutex
	gone    []string // ids of blocks that are no longer in the table, to delete with the next batch; guarded by batches

	mu       sync.Mutex
	fresh    bool             // in a first build
	failures map[string]error // by name of the goroutine, until it succeeds
	pause    time.Duration
	unsaved  int // batches since the last one on disk
}

const (
	// firstPause and lastPause are the shortest and longest pauses before bleve repeats
	// a step that failed.
	firstPause = 250 * time.Millisecond
	lastPause  = 15 * time.Second
	// saveDelay is the least time between two writes to disk. Batches that arrive in
	// this time are written together.
	saveDelay = 200 * time.Millisecond
	// buildDelay and buildUnsaved are the time and the number of batches after which a part
	// of a first build is written.
	buildDelay   = time.Minute
	buildUnsaved = 64
	// saveLimit bounds the time in which a batch must reach the disk.
	saveLimit = 10 * time.Second
	// maxUnsaved bounds the batches that are not on disk while writing fails. Each is
	// a segment that every search must read.
	maxUnsaved = 1000
)

// config returns the configuration of an index. Bleve writes into the map, so each
// index needs its own.
func (s *store) config() map[string]any {
	return map[string]any{
		"path":                s.path(),
		"bolt_timeout":        "1s", // the default is no timeout
		"forceSegmentType":    zap.Type,
		"forceSegmentVersion": int(zap.Version),
		"numSnapshotsToKeep":  1,
		// A batch is visible when it returns, and on disk shortly after. If a crash
		// loses a batch, the comparison of records and files at the next start
		// detects the loss.
		"unsafe_batch": true,
		// By default, each save of an index of 2000 documents would rewrite it.
		"scorchMergePlanOptions": map[string]any{"FloorSegmentSize": 200},
		"asyncErrorCallbackName": callbacks,
		"eventCallbackName":      callbacks,
	}
}

// The descriptions that bleve.Open reads: of the kind of index, and of the fields of
// documents, of which there are none, because documents have their own.
const (
	metaName    = "index_meta.json"
	metaText    = `{"storage":"scorch","index_type":"scorch","config":{"forceSegmentType":"zap","forceSegmentVersion":16}}`
	mappingText = `{"default_mapping":{"enabled":false},"type_field":"_type","default_type":"_default",` +
		`"default_analyzer":"standard","default_datetime_parser":"dateTimeOptional","default_field":"_all"}`
)

// openStore opens the index in dir, or creates one if the directory does not exist. It
// returns an error for any damage that it detects. Report receives later failures, and
// nil after recovery.
func openStore(dir string, report func(s *store, err error, news bool)) (*store, error) {
	s := &store{dir: dir, report: report, failures: make(map[string]error), closing: make(chan struct{}),
		hurry: make(chan struct{}, 1), numbers: numbering{numbers: make(map[uint64][]uint32)},
		queue: bleve.NewAnalysisQueue(2)}
	err := s.open()
	if err != nil {
		err = fmt.Errorf("open index %s: %w", dir, err)
		if s.scorch == nil {
			s.queue.Close()
			return nil, err
		}
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// open opens the segments, or creates an empty index if the store is fresh. A store without
// the mapping has lost segments.
func (s *store) open() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if text, _ := os.ReadFile(filepath.Join(s.dir, metaName)); string(text) != metaText {
		if err := state.Write(filepath.Join(s.dir, metaName), []byte(metaText)); err != nil {
			return err
		}
	}
	if err := recoverPanic("open index", s.checkRoot); err != nil {
		return err
	}
	x, err := scorch.NewScorch(scorch.Name, s.config(), s.queue)
	if err != nil {
		return err
	}
	stores.Store(s.path(), s)
	stores.Store(x, s)
	opened := x.(*scorch.Scorch)
	if err := recoverPanic("open index", opened.Open); err != nil {
		stores.Delete(s.path())
		stores.Delete(x)
		return err
	}
	s.scorch = opened
	if s.fresh {
		b := bleve.NewBatch()
		b.SetInternal(util.MappingInternalKey, []byte(mappingText))
		return s.apply(b)
	}
	// If scorch cannot read the last state, it opens an earlier one, or an empty index.
	snapshot, err := s.openSnapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close()
	if mapping, err := snapshot.GetInternal(util.MappingInternalKey); err != nil || mapping == nil {
		return errors.Join(errors.New("segments are missing or damaged"), err)
	}
	return nil
}

// checkRoot reads all of the file that lists the segments, and sets fresh if there is none,
// or nothing in it. Bolt finds damage only when it needs a page, possibly in another
// goroutine, where a file that was cut short ends the process.
func (s *store) checkRoot() error {
	name := filepath.Join(s.path(), "root.bolt")
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		s.fresh = true
		return nil
	}
	if err != nil {
		return err
	}
	db, err := bbolt.Open(name, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bbolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("%s has %d of %d bytes", name, info.Size(), tx.Size())
		}
		if err := s.checkState(tx.Bucket(util.BoltSnapshotsBucket)); err != nil {
			return err
		}
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error { return readBuckets(b) })
	})
}

// checkState verifies the checksums of the segments of the last state, and sets fresh if
// there is none. Zap writes the checksums and never reads them, and if a segment is missing
// scorch opens an earlier state.
func (s *store) checkState(states *bbolt.Bucket) error {
	var last []byte
	if states != nil {
		last, _ = states.Cursor().Last()
	}
	if last == nil {
		s.fresh = true
		return nil
	}
	bucket := states.Bucket(last)
	return bucket.ForEachBucket(func(key []byte) error {
		name := bucket.Bucket(key).Get(util.BoltPathKey)
		if name == nil {
			return nil
		}
		return checkSegment(filepath.Join(s.path(), string(name)))
	})
}

func readBuckets(b *bbolt.Bucket) error {
	return b.ForEach(func(key, value []byte) error {
		if value != nil {
			return nil
		}
		inner := b.Bucket(key)
		if inner == nil {
			return errors.New("invalid bucket")
		}
		return readBuckets(inner)
	})
}

// path returns the directory of the segments, in which bleve.Open expects them.
func (s *store) path() string { return filepath.Join(s.dir, "store") }

// stores contains the open stores, by directory and by scorch. The callbacks find their
// store in it, because scorch only uses callbacks that were registered before.
var stores sync.Map

const callbacks = "memwatchd"

func init() {
	// By default zap reserves space for a hundred documents of the size of the
	// last one. That is too much if a single document can represent a large
	// file.
	zap.NewSegmentBufferNumResultsBump = 0
	zap.NewSegmentBufferNumResultsFactor = 0
	scorch.RegisterSegmentPlugin(guardedSegments{new(zap.ZapPlugin)}, false)
	scorch.RegistryAsyncErrorCallbacks[callbacks] = func(err error, dir string) {
		if s, ok := stores.Load(dir); ok {
			s.(*store).handleFailure(err)
		}
	}
	scorch.RegistryEventCallbacks[callbacks] = func(e scorch.Event) bool {
		if s, ok := stores.Load(e.Scorch); ok {
			switch e.Kind {
			case scorch.EventKindPersisterProgress:
				s.(*store).recordSuccess("persister")
				s.(*store).wait(s.(*store).delay(), s.(*store).hurry)
			case scorch.EventKindMergerProgress:
				s.(*store).recordSuccess("merger")
			}
		}
		return true
	}
}

// handleFailure handles an error of a goroutine of scorch, which repeats the step when
// handleFailure returns.
func (s *store) handleFailure(err error) {
	failure, ok := errors.AsType[*scorch.ScorchError](err)
	if !ok || failure.ErrType == scorch.ErrCleanup {
		return // unneeded files remain until the next cleanup
	}
	select {
	case <-s.closing:
		return // steps that closing interrupts fail
	default:
	}
	s.mu.Lock()
	news := len(s.failures) == 0
	s.failures[failure.Source] = err
	s.pause = min(max(firstPause, 2*s.pause), lastPause)
	pause := s.pause
	s.mu.Unlock()
	s.report(s, err, news)
	s.wait(pause, nil)
}

func (s *store) recordSuccess(source string) {
	s.mu.Lock()
	failed := s.failures[source] != nil
	delete(s.failures, source)
	failed = failed && len(s.failures) == 0
	if source == "persister" {
		s.unsaved = 0
	}
	if len(s.failures) == 0 {
		s.pause = 0
	}
	s.mu.Unlock()
	if failed {
		s.report(s, nil, true)
	}
}

// delay returns the least time between two writes to disk. Parts of a first build are
// merged at its end, so it is written in few.
func (s *store) delay() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fresh {
		return buildDelay
	}
	return saveDelay
}

// wait waits for a time, until hurry receives, or until the store closes.
func (s *store) wait(pause time.Duration, hurry <-chan struct{}) {
	select {
	case <-time.After(pause):
	case <-hurry:
	case <-s.closing:
	}
}

// failure returns the error because of which the index is not on disk, or nil.
func (s *store) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, err := range s.failures {
		return err
	}
	return nil
}

// writeBatch adds blocks. It calls publish when the store contains them: from then on
// the table has them, in place of the blocks with the ids gone. The next batch deletes
// these, so a search whose table has them finds them.
func (s *store) writeBatch(blocks []*block, gone []string, publish func()) error {
	b := bleve.NewBatch()
	for _, d := range blocks {
		b.Update(d)
	}
	if err := s.apply(b); err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	publish()
	s.batches.Lock()
	defer s.batches.Unlock()
	s.gone = append(s.gone, gone...)
	return nil
}

// apply applies a batch, with the pending deletions.
func (s *store) apply(b *bleve.Batch) error {
	s.batches.Lock()
	defer s.batches.Unlock()
	s.mu.Lock()
	s.unsaved++
	full := len(s.failures) > 0 && s.unsaved > maxUnsaved
	if s.unsaved%buildUnsaved == 0 {
		s.wake()
	}
	s.mu.Unlock()
	if full {
		return fmt.Errorf("%w: %d changes are not on disk: %w", errUnsaved, maxUnsaved, s.failure())
	}
	for _, id := range s.gone {
		if _, reused := b.IndexOps[id]; !reused {
			b.Delete(id)
		}
	}
	s.gone = nil
	return recoverPanic("write index", func() error { return s.scorch.Batch(b) })
}

// flush returns when everything is on disk.
func (s *store) flush() error {
	b := bleve.NewBatch()
	b.SetInternal([]byte("flush"), []byte{1}) // scorch persists only batches that change something
	done := make(chan error, 1)
	b.SetPersistedCallback(func(err error) { done <- err })
	if err := s.apply(b); err != nil {
		return err
	}
	s.wake()
	select {
	case err := <-done:
		return err
	case <-time.After(saveLimit):
		if err := s.failure(); err != nil {
			return err
		}
		return fmt.Errorf("write index: not on disk after %v", saveLimit)
	}
}

// mergeAll merges all segments into one, which has no deleted documents: each term of a
// query is looked up in each segment, and rare terms take more space in many.
func (s *store) mergeAll() error {
	s.purges.Lock()
	defer s.purges.Unlock()
	snapshot, err := s.openSnapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close()
	plan := mergeplan.SingleSegmentMergePlanOptions
	plan.SegmentsPerMergeTask = max(2, len(snapshot.Segments()))
	return s.scorch.ForceMerge(context.Background(), &plan)
}

// endBuild ends a first build, and its pauses between two writes to disk.
func (s *store) endBuild() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fresh {
		s.fresh = false
		s.wake()
		go s.mergeAll() // an error is reported
	}
}

// purge removes what has been deleted so far from the files on disk.
func (s *store) purge() error {
	// Scorch merges a segment with others only.
	b := bleve.NewBatch()
	b.Update(&block{number: purgeBlock})
	write := func() error { return s.apply(b) }
	for _, step := range []func() error{write, s.flush, s.mergeAll, s.flush} {
		if err := step(); err != nil {
			return err
		}
	}
	old, err := s.oldFiles()
	end := time.Now().Add(saveLimit)
	for err == nil && len(old) > 0 && time.Now().Before(end) {
		time.Sleep(10 * time.Millisecond)
		s.wake() // the goroutine that writes also removes unused files
		var still []string
		still, err = s.oldFiles()
		old = slices.DeleteFunc(old, func(name string) bool { return !slices.Contains(still, name) })
	}
	for _, name := range old { // Scorch keeps those of a write that failed until its next start
		if removed := os.Remove(name); !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	return err
}

// oldFiles returns the files with segments that the current state does not have.
func (s *store) oldFiles() ([]string, error) {
	files, err := state.Glob(s.path(), "*.zap")
	if err != nil {
		return nil, err
	}
	snapshot, err := s.openSnapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	for _, seg := range snapshot.Segments() {
		if saved, ok := seg.Segment().(zapapi.PersistedSegment); ok {
			files = slices.DeleteFunc(files, func(name string) bool { return name == saved.Path() })
		}
	}
	return files, nil
}

// wake ends the pause before the next write to disk.
func (s *store) wake() {
	select {
	case s.hurry <- struct{}{}:
	default:
	}
}

// openSnapshot returns the current state of the store. The caller must close it.
func (s *store) openSnapshot() (*scorch.IndexSnapshot, error) {
	r, err := s.scorch.Reader()
	if err != nil {
		return nil, err
	}
	snapshot := r.(*scorch.IndexSnapshot)
	if snapshot == nil {
		return nil, errors.New("index is closed")
	}
	return snapshot, nil
}

// eachRecord calls fn for every stored record and returns the numbers of all blocks.
func (s *store) eachRecord(fn func(record []byte) error) (blocks []uint32, err error) {
	snapshot, err := s.openSnapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	for _, seg := range snapshot.Segments() {
		numbers, err := s.numbers.read(seg, snapshot)
		if err != nil {
			return nil, err
		}
		deleted := seg.Deleted()
		for n, number := range numbers {
			if deleted != nil && deleted.Contains(uint32(n)) || number == purgeBlock {
				continue
			}
			blocks = append(blocks, number)
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
	return blocks, nil
}

// close closes the index. Searches keep their snapshots.
func (s *store) close() error {
	close(s.closing)
	err := recoverPanic("close index", s.scorch.Close)
	s.queue.Close()
	stores.Delete(s.path())
	stores.Delete(bleve.Index(s.scorch))
	return err
}

// guardedSegments is the format of segments. It returns an error if a mapped file cannot
// be read during a merge, which would end the process.
type guardedSegments struct{ *zap.ZapPlugin }

// MergeUsing merges segments into a new file.
func (p guardedSegments) MergeUsing(segments []zapapi.Segment, drops []*roaring.Bitmap, path string, done chan struct{},
	r zapapi.StatsReporter, config map[string]any) (numbers [][]uint64, size uint64, err error) {
	err = recoverPanic("merge segments", func() (err error) {
		numbers, size, err = p.ZapPlugin.MergeUsing(segments, drops, path, done, r, config)
		return err
	})
	return numbers, size, err
}

// checkSegment verifies the checksum at the end of the file of a segment.
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
	if info.Size() < zap.FooterSize {
		return fmt.Errorf("%s: %d bytes are too few for a segment", name, info.Size())
	}
	sum, tail := crc32.NewIEEE(), make([]byte, 4)
	_, err = io.CopyN(sum, f, info.Size()-4)
	if err == nil {
		_, err = io.ReadFull(f, tail)
	}
	if err == nil && binary.BigEndian.Uint32(tail) != sum.Sum32() {
		return fmt.Errorf("%s: %w", name, errChecksum)
	}
	return err
}

var errChecksum = errors.New("checksum mismatch")
