package index

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/memory"
)

// A FileInfo describes the indexed version of a file.
type FileInfo struct {
	Path    string
	Kind    memory.Kind
	Owner   string // owner key of the place, which may change independently of the file
	Day     string // YYYY-MM-DD, for sessions and daily logs
	Session string // session_id; readable with the frontmatter
	Claim   string // subject that the file claims its directory for
	Stamp   disk.Stamp
	Hash    [32]byte // SHA-256 of the indexed bytes
	Entries int      // not stored, nor is the next
	Tasks   bool     // some entry has a task
	// Truncated reports that the file has more different words than the index
	// contains of one file, so that searches do not find all of its text.
	Truncated bool

	file *file
}

// SameVersion reports whether both describe the same version of the same file.
func (i FileInfo) SameVersion(o FileInfo) bool {
	return i.Path == o.Path && i.Stamp == o.Stamp && i.Hash == o.Hash && i.Kind == o.Kind && i.Owner == o.Owner
}

// Readable reports whether the view may read any part of the indexed file.
func (i FileInfo) Readable(v memory.View) bool { return i.file != nil && v.Readable(i.file.partition) }

// SessionName returns the session of the file: its session_id, otherwise the session of the
// file name. It returns "" for a file without a session.
func (i FileInfo) SessionName() string { return cmp.Or(i.Session, i.file.name) }

// Version returns a value that changes with the content that the view may read,
// and the number of readable entries. It returns false if the view cannot read
// any part of the file.
func (i FileInfo) Version(v memory.View) (version uint64, entries int, ok bool) {
	if !i.Readable(v) {
		return 0, 0, false
	}
	return sumOf(i.Hash), i.Entries, true
}

// EachEntry calls use with the time and the number of words of each entry that the
// view may read, in order. The time is zero if it is unknown. EachEntry returns
// false if the view cannot read any part of the file.
func (i FileInfo) EachEntry(v memory.View, use func(at time.Time, words int)) bool {
	if !i.Readable(v) {
		return false
	}
	for _, e := range i.file.entries {
		var at time.Time
		if e.time != noTime {
			at = time.Unix(0, e.time)
		}
		use(at, int(e.length))
	}
	return true
}

const forever = math.MaxInt64

// A link is an id that an entry of a file supersedes.
type link struct {
	id    uint64 // see [idIn]
	entry uint32
}

func hashOf(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// idIn returns the hash of an id, given as its hash, in the file at a path, or in any file if
// the path is empty.
func idIn(path string, id uint64) uint64 { return hashOf(path)*31 + id }

var anyPath = idIn("", 0)

// linksOf returns the links of a document. An entry without a subject, or written by
// others, supersedes nothing, because such an entry must not affect those of a subject.
func linksOf(doc *memory.Document) (links []link) {
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if e.Supersedes == "" || e.Partition.Owner == "" || e.By != "" || memory.IsUntrustedSource(e.Source) {
			continue
		}
		path, id := "", e.Supersedes
		if at := strings.LastIndexByte(id, '#'); at >= 0 {
			path, id = id[:at], id[at+1:]
		} else if slices.ContainsFunc(doc.Entries, func(e memory.Entry) bool { return e.ID == id }) {
			path = doc.Place.Path
		}
		links = append(links, link{idIn(path, hashOf(id)), uint32(i)})
	}
	return links
}

// codeLinks codes the links of a file.
func (f *file) codeLinks(c *codec) {
	list(c, &f.links, 9)
	for i := range f.links {
		fixed(c, &f.links[i].id)
		number(c, &f.links[i].entry)
		c.bad = c.bad || int(f.links[i].entry) >= len(f.entries)
	}
}

type entryKey struct {
	file  uint32
	entry int32
}

// texts returns the texts of the file, which may be nil.
func (f *file) texts() (list []TextRef) {
	if f == nil {
		return nil
	}
	for _, k := range f.keys {
		if k != 0 {
			list = append(list, TextRef{f.partition, k})
		}
	}
	return list
}

// ids returns the ids by which an entry may be superseded, as in link.
func (f *file) ids(entry int) [2]uint64 {
	id := f.entries[entry].id
	return [...]uint64{anyPath + id, f.pathHash*31 + id}
}

// reuses reports whether the file, which may be nil, has the i-th block from the record
// before, where it has the number n.
func (f *file) reuses(i int, n uint32) bool {
	return f != nil && i < len(f.blocks) && f.blocks[i] == n
}

// A file is the record of one file. It contains the data for ranking and
// filtering its entries and for detecting changes of the file. It contains no
// text: hits are read from the file itself. A file is immutable once it is in
// the table.
type file struct {
	FileInfo
	edition   uint64 // of the table that got this record
	name      string // file name of the session
	contact   string // contact_id
	partition memory.Partition
	length    uint32   // tokens of all slots
	blocks    []uint32 // block numbers, in order
	entries   []entry
	important sparse[float64] // importance of each entry
	links     []link
	keys      sparse[TextKey] // of the embedded text of each entry, zero for none

	// The following fields are not stored.
	number   uint32 // in the table
	pathHash uint64
	parts    []part // of the blocks; nil after a restart
	terms    int    // upper bound of the distinct terms

	oldest, newest int64   // range of the times of the entries
	minute         int64   // in which the file was saved, if the entries have no other times, or 0
	importance     float64 // maximum of the entries, or zero

	// secret is set for a file whose path or ids contain a credential. Its record and the
	// terms of its names are not on disk, so the file is applied again after a restart.
	secret bool
}

// A part is the contribution of a block to its file.
type part struct {
	sum    uint64 // hash of its entries
	length uint32 // tokens of its slots
}

// has reports whether the n-th block of a file, which may be nil, is known to be that of
// entries with the hash sum.
func (f *file) has(n int, sum uint64) bool {
	return f != nil && n < len(f.parts) && f.parts[n].sum == sum
}

type entry struct {
	dup    uint64 // hash of the normalized text
	id     uint64 // hash of the id
	time   int64  // nanoseconds since 1970, or noTime if unknown
	length uint16 // tokens, at most 65535
	flags  uint8
}

// A sparse holds a value of each entry of a file. Few files have entries with
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
	flagImportance                   // has an importance; stored only
	flagKey                          // has an embedded text; stored only
)

// entriesIn returns the entries of the n-th block of a document.
func entriesIn(doc *memory.Document, n int) []memory.Entry {
	first, end := max(0, entryOfSlot(n, 0)), min(len(doc.Entries), entryOfSlot(n+1, 0))
	return doc.Entries[first:end]
}

// entryOfSlot returns the index in the entries of the file for slot s of block
// b, or -1 for the head of the file.
func entryOfSlot(b, s int) int { return b*slotsPerBlock + s - 1 }

// slotOf is the inverse of entryOfSlot.
func slotOf(entry int) (b, s int) { return (entry + 1) / slotsPerBlock, (entry + 1) % slotsPerBlock }

// recordVersion identifies the encoding, the analysis and the meaning of
// postings. An index with another version is rebuilt.
const recordVersion = 43

// marshal returns the stored form of the record.
func (f *file) marshal() []byte {
	c := codec{b: make([]byte, 0, 192+24*len(f.entries))}
	f.code(&c)
	return c.b
}

var errRecord = errors.New("damaged record")

// unmarshalFile returns the record that marshal encoded. It never panics, even
// on arbitrary bytes.
func unmarshalFile(b []byte) (*file, error) {
	f, c := new(file), codec{b: b, decodes: true}
	f.code(&c)
	if c.bad || len(c.b) > 0 {
		return nil, errRecord
	}
	return f, nil
}

func (f *file) code(c *codec) {
	c.string(&f.Path)
	c.varint(&f.Stamp.Size, 0)
	c.varint(&f.Stamp.MTime, 0)
	c.varint(&f.Stamp.CTime, f.Stamp.MTime) // usually short
	number(c, &f.Stamp.Inode)
	copy(f.Hash[:], c.bytes(f.Hash[:]))
	number(c, &f.edition)
	number(c, &f.Kind)
	c.string(&f.Owner)
	c.string(&f.Day)
	c.string(&f.name)
	c.string(&f.Session)
	c.string(&f.contact)
	c.string(&f.Claim)
	c.bool(&f.Truncated)
	c.string(&f.partition.Owner)
	kind := f.partition.Kind()
	number(c, &kind)
	f.partition = memory.PartitionOf(f.partition.Owner, kind)
	c.bad = c.bad || kind != f.partition.Kind()
	number(c, &f.length)
	list(c, &f.blocks, 1)
	for i := range f.blocks {
		number(c, &f.blocks[i])
		c.bad = c.bad || f.blocks[i] >= maxBlocks
	}
	list(c, &f.entries, 19)
	before := int64(noTime) // the times in one file are close together, or missing
	for i := range f.entries {
		f.codeEntry(c, i, before)
		before = f.entries[i].time
	}
	f.codeLinks(c)
	b, _ := slotOf(len(f.entries) - 1)
	c.bad = c.bad || b != len(f.blocks)-1
}

// codeEntry codes the n-th entry, with its time as the difference from another.
func (f *file) codeEntry(c *codec, n int, before int64) {
	e, importance, key := &f.entries[n], math.Float64bits(f.important.at(n)), f.keys.at(n)
	flags := e.flags
	if importance != 0 {
		flags |= flagImportance
	}
	if key != 0 {
		flags |= flagKey
	}
	fixed(c, &e.dup)
	fixed(c, &e.id)
	number(c, &flags)
	c.varint(&e.time, before)
	if flags&flagImportance != 0 {
		fixed(c, &importance)
		f.important.set(n, len(f.entries), math.Float64frombits(importance))
	}
	if flags&flagKey != 0 {
		fixed(c, &key)
		f.keys.set(n, len(f.entries), key)
	}
	if c.decodes {
		e.flags = flags &^ (flagImportance | flagKey)
	}
	number(c, &e.length)
}

// A codec encodes or decodes the fields of a record, so that one function describes both.
// Numbers are varints, and strings follow their lengths. After an error, it decodes only
// zero values.
type codec struct {
	b       []byte // encoded so far, or left to decode
	decodes bool
	bad     bool
}

// take removes the next n bytes, or all if there are fewer.
func (c *codec) take(n int) []byte {
	c.bad = c.bad || n < 0 || n > len(c.b)
	if c.bad {
		c.b = nil
		return nil
	}
	v := c.b[:n]
	c.b = c.b[n:]
	return v
}

// varint codes the difference of v from another number. It wraps around.
func (c *codec) varint(v *int64, from int64) {
	if !c.decodes {
		c.b = binary.AppendVarint(c.b, *v-from)
		return
	}
	d, n := binary.Varint(c.b) // n is 0 or less for bytes that it cannot decode
	c.bad = c.bad || n <= 0
	c.take(n)
	*v = from + d
}

func (c *codec) bool(v *bool) {
	b := byte(0)
	if *v {
		b = 1
	}
	number(c, &b)
	*v = b != 0
}

func number[T ~uint8 | ~uint16 | ~uint32 | ~uint64](c *codec, v *T) {
	if !c.decodes {
		c.b = binary.AppendUvarint(c.b, uint64(*v))
		return
	}
	u, n := binary.Uvarint(c.b)
	c.bad = c.bad || n <= 0 || u != uint64(T(u))
	c.take(n)
	*v = T(u)
}

// fixed codes a hash, in eight bytes.
func fixed[T ~uint64](c *codec, v *T) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(*v))
	if copy(b[:], c.bytes(b[:])); c.decodes {
		*v = T(binary.LittleEndian.Uint64(b[:]))
	}
}

// bytes codes bytes without their number, and returns them.
func (c *codec) bytes(v []byte) []byte {
	if c.decodes {
		return c.take(len(v))
	}
	c.b = append(c.b, v...)
	return v
}

func (c *codec) string(v *string) {
	n := uint64(len(*v))
	if number(c, &n); !c.decodes {
		c.b = append(c.b, *v...)
		return
	}
	*v = string(c.take(int(min(n, uint64(len(c.b)+1)))))
}

// list codes the length of a list, whose elements have at least size bytes.
func list[T any](c *codec, l *[]T, size int) {
	n := uint64(len(*l))
	if number(c, &n); c.decodes {
		c.bad = c.bad || n > uint64(len(c.b)/size)
		if c.bad {
			n = 0
		}
		*l = make([]T, n)
	}
}

// setDerived sets the fields that are not stored.
func (f *file) setDerived() {
	f.file, f.Entries, f.pathHash = f, len(f.entries), hashOf(f.Path)
	f.oldest, f.newest = forever, noTime
	for i, e := range f.entries {
		f.Tasks = f.Tasks || e.flags&(flagOpen|flagDone) != 0
		f.oldest, f.newest = min(f.oldest, e.time), max(f.newest, e.time)
		f.importance = max(f.importance, f.important.at(i))
	}
	if f.oldest == f.newest && f.newest == f.Stamp.MTime {
		f.minute = f.newest / int64(time.Minute)
	}
}
