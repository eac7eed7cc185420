package vectors

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// A partition is the vectors of one partition of the memory, in two files with
// the same number of rows. A row of the bits file contains
//
//	key       8 bytes
//	checksum  4 bytes  of the row in the bytes file
//	checksum  4 bytes  of this row without this field
//	bits      1 bit per dimension, in words of 8 bytes: set if it is not negative
//
// and a row of the bytes file one signed byte per dimension. Rows are added to
// the end, first to the bytes file. A row counts if both files have all of it.
type partition struct {
	dir        string
	name       string
	dimensions int

	writing sync.Mutex // serializes append, retain and close
	closed  bool       // guarded by writing

	mu          sync.RWMutex // guards the following fields; held by a search while it reads the files
	generation  int
	bits, bytes *file // nil if there are no rows
	count       int
	rows        map[Key]uint32 // the valid rows
}

type file struct {
	*os.File
	header int64  // bytes before the first row
	data   []byte // mapped part of the file
}

var (
	errDamaged = errors.New("damaged file")
	errClosed  = errors.New("store is closed")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

const (
	magic   = "memvec1\n"
	rowHead = 16 // bytes of a row before the bits
)

func countWords(dimensions int) int { return (dimensions + 63) / 64 }

func (p *partition) bitsSize() int { return rowHead + 8*countWords(p.dimensions) }

// header returns the beginning of both files: the magic number, the number of
// dimensions, the length of the name and the name, padded to words, and a
// checksum.
func (p *partition) header() []byte {
	b := []byte(magic)
	b = binary.LittleEndian.AppendUint32(b, uint32(p.dimensions))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(p.name)))
	b = append(b, p.name...)
	for len(b)%8 != 4 {
		b = append(b, 0)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// readHeader returns the name of a partition from the beginning of a file.
func readHeader(f *os.File, dimensions int) (name string, err error) {
	var fixed [16]byte
	if _, err := f.ReadAt(fixed[:], 0); err != nil || string(fixed[:8]) != magic {
		return "", errDamaged
	}
	n := binary.LittleEndian.Uint32(fixed[12:])
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if int64(n) > info.Size() {
		return "", errDamaged
	}
	text := make([]byte, n)
	if _, err := f.ReadAt(text, 16); err != nil {
		return "", errDamaged
	}
	want := (&partition{name: string(text), dimensions: dimensions}).header()
	got := make([]byte, len(want))
	if _, err := f.ReadAt(got, 0); err != nil || string(got) != string(want) {
		return "", errDamaged
	}
	return string(text), nil
}

// openPartition opens the files of a partition and cuts rows that are not
// complete. The error is errDamaged if a header is damaged.
func openPartition(dir, name string, dimensions int) (_ *partition, err error) {
	p := &partition{dir: dir, dimensions: dimensions, rows: map[Key]uint32{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	for _, f := range []struct {
		to  **file
		ext string
	}{{&p.bits, bitsExt}, {&p.bytes, bytesExt}} {
		opened, err := os.OpenFile(filepath.Join(dir, name+f.ext), os.O_RDWR, 0)
		if errors.Is(err, os.ErrNotExist) {
			return p, errDamaged
		}
		if err != nil {
			return p, err
		}
		*f.to = &file{File: opened}
		p.name, err = readHeader(opened, dimensions)
		if err != nil {
			return p, err
		}
		(*f.to).header = int64(len(p.header()))
	}
	number, _ := strings.CutPrefix(name, fileID(p.name)+"-")
	p.generation, err = strconv.Atoi(number)
	if err != nil {
		return p, errDamaged
	}
	return p, p.load()
}

// load maps the files, finds the valid rows and cuts the others at the end.
func (p *partition) load() (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recoverFault(&err)
	n1, err1 := p.bits.countRows(p.bitsSize())
	n2, err2 := p.bytes.countRows(p.dimensions)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if err := p.remap(min(n1, n2)); err != nil {
		return err
	}
	end := 0
	for n := range p.count {
		row := p.bitsRow(n)
		if binary.LittleEndian.Uint32(row[12:]) == sumBits(row) && (n < p.count-checkedRows || p.intact(n)) {
			p.rows[keyOf(row)] = uint32(n)
			end = n + 1
		}
	}
	return p.truncate(end)
}

// checkedRows is the number of rows at the end of the bytes file that are
// checked at the start, because a crash may have left them incomplete. The
// checksums of other rows are compared when a search reads them.
const checkedRows = 1024

// truncate removes all rows from the n-th on.
func (p *partition) truncate(n int) error {
	if err := p.remap(n); err != nil {
		return err
	}
	return errors.Join(p.bits.Truncate(p.bits.header+int64(n*p.bitsSize())),
		p.bytes.Truncate(p.bytes.header+int64(n*p.dimensions)))
}

// remap maps the first n rows of both files in place of those mapped. On error
// it changes nothing.
func (p *partition) remap(n int) error {
	inBits, err := p.bits.mapRows(n * p.bitsSize())
	if err != nil {
		return err
	}
	inBytes, err := p.bytes.mapRows(n * p.dimensions)
	if err != nil {
		return errors.Join(err, unmap(inBits))
	}
	err = errors.Join(unmap(p.bits.data), unmap(p.bytes.data))
	p.bits.data, p.bytes.data, p.count = inBits, inBytes, n
	return err
}

func (f *file) countRows(size int) (int, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return int(info.Size()-f.header) / size, nil
}

// mapRows maps the header and n bytes of rows.
func (f *file) mapRows(n int) ([]byte, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, int(f.header)+n, unix.PROT_READ, unix.MAP_SHARED)
	return data, os.NewSyscallError("mmap", err)
}

func unmap(data []byte) error {
	if data == nil {
		return nil
	}
	return os.NewSyscallError("munmap", unix.Munmap(data))
}

func (f *file) close() error {
	if f == nil {
		return nil
	}
	return errors.Join(unmap(f.data), f.File.Close())
}

// bitsRow and bytesRow return the n-th row of a file.
func (p *partition) bitsRow(n int) []byte {
	size := p.bitsSize()
	at := int(p.bits.header) + n*size
	return p.bits.data[at : at+size : at+size]
}

func (p *partition) bytesRow(n int) []byte {
	at := int(p.bytes.header) + n*p.dimensions
	return p.bytes.data[at : at+p.dimensions : at+p.dimensions]
}

// keyOf returns the key in a row of the bits file.
func keyOf(row []byte) Key { return Key(binary.LittleEndian.Uint64(row)) }

// sumBits returns the checksum of a row of the bits file.
func sumBits(row []byte) uint32 {
	return crc32.Update(crc32.Checksum(row[:12], castagnoli), castagnoli, row[16:])
}

// intact reports whether the n-th row of the bytes file has its checksum.
func (p *partition) intact(n int) bool {
	return crc32.Checksum(p.bytesRow(n), castagnoli) == binary.LittleEndian.Uint32(p.bitsRow(n)[8:])
}

// encode returns a row in the form of the bits file.
func (p *partition) encode(r Row) []byte {
	row := make([]byte, p.bitsSize())
	binary.LittleEndian.PutUint64(row, uint64(r.Key))
	binary.LittleEndian.PutUint32(row[8:], crc32.Checksum(r.Bytes, castagnoli))
	for i, x := range r.Bytes {
		if int8(x) >= 0 {
			row[rowHead+i/8] |= 1 << (i % 8)
		}
	}
	binary.LittleEndian.PutUint32(row[12:], sumBits(row))
	return row
}

func (p *partition) has(key Key) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	_, ok := p.rows[key]
	return ok
}

// append adds the rows whose keys are not present, and waits for the disk.
func (p *partition) append(rows []Row) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	if p.closed {
		return errClosed
	}
	var inBits, inBytes []byte
	added := map[Key]uint32{}
	for _, r := range rows {
		if _, ok := added[r.Key]; ok || p.has(r.Key) {
			continue
		}
		added[r.Key] = uint32(p.count + len(added))
		inBits, inBytes = append(inBits, p.encode(r)...), append(inBytes, r.Bytes...)
	}
	if len(added) == 0 {
		return nil
	}
	if p.bits == nil {
		if err := p.create(p.generation+1, bitsExt); err != nil {
			return err
		}
	}
	err := p.bytes.write(inBytes, p.bytes.header+int64(p.count*p.dimensions))
	if err == nil {
		err = p.bits.write(inBits, p.bits.header+int64(p.count*p.bitsSize()))
	}
	if err != nil {
		return err // the next append overwrites the rows
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.remap(p.count + len(added)); err != nil {
		return err
	}
	for k, n := range added {
		p.rows[k] = n
	}
	return nil
}

func (f *file) write(data []byte, at int64) error {
	if _, err := f.WriteAt(data, at); err != nil {
		return err
	}
	return f.Sync()
}

// create creates the two files of a generation, without rows.
func (p *partition) create(generation int, extOfBits string) error {
	path := p.path(generation)
	header := p.header()
	var files [2]*file
	for i, ext := range []string{bytesExt, extOfBits} {
		f, err := os.OpenFile(path+ext, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err == nil {
			files[i] = &file{File: f, header: int64(len(header))}
			err = files[i].write(header, 0)
		}
		if err != nil {
			return errors.Join(err, files[0].close(), files[1].close())
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.generation, p.bytes, p.bits = generation, files[0], files[1]
	return syncDir(p.dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// retain rewrites the files without the rows that keep rejects and without
// damaged rows. If the files cannot be read, it removes all rows: their texts are
// embedded again. The old files are deleted when it returns.
func (p *partition) retain(keep func(Key) bool) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	if p.closed || p.bits == nil {
		return nil
	}
	all, err := p.keepsAll(keep)
	if all {
		return nil
	}
	next := &partition{dir: p.dir, name: p.name, dimensions: p.dimensions, rows: map[Key]uint32{}}
	if err == nil {
		err = p.copyRows(next, keep)
	}
	if errors.Is(err, errDamaged) {
		// No row can be read for certain. Without files, all are missing.
		err = errors.Join(next.close(), removeFiles(p.path(p.generation+1)))
		next = &partition{rows: map[Key]uint32{}}
	}
	if err != nil {
		return errors.Join(err, next.close(), removeFiles(p.path(p.generation+1)))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	old := &partition{bits: p.bits, bytes: p.bytes}
	p.bits, p.bytes, p.count, p.rows = next.bits, next.bytes, next.count, next.rows
	p.generation++
	return errors.Join(old.close(), removeFiles(p.path(p.generation-1)), syncDir(p.dir))
}

// keepsAll reports whether every row is valid and keep accepts it.
func (p *partition) keepsAll(keep func(Key) bool) (all bool, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recoverFault(&err)
	for n := range p.count {
		if !p.admits(uint32(n), keep) {
			return false, nil
		}
	}
	return true, nil
}

// tempExt is the extension of a bits file whose rows are still being written.
const tempExt = ".tmp"

// copyRows writes the rows that keep accepts to the next generation. Its bits
// file has its name only when it has all rows.
func (p *partition) copyRows(next *partition, keep func(Key) bool) error {
	if err := next.create(p.generation+1, tempExt); err != nil {
		return err
	}
	var rows []Row
	for n := range p.count {
		row, ok, exists := p.row(n)
		if !exists {
			return errDamaged
		}
		if ok && keep(row.Key) {
			rows = append(rows, row)
		}
		if len(rows) == 1024 || n == p.count-1 {
			if err := next.append(rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	path := p.path(p.generation + 1)
	if err := os.Rename(path+tempExt, path+bitsExt); err != nil {
		return err
	}
	return syncDir(p.dir)
}

// path returns the path of the files of a generation, without extensions.
func (p *partition) path(generation int) string {
	return filepath.Join(p.dir, fileName(p.name, generation))
}

// row returns the n-th row. It reports whether the row is valid and whether it
// exists. A row of a file that cannot be read does not exist.
func (p *partition) row(n int) (r Row, valid, exists bool) {
	var err error
	defer func() {
		if err != nil {
			r, valid, exists = Row{}, false, false
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recoverFault(&err)
	p.mu.RLock()
	defer p.mu.RUnlock()
	if n >= p.count {
		return Row{}, false, false
	}
	r.Key = keyOf(p.bitsRow(n))
	at, ok := p.rows[r.Key]
	if !ok || at != uint32(n) || !p.intact(n) {
		return Row{}, false, true
	}
	r.Bytes = slices.Clone(p.bytesRow(n))
	return r, true, true
}

func (p *partition) len() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.rows)
}

func (p *partition) close() error {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	err := errors.Join(p.bits.close(), p.bytes.close())
	p.closed, p.bits, p.bytes, p.count = true, nil, nil, 0
	clear(p.rows)
	return err
}
