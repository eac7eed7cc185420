// Package vectors stores the vectors of texts on disk and finds those nearest to
// a query.
//
// A [Store] holds the vectors of one model. It keeps each partition of the
// memory apart, so that a search reads the vectors of readable partitions only.
// A vector is stored as one bit per dimension and as one byte per dimension. A
// search compares the bits of every vector, then the bytes of the nearest ones.
//
// The store is a cache: a vector that is lost or damaged can be requested from
// the model again.
package vectors

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Key identifies a text within a partition: the beginning of its SHA-256.
type Key uint64

// MaxDimensions bounds the number of dimensions of a vector.
const MaxDimensions = 8192

// A Store is the vectors of one model in a directory. Its methods are safe for
// concurrent use.
type Store struct {
	dir        string
	dimensions int

	mu         sync.Mutex // guards partitions
	partitions map[string]*partition
}

// Open opens the store in a directory, which it creates if necessary. A damaged
// file is cut or removed; its vectors are missing from the store.
func Open(dir string, dimensions int) (*Store, error) {
	if dimensions < 1 || dimensions > MaxDimensions {
		return nil, fmt.Errorf("open vectors: %d dimensions", dimensions)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open vectors: %w", err)
	}
	s := &Store{dir: dir, dimensions: dimensions, partitions: map[string]*partition{}}
	names, err := s.listFiles()
	if err != nil {
		return nil, fmt.Errorf("open vectors: %w", err)
	}
	for _, name := range names {
		p, err := openPartition(dir, name, dimensions)
		if errors.Is(err, errDamaged) {
			p, err = nil, removeFiles(filepath.Join(dir, name))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open vectors: %w", err), s.Close())
		}
		if p != nil {
			s.partitions[p.name] = p
		}
	}
	return s, nil
}

// The extensions of the two files of a partition.
const (
	bitsExt  = ".bits"
	bytesExt = ".bytes"
)

// fileName returns the name of the files of a partition without extension. Each
// rewriting has the next generation, whose bits file appears last.
func fileName(partition string, generation int) string {
	return fileID(partition) + "-" + strconv.Itoa(generation)
}

func fileID(partition string) string {
	sum := sha256.Sum256([]byte(partition))
	return hex.EncodeToString(sum[:16])
}

// listFiles returns the names of the newest complete generations, without
// extensions. It removes the files of others.
func (s *Store) listFiles() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	newest := map[string]int{} // generation by partition
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), bitsExt)
		id, number, _ := strings.Cut(stem, "-")
		if n, err := strconv.Atoi(number); ok && err == nil && n >= newest[id] {
			newest[id] = n
		}
	}
	var names []string
	for _, id := range slices.Sorted(maps.Keys(newest)) {
		names = append(names, id+"-"+strconv.Itoa(newest[id]))
	}
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		stem := strings.TrimSuffix(e.Name(), ext)
		if slices.Contains([]string{bitsExt, bytesExt, tempExt}, ext) && (ext == tempExt || !slices.Contains(names, stem)) {
			if err := os.RemoveAll(filepath.Join(s.dir, e.Name())); err != nil {
				return nil, err
			}
		}
	}
	return names, nil
}

// removeFiles deletes the files of a generation that exist.
func removeFiles(path string) error {
	var errs []error
	for _, ext := range []string{bitsExt, bytesExt, tempExt} {
		if err := os.Remove(path + ext); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Dimensions returns the number of dimensions of each vector.
func (s *Store) Dimensions() int { return s.dimensions }

// find returns a partition, or nil if it has no vectors.
func (s *Store) find(name string) *partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.partitions[name]
}

// Has reports whether a partition has the vector of a text.
func (s *Store) Has(partition string, key Key) bool {
	p := s.find(partition)
	return p != nil && p.has(key)
}

// A Row is a vector in its stored form: its direction, as one signed byte per
// dimension.
type Row struct {
	Key   Key
	Bytes []byte
}

// Append adds vectors to a partition. It returns when they are on disk. A key that
// is present keeps its vector.
func (s *Store) Append(partition string, rows []Row) error {
	for _, r := range rows {
		if len(r.Bytes) != s.dimensions || !slices.ContainsFunc(r.Bytes, func(x byte) bool { return x != 0 }) {
			return fmt.Errorf("store vectors: not a vector of %d dimensions", s.dimensions)
		}
	}
	if err := s.findOrAdd(partition).append(rows); err != nil {
		return fmt.Errorf("store vectors: %w", err)
	}
	return nil
}

func (s *Store) findOrAdd(name string) *partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.partitions[name]
	if p == nil {
		p = &partition{dir: s.dir, name: name, dimensions: s.dimensions, rows: map[Key]uint32{}}
		s.partitions[name] = p
	}
	return p
}

// Retain removes every vector that keep rejects. It returns when no file of the
// store contains them.
func (s *Store) Retain(keep func(partition string, key Key) bool) error {
	for _, p := range s.list() {
		if err := p.retain(func(k Key) bool { return keep(p.name, k) }); err != nil {
			return fmt.Errorf("remove vectors: %w", err)
		}
	}
	return nil
}

// list returns the partitions, ordered by name.
func (s *Store) list() []*partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.partitions), func(p, q *partition) int {
		return strings.Compare(p.name, q.name)
	})
}

// Len returns the number of vectors.
func (s *Store) Len() (n int) {
	for _, p := range s.list() {
		n += p.len()
	}
	return n
}

// Close closes the files. Later calls find no vectors and add none.
func (s *Store) Close() error {
	var errs []error
	for _, p := range s.list() {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}

// Quantize returns the direction of a vector with one signed byte per dimension.
func Quantize(v []float32) []byte {
	most := 0.0
	for _, x := range v {
		most = max(most, math.Abs(float64(x)))
	}
	out := make([]byte, len(v))
	for i, x := range v {
		out[i] = byte(int8(math.Round(float64(x) / most * 127)))
	}
	return out
}
