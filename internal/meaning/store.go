package meaning

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/bits"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/memory"
)

// A partitionFile contains the vectors of one partition of the memory, so that a
// search reads those of readable partitions only. After a header, it has a row for
// each vector:
//
//	key       8 bytes
//	checksum  4 bytes  of the rest of the row
//	vector    1 signed byte per dimension
//
// Rows are added to the end. A bit for each dimension is in memory.
type partitionFile struct {
	path       string
	of         memory.Partition
	dimensions int
	start      int64 // of the first row

	// A caller of a method that changes the file holds Embedder.storing. The mutex,
	// which each search needs, is not held while such a call waits for the disk.
	mu   sync.RWMutex
	file *os.File // nil without rows
	keys []index.TextKey
	bits []uint64 // of all rows: set if a dimension is not negative
	rows map[index.TextKey]bool
}

const (
	vectorExt = ".vec"
	magic     = "memvec2\n"
	rowHead   = 12 // bytes of a row before the vector

	maxDimensions = 8192
	maxName       = 1 << 16 // bytes of the name of a partition
)

var (
	errDamaged = errors.New("damaged file of vectors")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// partitionName returns the name of a partition in files: its owner, a zero byte, and its kind.
func partitionName(p memory.Partition) string { return p.Owner + "\x00" + string(p.Kind()) }

// header returns the beginning of the file: the magic number, the number of
// dimensions, the length of the name, the name, and a checksum.
func (p *partitionFile) header() []byte {
	name := partitionName(p.of)
	b := binary.LittleEndian.AppendUint32([]byte(magic), uint32(p.dimensions))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(name)))
	b = append(b, name...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func (p *partitionFile) rowSize() int { return rowHead + p.dimensions }
func (p *partitionFile) words() int   { return (p.dimensions + 63) / 64 }

func (p *partitionFile) offset(row int) int64 {
	return p.start + int64(row)*int64(p.rowSize())
}

// openPartition reads a file. It cuts off the rows from the first that is torn or damaged.
// The error is errDamaged if the header is damaged or has another number of dimensions.
func openPartition(path string, dimensions int) (*partitionFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	p := &partitionFile{path: path, dimensions: dimensions, file: f, rows: map[index.TextKey]bool{}}
	if err := p.read(bufio.NewReaderSize(f, 1<<20)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// read reads the header and all rows. It truncates the file at the first row that is
// incomplete or damaged.
func (p *partitionFile) read(r io.Reader) error {
	head := make([]byte, len(magic)+8)
	if _, err := io.ReadFull(r, head); err != nil {
		return errDamaged
	}
	name := make([]byte, min(binary.LittleEndian.Uint32(head[len(head)-4:]), maxName)+4)
	if _, err := io.ReadFull(r, name); err != nil {
		return errDamaged
	}
	owner, kind, _ := strings.Cut(string(name[:len(name)-4]), "\x00")
	if kind == "" {
		return errDamaged
	}
	p.of = memory.PartitionOf(owner, kind[0])
	if string(p.header()) != string(head)+string(name) {
		return errDamaged
	}
	p.start = int64(len(head) + len(name))
	row := make([]byte, p.rowSize())
	for {
		_, err := io.ReadFull(r, row)
		switch {
		case err == io.EOF:
			return nil
		case err == io.ErrUnexpectedEOF, err == nil && sumRow(row) != binary.LittleEndian.Uint32(row[8:]):
			return p.file.Truncate(p.offset(len(p.keys)))
		case err != nil:
			return err
		}
		p.addRow(row)
	}
}

// addRow adds a row to those in memory.
func (p *partitionFile) addRow(row []byte) {
	key := index.TextKey(binary.LittleEndian.Uint64(row))
	p.rows[key] = true
	p.keys = append(p.keys, key)
	for word := range slices.Chunk(row[rowHead:], 64) {
		set := uint64(0)
		for i, x := range word {
			set |= uint64(^x>>7) << i // of numbers that are not negative
		}
		p.bits = append(p.bits, set)
	}
}

func sumRow(row []byte) uint32 {
	return crc32.Update(crc32.Checksum(row[:8], castagnoli), castagnoli, row[rowHead:])
}

// encodeRow returns the row of a vector: its direction, in whole numbers.
func encodeRow(key index.TextKey, v []float32) []byte {
	most := 0.0
	for _, x := range v {
		most = max(most, math.Abs(float64(x)))
	}
	row := make([]byte, rowHead+len(v))
	binary.LittleEndian.PutUint64(row, uint64(key))
	for i, x := range v {
		row[rowHead+i] = byte(int8(math.Round(float64(x) / most * 127)))
	}
	binary.LittleEndian.PutUint32(row[8:], sumRow(row))
	return row
}

func (p *partitionFile) has(key index.TextKey) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.rows[key]
}

// append adds the vectors of texts that have none, and returns when they are on
// disk.
func (p *partitionFile) append(keys []index.TextKey, list [][]float32) error {
	if p.file == nil {
		f, err := os.OpenFile(p.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		n, err := f.Write(p.header())
		p.replace(&partitionFile{file: f, start: int64(n), rows: map[index.TextKey]bool{}})
		if err != nil {
			return errors.Join(err, p.drop())
		}
	}
	var rows [][]byte
	for i, key := range keys {
		if !p.rows[key] {
			rows = append(rows, encodeRow(key, list[i]))
		}
	}
	end := p.offset(len(p.keys))
	_, err := p.file.WriteAt(slices.Concat(rows...), end)
	if err == nil {
		err = p.file.Sync()
	}
	if err != nil {
		return errors.Join(err, p.file.Truncate(end))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, row := range rows {
		p.addRow(row)
	}
	return nil
}

// retain removes every vector that keep rejects. It returns when no file contains
// them.
func (p *partitionFile) retain(keep func(index.TextKey) bool) error {
	if !slices.ContainsFunc(p.keys, func(key index.TextKey) bool { return !keep(key) }) {
		return nil
	}
	err := state.WriteFrom(p.path, func(w io.Writer) error {
		_, err := w.Write(p.header())
		b := make([]byte, p.rowSize())
		for row, key := range p.keys {
			if err == nil && keep(key) {
				_, err = p.file.ReadAt(b, p.offset(row))
				w.Write(b) // a later call or the sync returns the error
			}
		}
		return err
	})
	if errors.Is(err, io.EOF) { // another program has truncated the file
		return p.drop()
	}
	if err != nil {
		return err
	}
	next, err := openPartition(p.path, p.dimensions)
	if err != nil {
		return errors.Join(err, p.drop())
	}
	p.replace(next)
	return nil
}

// replace replaces the open file and its content in memory.
func (p *partitionFile) replace(next *partitionFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file != nil {
		p.file.Close() // nothing was written since the last sync
	}
	p.file, p.start, p.keys, p.bits, p.rows = next.file, next.start, next.keys, next.bits, next.rows
}

// close closes the file. Later searches find nothing.
func (p *partitionFile) close() { p.replace(&partitionFile{rows: map[index.TextKey]bool{}}) }

// drop removes all vectors and the file.
func (p *partitionFile) drop() error {
	p.close()
	if err := os.Remove(p.path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (p *partitionFile) len() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.rows)
}

// rescored is the number of vectors of which a search reads the bytes: those whose
// bits are nearest to the query.
const rescored = 400

// near returns the limit texts that are nearest to a vector of length 1, nearest
// first, and of equally near ones those with lower keys first. Texts for which
// accept returns false have no influence on the result. Of the vectors with equal
// distance by bits, all are read or none.
func (p *partitionFile) near(query []float32, limit int, accept func(index.TextKey) bool) ([]index.Similar, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	distance, order := p.sortByBits(query)
	var hits []index.Similar
	b := make([]byte, p.rowSize())
	for i, row := range order {
		if len(hits) >= max(rescored, limit) && distance[row] != distance[order[i-1]] {
			break
		}
		key := p.keys[row]
		if !accept(key) {
			continue
		}
		if _, err := p.file.ReadAt(b, p.offset(int(row))); err != nil {
			return nil, fmt.Errorf("search vectors: %w", err)
		}
		hits = append(hits, index.Similar{Key: key, Cosine: cosine(query, b[rowHead:])})
	}
	slices.SortFunc(hits, func(a, b index.Similar) int {
		return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Key, b.Key))
	})
	return hits[:min(len(hits), limit)], nil
}

// sortByBits returns the number of bits in which each row differs from a query,
// and the rows ordered by it.
func (p *partitionFile) sortByBits(query []float32) (distance []uint16, order []int32) {
	words := p.words()
	set := make([]uint64, words)
	for i, x := range query {
		if x >= 0 {
			set[i/64] |= 1 << (i % 64)
		}
	}
	distance, order = make([]uint16, len(p.keys)), make([]int32, len(p.keys))
	first := make([]int, 64*words+2) // position of the rows with a distance
	for row := range distance {
		d := 0
		for i, w := range p.bits[row*words : (row+1)*words] {
			d += bits.OnesCount64(w ^ set[i])
		}
		distance[row] = uint16(d)
		first[d+1]++
	}
	for d := range first[1:] {
		first[d+1] += first[d]
	}
	for row, d := range distance {
		order[first[d]] = int32(row)
		first[d]++
	}
	return distance, order
}

// cosine returns the cosine of the angle between a vector of length 1 and a
// stored one.
func cosine(query []float32, row []byte) float32 {
	var dot float32
	sum := 0
	row = row[:len(query)]
	for i, q := range query {
		x := int8(row[i])
		dot += q * float32(x)
		sum += int(x) * int(x)
	}
	return dot / float32(math.Sqrt(float64(sum)))
}
