package index

import (
	"fmt"
	"maps"
	"slices"

	"github.com/memwatchd/memwatchd/memory"
)

// countSuccessors adds the successors in a file to the table, or removes them if
// sign is -1.
func (t *table) countSuccessors(f *file, sign int) {
	for _, l := range f.links {
		countListed(&t.successors, t.edition, l.id, entryKey{f.number, int32(l.entry)}, sign)
	}
}

// countTexts adds the entries of a file to those that the table finds by their
// embedded text, or removes them if sign is -1.
func (t *table) countTexts(v *file, sign int) {
	for i, key := range v.keys {
		if key != 0 {
			countListed(&t.texts, t.edition, TextRef{v.partition, key}, entryKey{v.number, int32(i)}, sign)
		}
	}
}

// readable returns the partitions with content that a view can read.
func (t *table) readable(view memory.View) (r readable) {
	for _, p := range view.Partitions() {
		part := t.partitions[p]
		if part == nil {
			continue
		}
		r.partitions = append(r.partitions, part)
		r.files += part.files
		r.entries += part.entries
		r.length += float64(part.length)
		r.filelen += float64(part.filelen)
	}
	return r
}

// A readable contains the partitions with content that the view can read, and their
// sums. The statistics of the ranking come from these alone.
type readable struct {
	partitions      []*partitionStats
	files, entries  int
	length, filelen float64
}

// A table is the part of the index in memory: the records of all files, the
// files and blocks by number, and the sums that BM25 needs of each partition.
// It is loaded from the stored records when the index is opened. A batch makes a
// new version (see [table.edit]), so a search reads one state to its end.
type table struct {
	edition     uint64
	files       shards[string, *file]
	byNumber    pages[*file] // by number, nil for a free one
	rows        pages[row]   // by file number
	blocks      pages[ref]   // by number
	leaves      pages[leaf]  // by block number
	freeNumbers []uint32
	freeBlocks  []uint32
	partitions  map[memory.Partition]*partitionStats
	successors  shards[uint64, []entryKey]  // by the id that they supersede, see [idIn]
	texts       shards[TextRef, []entryKey] // entries by their embedded text
	minutes     shards[savedIn, int]        // number of files
	entries     int
}

// A savedIn is a minute in which a file of a partition was saved. Its entries have no
// times of their own.
type savedIn struct {
	memory.Partition
	minute int64 // since 1970
}

// A ref identifies the file of a block.
type ref struct {
	file uint32 // number, or nowhere
	nth  uint32 // index in the blocks of the file
}

// A leaf contains the data of the entries in a block for ranking.
type leaf struct {
	lengths [slotsPerBlock]uint16
	dups    [slotsPerBlock]uint16 // end of the dup of each entry

	questions uint32 // set of the slots that end with a question
}

// A row contains the data of a file that ranking reads for each file with a word.
type row struct {
	entries, length uint32
	kind            memory.Kind
}

func leafOf(p *file, n int) (l leaf) {
	for s := range l.lengths {
		if e := entryOfSlot(n, s); e >= 0 && e < len(p.entries) {
			l.lengths[s] = p.entries[e].length
			l.dups[s] = uint16(p.entries[e].dup)
			if p.entries[e].flags&flagQuestion != 0 {
				l.questions |= 1 << s
			}
		}
	}
	return l
}

// A partitionStats contains the sums of a partition for ranking. It is immutable
// once it is in a table.
type partitionStats struct {
	memory.Partition
	fields  fieldNames
	files   int
	entries int
	texts   int   // different embedded texts
	length  int64 // tokens of all entries
	filelen int64 // tokens of all slots
}

func newTable() *table {
	return &table{
		files: newShards[string, *file](), partitions: make(map[memory.Partition]*partitionStats),
		successors: newShards[uint64, []entryKey](), texts: newShards[TextRef, []entryKey](),
		minutes: newShards[savedIn, int](),
	}
}

// edit returns the next version of the table, which can be changed until it is
// published. It shares most of its memory with t.
func (t *table) edit() *table {
	return &table{
		edition: t.edition + 1, files: t.files.clone(),
		byNumber: t.byNumber.clone(), rows: t.rows.clone(), blocks: t.blocks.clone(), leaves: t.leaves.clone(),
		freeNumbers: slices.Clone(t.freeNumbers), freeBlocks: slices.Clone(t.freeBlocks),
		partitions: maps.Clone(t.partitions), successors: t.successors.clone(), texts: t.texts.clone(),
		minutes: t.minutes.clone(), entries: t.entries,
	}
}

func (t *table) fileAt(n uint32) *file { return *t.byNumber.at(n) }

// refOf returns the file of a block of bleve, noFile if the block is not in this version.
func (t *table) refOf(block uint32) ref {
	if block >= t.blocks.length {
		return ref{file: noFile}
	}
	return *t.blocks.at(block)
}

// assignBlocks gives the new blocks of a file numbers that no block in the table has.
func (t *table) assignBlocks(f *file) error {
	for i, n := range f.blocks {
		if n != noBlock {
			continue
		}
		if k := len(t.freeBlocks); k > 0 {
			f.blocks[i] = t.freeBlocks[k-1]
			t.freeBlocks = t.freeBlocks[:k-1]
			continue
		}
		n = t.blocks.length
		if n >= purgeBlock {
			return fmt.Errorf("index %s: more than %d blocks", f.Path, maxBlocks)
		}
		t.growTo(n)
		f.blocks[i] = n
	}
	return nil
}

func (t *table) growTo(n uint32) {
	for t.blocks.length <= n {
		t.leaves.set(t.edition, t.blocks.length, leaf{})
		t.blocks.set(t.edition, t.blocks.length, ref{file: noFile})
	}
}

// addFile adds a file with assigned block numbers.
func (t *table) addFile(f *file) {
	f.setDerived()
	f.number = t.byNumber.length
	if k := len(t.freeNumbers); k > 0 {
		f.number = t.freeNumbers[k-1]
		t.freeNumbers = t.freeNumbers[:k-1]
	}
	t.byNumber.set(t.edition, f.number, f)
	t.rows.set(t.edition, f.number, row{uint32(len(f.entries)), f.length, f.Kind})
	for i, n := range f.blocks {
		t.growTo(n)
		t.blocks.set(t.edition, n, ref{f.number, uint32(i)})
		t.leaves.set(t.edition, n, leafOf(f, i))
	}
	t.files.set(t.edition, f.Path, f)
	t.countFile(f, 1)
}

// removeFile removes a file and returns the numbers of its blocks that its next record,
// which may be nil, does not reuse.
func (t *table) removeFile(f, next *file) (gone []uint32) {
	t.countFile(f, -1)
	t.files.delete(t.edition, f.Path)
	t.byNumber.set(t.edition, f.number, nil)
	t.freeNumbers = append(t.freeNumbers, f.number)
	for i, n := range f.blocks {
		if !next.reuses(i, n) {
			t.blocks.set(t.edition, n, ref{file: noFile})
			gone = append(gone, n)
		}
	}
	t.freeBlocks = append(t.freeBlocks, gone...)
	return gone
}

// countFile adds a file to the sums of its partition, or subtracts it if sign is -1.
func (t *table) countFile(f *file, sign int) {
	s := partitionStats{Partition: f.partition, fields: fieldsOf(f.partition)}
	if old := t.partitions[f.partition]; old != nil {
		s = *old
	}
	s.files += sign
	s.filelen += int64(sign) * int64(f.length)
	s.entries += sign * len(f.entries)
	for i := range f.entries {
		s.length += int64(sign) * int64(f.entries[i].length)
	}
	t.countSuccessors(f, sign)
	before := t.texts.length
	t.countTexts(f, sign)
	s.texts += t.texts.length - before
	if in := (savedIn{f.partition, f.minute}); in.minute != 0 {
		if n := t.minutes.get(in) + sign; n > 0 {
			t.minutes.set(t.edition, in, n)
		} else {
			t.minutes.delete(t.edition, in)
		}
	}
	t.partitions[f.partition] = &s
	if s.files == 0 {
		delete(t.partitions, s.Partition)
	}
	t.entries += sign * f.Entries
}
