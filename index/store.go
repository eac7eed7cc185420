package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
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
	index bleve.Index
	queue *bleve.AnalysisQueue

	mu    sync.Mutex
	async error // the first failure in scorch's own goroutines
}

// asyncStores finds the store that a failure in the background belongs to:
// scorch only knows callbacks registered before anything is opened.
var asyncStores sync.Map // directory → *store

const asyncCallback = "memwatchd"

func init() {
	// Room for a hundred documents of the last one's size is too much where one
	// document can be a large file's.
	zap.NewSegmentBufferNumResultsBump = 0
	zap.NewSegmentBufferNumResultsFactor = 0
	scorch.RegistryAsyncErrorCallbacks[asyncCallback] = func(err error, path string) {
		if s, ok := asyncStores.Load(path); ok {
			s := s.(*store)
			s.mu.Lock()
			if s.async == nil {
				s.async = err
			}
			s.mu.Unlock()
		}
	}
}

// openStore opens or creates the index in dir. Any damage that can be seen
// without reading everything is an error.
func openStore(dir string) (s *store, err error) {
	fresh := false
	if _, err := os.Stat(filepath.Join(dir, "root.bolt")); os.IsNotExist(err) {
		fresh = true
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkSegments(dir); err != nil {
		return nil, err
	}
	queue := bleve.NewAnalysisQueue(2)
	s = &store{dir: dir, queue: queue}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("open index %s: %v", dir, r)
		}
		if err != nil {
			asyncStores.Delete(dir)
			queue.Close()
		}
	}()
	asyncStores.Store(dir, s)
	s.index, err = scorch.NewScorch(scorch.Name, map[string]any{
		"path":                   dir,
		"bolt_timeout":           "1s", // for ever, without it
		"asyncErrorCallbackName": asyncCallback,
		// A batch is visible when it returns, and on disk a moment later. What
		// a crash takes back is found missing at the next start, when the
		// records are compared with the files.
		"unsafe_batch":           true,
		"scorchPersisterOptions": map[string]any{"PersisterNapTimeMSec": 200, "PersisterNapUnderNumFiles": 1000},
	}, s.queue)
	if err != nil {
		return nil, err
	}
	if err := s.index.Open(); err != nil {
		return nil, err
	}
	if fresh {
		// Otherwise a power cut may leave an index that cannot be opened.
		if err := s.batch(nil, nil, true); err != nil {
			return nil, err
		}
		for _, name := range []string{filepath.Join(dir, "root.bolt"), dir, filepath.Dir(dir)} {
			if err := syncFile(name); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// batch writes blocks and takes out ids, at once or not at all. With durable it
// returns when everything written so far is on disk.
func (s *store) batch(blocks []*block, gone []string, durable bool) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("write index: %v", r)
		}
	}()
	b := bleve.NewBatch()
	for _, d := range blocks {
		b.Update(d)
	}
	for _, id := range gone {
		b.Delete(id)
	}
	var done chan error
	if durable {
		done = make(chan error, 1)
		b.SetPersistedCallback(func(err error) { done <- err })
		// Scorch persists only what changes something.
		b.SetInternal([]byte("barrier"), []byte{1})
	}
	if err := s.index.Batch(b); err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	if durable {
		return s.wait(done)
	}
	return nil
}

// persistLimit is how long a batch may take to reach the disk before that
// counts as failed. Scorch goes on trying.
const persistLimit = 10 * time.Second

func (s *store) wait(done <-chan error) error {
	limit := time.NewTimer(persistLimit)
	defer limit.Stop()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("write index: %w", err)
		}
		s.mu.Lock()
		s.async = nil // what failed before has been made good
		s.mu.Unlock()
		return nil
	case <-limit.C:
		if err := s.failure(); err != nil {
			return err
		}
		return fmt.Errorf("write index: not on disk after %v", persistLimit)
	}
}

// failure is the first error of scorch's own goroutines that has not been made
// good since.
func (s *store) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.async != nil {
		return fmt.Errorf("write index in the background: %w", s.async)
	}
	return nil
}

// records calls fn with every stored record.
func (s *store) records(fn func(path string, record []byte) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read index: %v", r)
		}
	}()
	reader, err := s.index.Reader()
	if err != nil {
		return err
	}
	defer reader.Close()
	ids, err := reader.DocIDReaderAll()
	if err != nil {
		return err
	}
	defer ids.Close()
	for {
		internal, err := ids.Next()
		if err != nil || internal == nil {
			return err
		}
		id, err := reader.ExternalID(internal)
		if err != nil {
			return err
		}
		path, ok := strings.CutSuffix(id, "\x000")
		if !ok {
			continue
		}
		doc, err := reader.Document(id)
		if err != nil {
			return err
		}
		if doc == nil {
			return fmt.Errorf("read index: no document %q", id)
		}
		var failed error
		found := false
		doc.VisitFields(func(f bleve.Field) {
			if f.Name() == fieldRecord {
				found = true
				failed = fn(path, f.Value())
			}
		})
		if failed != nil {
			return failed
		}
		if !found {
			return fmt.Errorf("read index: no record of %q", path)
		}
	}
}

// postings calls fn for each block that has the term.
func postings(ctx context.Context, r bleve.IndexReader, key string, fn func(number uint32, s slots)) (err error) {
	t, err := r.TermFieldReader(ctx, []byte(key), fieldTerms, true, true, false)
	if err != nil {
		return err
	}
	defer t.Close()
	var doc bleve.TermFieldDoc
	for {
		d, err := t.Next(&doc)
		if err != nil || d == nil {
			return err
		}
		fn(numberOfNorm(d.Norm), slots(d.Freq))
	}
}

// close stops scorch. It does not wait for what is not on disk yet: flush does.
func (s *store) close() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("close index: %v", r)
		}
	}()
	defer asyncStores.Delete(s.dir)
	defer s.queue.Close()
	return s.index.Close()
}

var segmentName = regexp.MustCompile(`^[0-9a-f]{12}\.zap$`)

// checkSegments takes out strays, over which scorch stumbles, and compares each
// segment with its checksum, which scorch writes and never reads.
func checkSegments(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".zap" {
			continue
		}
		name := filepath.Join(dir, e.Name())
		if !segmentName.MatchString(e.Name()) {
			if err := os.Remove(name); err != nil {
				return err
			}
			continue
		}
		if err := checkSegment(name); err != nil {
			return err
		}
	}
	return nil
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
