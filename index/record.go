package index

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// A file is what the index knows of one file: enough to rank its entries, to
// filter them and to tell whether the file has changed since. The text is not
// among it; hits are read from the file itself. It is immutable once it is in
// the table.
type file struct {
	path    string
	stamp   memory.Stamp
	hash    [32]byte
	kind    memory.Kind
	day     string
	name    string  // of the session's file
	own     uint16  // index of the last of the parts that show the frontmatter
	session string  // session_id; readable with the frontmatter
	contact string  // contact_id; likewise
	claim   string  // the subject that the file claims its directory for
	parts   []part  // the whole first, then its excerpt, if there is one
	entries []entry // of the parts, in order

	number uint32 // in the table; not stored
	tasks  bool   // some entry has one; not stored
	whole  int    // the number of entries that are not the excerpt's; not stored
}

// A part is what a file has in one partition: all that there is for those who
// may read that. Nobody may read two parts.
type part struct {
	partition memory.Partition
	sum       uint64   // of its text: another text has another
	length    uint32   // tokens of all its slots
	blocks    []uint32 // numbers, in order

	ordinals []uint32 // of its entries in the file, nil where it is the only part; not stored
}

// An entry is what ranking and filters need of an entry.
type entry struct {
	dup        uint64 // of the normalised text: equal for equal text
	time       int64  // nanoseconds since 1970, noTime if not known
	importance float64
	length     uint16 // tokens, at most 65535
	part       uint16
	flags      uint8
}

// noTime is the time of an entry that has none: older than any.
const noTime = math.MinInt64

// Flags of an entry.
const (
	flagOpen uint8 = 1 << iota // has an open task
	flagDone                   // has a done task
)

// ref is where a block's slots lead.
type ref struct {
	file  *file
	part  uint16
	block uint16 // of the part
}

// slot gives the position among the part's entries that slot s of block b
// stands for; -1 is the file's head.
func entryOfSlot(b, s int) int { return b*slotsPerBlock + s - 1 }

// recordVersion changes with the encoding, the analysis and the meaning of
// postings: an index of another version is built anew.
const recordVersion = 3

// The sorts of partitions, in terms and in records.
const (
	privatePartition = '0'
	publicPartition  = '1'
	excerptPartition = '2'
)

func sortOf(p memory.Partition) byte {
	switch {
	case p.Excerpt:
		return excerptPartition
	case p.Visibility == memory.PublicOK:
		return publicPartition
	}
	return privatePartition
}

// marshal is the stored form: varints and length-prefixed strings in the order
// of the struct.
func (f *file) marshal() []byte {
	b := make([]byte, 0, 128+24*len(f.entries))
	b = binary.AppendVarint(b, f.stamp.Size)
	b = binary.AppendVarint(b, f.stamp.MTime)
	b = binary.AppendVarint(b, f.stamp.CTime)
	b = binary.AppendUvarint(b, f.stamp.Inode)
	b = append(b, f.hash[:]...)
	b = append(b, byte(f.kind))
	b = appendString(b, f.day)
	b = appendString(b, f.name)
	b = binary.AppendUvarint(b, uint64(f.own))
	b = appendString(b, f.session)
	b = appendString(b, f.contact)
	b = appendString(b, f.claim)
	b = binary.AppendUvarint(b, uint64(len(f.parts)))
	for _, p := range f.parts {
		b = appendString(b, p.partition.Owner)
		b = append(b, sortOf(p.partition))
		b = binary.LittleEndian.AppendUint64(b, p.sum)
		b = binary.AppendUvarint(b, uint64(p.length))
		b = binary.AppendUvarint(b, uint64(len(p.blocks)))
		for _, n := range p.blocks {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	b = binary.AppendUvarint(b, uint64(len(f.entries)))
	before := int64(0) // times of one file are near each other
	for _, e := range f.entries {
		b = binary.LittleEndian.AppendUint64(b, e.dup)
		if e.time == noTime {
			b = append(b, 0)
		} else {
			b = append(b, 1)
			b = binary.AppendVarint(b, e.time-before)
			before = e.time
		}
		if e.importance == 0 {
			b = append(b, 0)
		} else {
			b = append(b, 1)
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(e.importance))
		}
		b = binary.AppendUvarint(b, uint64(e.length))
		b = binary.AppendUvarint(b, uint64(e.part))
		b = append(b, e.flags)
	}
	return b
}

var errRecord = errors.New("damaged record")

// unmarshalFile reads what marshal wrote. It never panics, whatever the bytes.
func unmarshalFile(path string, b []byte) (*file, error) {
	d := decoder{b: b}
	f := &file{path: path}
	f.stamp = memory.Stamp{Size: d.varint(), MTime: d.varint(), CTime: d.varint(), Inode: d.uvarint()}
	copy(f.hash[:], d.bytes(32))
	f.kind = memory.Kind(d.byte())
	f.day = d.string()
	f.name = d.string()
	f.own = uint16(d.uvarint())
	f.session = d.string()
	f.contact = d.string()
	f.claim = d.string()
	f.parts = make([]part, d.count(11))
	for i := range f.parts {
		p := &f.parts[i]
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
		if raw := d.bytes(8); raw != nil {
			p.sum = binary.LittleEndian.Uint64(raw)
		}
		p.length = uint32(d.uvarint())
		p.blocks = make([]uint32, d.count(1))
		for j := range p.blocks {
			n := d.uvarint()
			if n >= maxBlocks {
				d.bad = true
			}
			p.blocks[j] = uint32(n)
		}
	}
	f.entries = make([]entry, d.count(13))
	before := int64(0)
	for i := range f.entries {
		e := &f.entries[i]
		if raw := d.bytes(8); raw != nil {
			e.dup = binary.LittleEndian.Uint64(raw)
		}
		e.time = noTime
		if d.byte() == 1 {
			before += d.varint()
			e.time = before
		}
		if d.byte() == 1 {
			if raw := d.bytes(8); raw != nil {
				e.importance = math.Float64frombits(binary.LittleEndian.Uint64(raw))
			}
		}
		e.length = uint16(d.uvarint())
		e.part = uint16(d.uvarint())
		e.flags = d.byte()
		if int(e.part) >= len(f.parts) || i > 0 && e.part < f.entries[i-1].part {
			d.bad = true
		}
	}
	if d.bad || len(d.b) > 0 || int(f.own) >= len(f.parts) {
		return nil, errRecord
	}
	return f, nil
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decoder reads; after the first mistake it only gives zeros.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.b) || n < 0 {
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

func (d *decoder) string() string {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return ""
	}
	return strings.Clone(string(d.bytes(int(n))))
}

// count reads a number of things of at least size bytes each.
func (d *decoder) count(size int) int {
	n := d.uvarint()
	if n > uint64(len(d.b)/size) {
		d.bad, d.b = true, nil
		return 0
	}
	return int(n)
}

// ordinal is the position in the file of a part's n-th entry.
func (f *file) ordinal(p, n int) int {
	if o := f.parts[p].ordinals; o != nil {
		return int(o[n])
	}
	return n
}

// settle derives what is not stored.
func (f *file) settle() {
	f.tasks = slices.ContainsFunc(f.entries, func(e entry) bool { return e.flags != 0 })
	if f.whole = len(f.entries); len(f.parts) == 1 {
		return
	}
	f.whole = sort.Search(len(f.entries), func(i int) bool { return f.entries[i].part > 0 })
	for i := range f.parts {
		f.parts[i].ordinals = []uint32{}
	}
	for i := range f.entries {
		p := &f.parts[f.entries[i].part]
		p.ordinals = append(p.ordinals, uint32(i))
	}
}

// readable appends the entries that the view may read, in order.
func (f *file) readable(v memory.View, to []int) []int {
	if len(f.parts) == 1 { // nearly always
		if v.Readable(f.parts[0].partition) {
			for i := range f.entries {
				to = append(to, i)
			}
		}
		return to
	}
	open := make([]bool, len(f.parts))
	for i := range f.parts {
		open[i] = v.Readable(f.parts[i].partition)
	}
	for i := range f.entries {
		if open[f.entries[i].part] {
			to = append(to, i)
		}
	}
	return to
}

// length is the tokens of the parts that the view may read.
func (f *file) length(v memory.View) (n int) {
	for i := range f.parts {
		if v.Readable(f.parts[i].partition) {
			n += int(f.parts[i].length)
		}
	}
	return n
}

// owned reports whether the view may read the frontmatter.
func (f *file) owned(v memory.View) bool {
	for i := range f.parts[:f.own+1] {
		if v.Readable(f.parts[i].partition) {
			return true
		}
	}
	return false
}

// of returns the part of a document that an entry of the record is in, and the
// entry; or nil if the document is another one than the record says.
func (f *file) of(doc *memory.Document, e int) (*memory.Document, *memory.Entry) {
	part, n := int(f.entries[e].part), e
	if part > 0 {
		n -= len(doc.Entries)
		doc = doc.Excerpt()
	}
	if doc == nil || n < 0 || n >= len(doc.Entries) || doc.Partition != f.parts[part].partition {
		return nil, nil
	}
	return doc, &doc.Entries[n]
}

func (f *file) blockCount() (n int) {
	for i := range f.parts {
		n += len(f.parts[i].blocks)
	}
	return n
}
