package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
)

// A store keeps blocks in segments of bleve. A segment is immutable: a batch adds one
// in memory and marks documents of the others as deleted. Two goroutines write the
// segments to disk and merge them; see save.go and merge.go.
//
// The directory has a file for each segment, and one that lists the segments on disk
// and their deleted documents. Replacing the list changes the state on disk, so a
// crash leaves the state after some batch.
type store struct {
	dir    string
	info   fs.FileInfo // of dir
	report func(s *store, err error, news bool)

	changed chan struct{} // receives when the list was changed, or a caller waits for the disk
	hurry   chan struct{} // receives when a caller waits for the disk
	saves   chan struct{} // receives when segments may have to be merged
	closing chan struct{} // closed by close
	broken  chan struct{} // closed when the store can write no more
	loops   sync.WaitGroup

	breakOnce sync.Once

	mu       sync.Mutex
	members  members  // the list; a change replaces it
	version  uint64   // of the list
	saved    uint64   // version of the list on disk
	lastFile uint64   // number of the last file
	unlisted []string // files to remove after the next save
	building bool
	merged   func()           // called after the merge that ends a build; nil if that is done
	waiting  []chan<- error   // callers that wait for the disk
	purging  []chan<- error   // callers that wait until no segment on disk has deleted documents
	failures map[string]error // by name of the goroutine, until it succeeds
	closed   bool
}

// errPanic is in the chain of an error that was a panic.
var errPanic = errors.New("panic")

// recoverPanic calls fn, which reads mapped files. It returns an error if fn panics,
// or faults because a file was truncated.
func recoverPanic(what string, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %w: %v", what, errPanic, r)
		}
	}()
	return fn()
}

// openStore opens or creates the store in dir. It returns an error for any damage that
// it detects, such as a wrong checksum or a missing segment. Report receives later
// failures of the goroutines.
func openStore(dir string, report func(s *store, err error, news bool)) (*store, error) {
	if _, ok := unfinished.Load(dir); ok {
		return nil, fmt.Errorf("open index %s: %w", dir, errUnfinished)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := newStore(dir, report)
	err := recoverPanic("open index "+dir, s.readFiles)
	if err != nil {
		return nil, errors.Join(err, s.members.close())
	}
	s.start()
	return s, nil
}

func newStore(dir string, report func(s *store, err error, news bool)) *store {
	return &store{
		dir: dir, report: report, failures: make(map[string]error),
		changed: make(chan struct{}, 1), hurry: make(chan struct{}, 1), saves: make(chan struct{}, 1),
		closing: make(chan struct{}), broken: make(chan struct{}),
	}
}

// readFiles reads the list and opens its segments. It removes other segments, which remain
// if a process is killed.
func (s *store) readFiles() error {
	list, err := readList(s.dir)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return err
	}
	s.info, err = os.Stat(s.dir)
	if err != nil {
		return err
	}
	keep := make(map[string]bool)
	for _, l := range list {
		name := s.fileName(l.Number)
		if err := checkSegment(name); err != nil {
			return err
		}
		m, err := openSegment(name, l.Number)
		if err != nil {
			return err
		}
		if len(l.Deleted) > 0 {
			m.deleted = roaring.New()
			if err := m.deleted.UnmarshalBinary(l.Deleted); err != nil {
				return errors.Join(err, m.DecRef())
			}
		}
		s.members = append(s.members, m)
		s.lastFile = max(s.lastFile, l.Number)
		keep[filepath.Base(name)] = true
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if keep[e.Name()] || ext != segmentSuffix && ext != ".tmp" {
			continue
		}
		if fresh && ext == segmentSuffix {
			return fmt.Errorf("open index %s: the list of the segments is missing", s.dir)
		}
		if err := os.RemoveAll(filepath.Join(s.dir, e.Name())); err != nil {
			return err
		}
	}
	if fresh {
		s.building = true
		return errors.Join(writeList(s.dir, nil), syncFile(filepath.Dir(s.dir)))
	}
	return nil
}

const segmentSuffix = ".zap"

// fileName returns the name of the file of a segment.
func (s *store) fileName(number uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%012x%s", number, segmentSuffix))
}

// writeBatch atomically adds blocks and deletes those with the ids gone. It calls
// publish with the function that makes the change visible.
func (s *store) writeBatch(blocks []*block, gone []string, publish func(change func() error) error) error {
	s.mu.Lock()
	building := s.building
	s.mu.Unlock()
	added, err := newSegments(blocks, building)
	if err == nil {
		err = publish(func() error {
			return recoverPanic("write index", func() error { return s.changeList(added, gone) })
		})
	}
	if err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	switch unsaved := s.unsaved(); {
	case unsaved >= maxUnsaved:
		return s.flush()
	case building && unsaved > maxBuilt:
		s.flush() // an error is reported anyway
	}
	return nil
}

// maxBuilt is the number of segments in memory above which a build waits for the disk.
const maxBuilt = 8

// maxUnsaved bounds the segments in memory while the disk fails or does not respond.
// Every search must read each of them. Beyond the limit it is better to open the state
// on disk again, which has few large segments.
const maxUnsaved = 1000

// unsaved returns the number of segments that are not on disk.
func (s *store) unsaved() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if m.number == 0 {
			n++
		}
	}
	return n
}

// changeList adds segments to the list and deletes documents of the others.
func (s *store) changeList(added members, gone []string) error {
	if len(added)+len(gone) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	list := slices.Clone(s.members)
	for i := range list {
		if len(gone) == 0 {
			break
		}
		found, err := list[i].DocNumbers(gone)
		if err != nil {
			return err
		}
		if found.IsEmpty() {
			continue
		}
		if list[i].deleted != nil {
			found.Or(list[i].deleted)
		}
		list[i].deleted = found
	}
	s.members = append(list, added...)
	s.version++
	signal(s.changed)
	return nil
}

// openSnapshot returns the current list. The caller must close it.
func (s *store) openSnapshot() (members, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.openSnapshotLocked()
}

// openSnapshotLocked is openSnapshot for callers that hold s.mu.
func (s *store) openSnapshotLocked() (members, error) {
	if s.closed {
		return nil, errClosed
	}
	for _, m := range s.members {
		m.AddRef()
	}
	return s.members, nil
}

var errClosed = errors.New("the index is closed")

// eachRecord calls fn for every stored record and returns the places of all
// parts.
func (s *store) eachRecord(fn func(record []byte) error) (parts []place, err error) {
	list, err := s.openSnapshot()
	if err != nil {
		return nil, err
	}
	defer list.close()
	for _, m := range list {
		for n, at := range m.places {
			if m.deleted != nil && m.deleted.Contains(uint32(n)) {
				continue
			}
			parts = append(parts, at)
			if at.first() > 0 {
				continue
			}
			var failed error
			err := m.VisitStoredFields(uint64(n), func(field string, _ byte, value []byte, _ []uint64) bool {
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

// listName is the name of the file that lists the segments.
const listName = "segments"

// A listed describes a segment in the list on disk.
type listed struct {
	Number  uint64 `json:"number"`            // of its file
	Deleted []byte `json:"deleted,omitempty"` // bitmap in the format of roaring
}

// readList reads the list of the segments in dir.
func readList(dir string) (list []listed, err error) {
	name := filepath.Join(dir, listName)
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	sum, text, _ := strings.Cut(string(data), "\n")
	if sum != checksum([]byte(text)) {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errChecksum}
	}
	err = json.Unmarshal([]byte(text), &list)
	return list, err
}

// writeList replaces the list of the segments in dir.
func writeList(dir string, l members) error {
	list := make([]listed, len(l))
	for i, m := range l {
		list[i].Number = m.number
		if m.deleted == nil {
			continue
		}
		deleted, err := m.deleted.ToBytes()
		if err != nil {
			return err
		}
		list[i].Deleted = deleted
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, listName), checksum(text)+"\n"+string(text))
}

func checksum(text []byte) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) }

var errChecksum = errors.New("checksum mismatch")

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
	temporary := name + ".tmp"
	os.Remove(temporary) // of a process that was killed
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
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
