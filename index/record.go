package index

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/memwatchd/memwatchd/memory"
)

// A file is the record of one file. It contains the data for ranking and
// filtering its entries and for detecting changes of the file. It contains no
// text: hits are read from the file itself. A file is immutable once it is in
// the table.
type file struct {
	path      string
	stamp     memory.Stamp
	hash      [32]byte
	written   int64 // modification time at which this content was first seen, or noTime
	kind      memory.Kind
	owner     string // owner key of the place, which may change independently of the file
	day       string
	name      string     // file name of the session
	lastFront uint16     // index of the last variant that includes the frontmatter
	session   string     // session_id; readable with the frontmatter
	contact   string     // contact_id; readable with the frontmatter
	claim     string     // subject that the file claims its directory for
	truncated bool       // some terms are missing, see maxFileTerms
	variants  []*variant // the whole file, then its excerpt if it has one

	tasks bool // some entry has a task; not stored

	// secret is set for a file whose path or ids contain a credential. Its record and the
	// terms of its names are not on disk, so the file is applied again after a restart.
	secret bool
}

// A variant is the content of a file in one partition, and all that a view of this
// partition can read of the file. No view can read two variants of a file.
// Searches find and rank a variant like a file.
type variant struct {
	partition memory.Partition
	sum       uint64   // beginning of the hash of the text; stored unless it is that of the file
	length    uint32   // tokens of all slots
	blocks    []uint32 // block numbers, in order
	entries   []entry
	important sparse[float64] // importance of each entry
	links     links
	keys      sparse[TextKey] // of the embedded text of each entry, zero for none

	file   *file  // not stored
	number uint32 // in the table; not stored
}

type entry struct {
	dup    uint64 // hash of the normalized text
	time   int64  // nanoseconds since 1970, or noTime if unknown
	length uint16 // tokens, at most 65535
	flags  uint8
}

// A sparse holds a value of each entry of a variant. Few variants have entries with
// other values than zero, so it is nil until the first of these is set.
type sparse[T comparable] []T

func (s sparse[T]) at(n int) (v T) {
	if s != nil {
		v = s[n]
	}
	return v
}

// set sets the value of the n-th of size entries.
func (s *sparse[T]) set(n, size int, v T) {
	var zero T
	if v == zero {
		return
	}
	if *s == nil {
		*s = make([]T, size)
	}
	(*s)[n] = v
}

// noTime is the time of an entry without a time. It is earlier than any time.
const noTime = math.MinInt64

// Flags of an entry.
const (
	flagOpen       uint8 = 1 << iota // has an open task
	flagDone                         // has a done task
	flagQuestion                     // ends with a question
	flagTimed                        // has words of time
	flagTime                         // has another time than the entry before; stored only
	flagImportance                   // has an importance; stored only
	flagKey                          // has an embedded text; stored only
	flagSame                         // has the time of the entry before; stored only
)

// entryOfSlot returns the index in the entries of the variant for slot s of block
// b, or -1 for the head of the file.
func entryOfSlot(b, s int) int { return b*slotsPerBlock + s - 1 }

// slotOf is the inverse of entryOfSlot.
func slotOf(entry int) (b, s int) { return (entry + 1) / slotsPerBlock, (entry + 1) % slotsPerBlock }

// recordVersion identifies the encoding, the analysis and the meaning of
// postings. An index with another version is rebuilt.
const recordVersion = 30

// The kinds of partitions in terms and records.
const (
	privatePartition = '0'
	publicPartition  = '1'
	excerptPartition = '2'
)

func partitionKind(p memory.Partition) byte {
	switch {
	case p.Excerpt:
		return excerptPartition
	case p.Visibility == memory.PublicOK:
		return publicPartition
	}
	return privatePartition
}

// marshal returns the stored form of the record: varints and length-prefixed
// strings in the order of the struct.
func (f *file) marshal() []byte {
	n := 0
	for _, p := range f.variants {
		n += len(p.entries)
	}
	b := make([]byte, 0, 192+24*n)
	b = appendString(b, f.path)
	b = binary.AppendVarint(b, f.stamp.Size)
	b = binary.AppendVarint(b, f.stamp.MTime)
	b = binary.AppendVarint(b, f.stamp.CTime-f.stamp.MTime) // usually short
	b = binary.AppendUvarint(b, f.stamp.Inode)
	b = append(b, f.hash[:]...)
	b = binary.AppendVarint(b, f.written-f.stamp.MTime)
	b = append(b, byte(f.kind))
	b = appendString(b, f.owner)
	b = appendString(b, f.day)
	b = appendString(b, f.name)
	b = binary.AppendUvarint(b, uint64(f.lastFront))
	b = appendString(b, f.session)
	b = appendString(b, f.contact)
	b = appendString(b, f.claim)
	truncated := byte(0)
	if f.truncated {
		truncated = 1
	}
	b = append(b, truncated)
	b = binary.AppendUvarint(b, uint64(len(f.variants)))
	for i, p := range f.variants {
		if i > 0 {
			b = binary.LittleEndian.AppendUint64(b, p.sum)
		}
		b = p.marshal(b)
	}
	return b
}

func (p *variant) marshal(b []byte) []byte {
	b = appendString(b, p.partition.Owner)
	b = append(b, partitionKind(p.partition))
	b = binary.AppendUvarint(b, uint64(p.length))
	b = binary.AppendUvarint(b, uint64(len(p.blocks)))
	for _, n := range p.blocks {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = binary.AppendUvarint(b, uint64(len(p.entries)))
	before := int64(0) // the times in one file are close together
	for i, e := range p.entries {
		b = binary.LittleEndian.AppendUint64(b, e.dup)
		importance := p.important.at(i)
		flags := e.flags
		switch e.time {
		case noTime:
		case before:
			flags |= flagSame
		default:
			flags |= flagTime
		}
		if importance != 0 {
			flags |= flagImportance
		}
		key := p.keys.at(i)
		if key != 0 {
			flags |= flagKey
		}
		b = append(b, flags)
		if flags&flagTime != 0 {
			b = binary.AppendVarint(b, e.time-before)
			before = e.time
		}
		if importance != 0 {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(importance))
		}
		if key != 0 {
			b = binary.LittleEndian.AppendUint64(b, uint64(key))
		}
		b = binary.AppendUvarint(b, uint64(e.length))
	}
	return p.links.marshal(b)
}

var errRecord = errors.New("damaged record")

// unmarshalFile returns the record that marshal encoded. It never panics, even
// on arbitrary bytes.
func unmarshalFile(b []byte) (*file, error) {
	d := decoder{b: b}
	f := &file{path: d.string()}
	f.stamp = memory.Stamp{Size: d.varint(), MTime: d.varint(), CTime: d.varint(), Inode: d.uvarint()}
	f.stamp.CTime += f.stamp.MTime
	copy(f.hash[:], d.bytes(32))
	f.written = d.varint() + f.stamp.MTime
	f.kind = memory.Kind(d.byte())
	f.owner = d.string()
	f.day = d.string()
	f.name = d.string()
	f.lastFront = uint16(d.uvarint())
	f.session = d.string()
	f.contact = d.string()
	f.claim = d.string()
	f.truncated = d.byte() != 0
	f.variants = make([]*variant, d.count(6))
	sum := sumOf(f.hash)
	for i := range f.variants {
		if i > 0 {
			sum = d.uint64()
		}
		f.variants[i] = d.readVariant()
		f.variants[i].sum = sum
	}
	if d.bad || len(d.b) > 0 || int(f.lastFront) >= len(f.variants) {
		return nil, errRecord
	}
	return f, nil
}

func (d *decoder) readVariant() *variant {
	p := new(variant)
	p.partition.Owner = d.string()
	switch d.byte() {
	case privatePartition:
	case publicPartition:
		p.partition.Visibility = memory.PublicOK
	case excerptPartition:
		p.partition.Visibility, p.partition.Excerpt = memory.PublicOK, true
	default:
		d.bad = true
	}
	p.length = uint32(d.uvarint())
	p.blocks = make([]uint32, d.count(1))
	for i := range p.blocks {
		n := d.uvarint()
		if n >= maxBlocks {
			d.bad = true
		}
		p.blocks[i] = uint32(n)
	}
	p.entries = make([]entry, d.count(10))
	before := int64(0)
	for i := range p.entries {
		e := &p.entries[i]
		e.dup = d.uint64()
		flags := d.byte()
		e.flags = flags & (flagOpen | flagDone | flagQuestion | flagTimed)
		e.time = noTime
		if flags&flagTime != 0 {
			before += d.varint()
		}
		if flags&(flagTime|flagSame) != 0 {
			e.time = before
		}
		if flags&flagImportance != 0 {
			p.important.set(i, len(p.entries), math.Float64frombits(d.uint64()))
		}
		if flags&flagKey != 0 {
			p.keys.set(i, len(p.entries), TextKey(d.uint64()))
		}
		e.length = uint16(d.uvarint())
	}
	p.links = d.readLinks(len(p.entries))
	if b, _ := slotOf(len(p.entries) - 1); b != len(p.blocks)-1 {
		d.bad = true
	}
	return p
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// A decoder reads a record. After the first error it only returns zero values.
type decoder struct {
	b   []byte
	bad bool
}

// uvarint and varint rely on the package binary, which returns the value 0 with
// a length of 0 or less for bytes that it cannot decode.
func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.bad = d.bad || n <= 0
	d.bytes(n)
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	d.bad = d.bad || n <= 0
	d.bytes(n)
	return v
}

// bytes reads n bytes, or nil if there are fewer.
func (d *decoder) bytes(n int) []byte {
	if d.bad || n > len(d.b) {
		d.bad, d.b = true, nil
		return nil
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) byte() byte {
	if v := d.bytes(1); v != nil {
		return v[0]
	}
	return 0
}

func (d *decoder) uint64() uint64 {
	if v := d.bytes(8); v != nil {
		return binary.LittleEndian.Uint64(v)
	}
	return 0
}

func (d *decoder) string() string { return string(d.bytes(d.count(1))) }

// count reads the number of elements, each of which has at least size bytes.
func (d *decoder) count(size int) int {
	n := d.uvarint()
	if n > uint64(len(d.b)/size) {
		d.bad, d.b = true, nil
		return 0
	}
	return int(n)
}

// setWritten sets when the content of the file was written, which is not after the
// time in the stamp: a checkout, a copy over the file or touch only changes that.
// Entries with the time of the file take the earlier time. The previous record of
// the path is nil if there is none.
func (f *file) setWritten(before *file) {
	f.written = noTime
	if f.stamp != (memory.Stamp{}) {
		f.written = f.stamp.MTime
	}
	modified := f.written
	if before == nil || before.hash != f.hash || f.hash == [32]byte{} || before.written == noTime ||
		modified <= before.written {
		return
	}
	f.written = before.written
	for _, v := range f.variants {
		for i := range v.entries {
			if e := &v.entries[i]; e.time == modified {
				e.time = f.written
			}
		}
	}
}

// setDerived sets the fields that are not stored.
func (f *file) setDerived() {
	f.tasks = false
	for _, p := range f.variants {
		p.file = f
		f.tasks = f.tasks || slices.ContainsFunc(p.entries, func(e entry) bool { return e.flags&(flagOpen|flagDone) != 0 })
	}
}

func (f *file) entryCount() int { return len(f.variants[0].entries) }

// variantFor returns the variant that the view may read, or nil if there is none. The
// file may be nil.
func (f *file) variantFor(v memory.View) *variant {
	if f != nil {
		for _, p := range f.variants {
			if v.Readable(p.partition) {
				return p
			}
		}
	}
	return nil
}

func (f *file) frontReadable(v memory.View) bool {
	return slices.ContainsFunc(f.variants[:f.lastFront+1], func(p *variant) bool { return v.Readable(p.partition) })
}
