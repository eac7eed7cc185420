package index

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/memwatchd/memwatchd/memory"
)

// A table is the part of the index in memory: the records of all files, the
// variants and blocks by number, and the sums that BM25 needs of each partition.
// It is loaded from the stored records when the index is opened. A batch makes a
// new version (see [table.edit]), so a search reads one state to its end.
type table struct {
	edition      uint64
	files        shards[string, *file]
	variants     pages[*variant] // by number, nil for a free one
	rows         pages[row]      // by variant number
	blocks       pages[ref]      // by number
	leaves       pages[leaf]     // by block number
	freeVariants []uint32
	freeBlocks   []uint32
	partitions   map[memory.Partition]*partitionStats
	successors   shards[uint64, []successor] // by the hash of the id that they supersede
	texts        shards[TextRef, []entryKey] // entries by their embedded text
	minutes      shards[savedIn, int]        // number of variants
	entries      int
}

// A savedIn is a minute in which a file of a partition was saved. Its entries have no
// times of their own.
type savedIn struct {
	memory.Partition
	minute int64 // since 1970
}

// A ref identifies the variant of a block.
type ref struct {
	variant uint32 // number, or nowhere
	nth     uint32 // index in the blocks of the variant
}

// A leaf contains the data of the entries in a block for ranking.
type leaf struct {
	lengths [slotsPerBlock]uint16
	dups    [slotsPerBlock]uint16 // end of the dup of each entry

	questions uint32 // set of the slots that end with a question
}

// A row contains the data of a variant that ranking reads for each variant with a word.
type row struct {
	entries, length uint32
	kind            memory.Kind
}

// noVariant is the variant of an unused block, and noBlock the number of a new one.
const (
	noVariant = math.MaxUint32
	noBlock   = math.MaxUint32
)

// maxBlocks bounds the index, and the memory that a damaged record can request.
const maxBlocks = 1 << 26

func leafOf(p *variant, n int) (l leaf) {
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
		successors: newShards[uint64, []successor](), texts: newShards[TextRef, []entryKey](),
		minutes: newShards[savedIn, int](),
	}
}

// edit returns the next version of the table, which can be changed until it is
// published. It shares most of its memory with t.
func (t *table) edit() *table {
	return &table{
		edition: t.edition + 1, files: t.files.clone(),
		variants: t.variants.clone(), rows: t.rows.clone(), blocks: t.blocks.clone(), leaves: t.leaves.clone(),
		freeVariants: slices.Clone(t.freeVariants), freeBlocks: slices.Clone(t.freeBlocks),
		partitions: maps.Clone(t.partitions), successors: t.successors.clone(), texts: t.texts.clone(),
		minutes: t.minutes.clone(), entries: t.entries,
	}
}

func (t *table) variantAt(n uint32) *variant { return *t.variants.at(n) }

// refOf returns the variant of a block of bleve, noVariant if the block is not in this version.
func (t *table) refOf(block uint32) ref {
	if block >= t.blocks.length {
		return ref{variant: noVariant}
	}
	return *t.blocks.at(block)
}

// assignBlocks gives the new blocks of a file numbers that no block in the table has.
func (t *table) assignBlocks(f *file) error {
	for _, p := range f.variants {
		for i, n := range p.blocks {
			if n != noBlock {
				continue
			}
			if k := len(t.freeBlocks); k > 0 {
				p.blocks[i] = t.freeBlocks[k-1]
				t.freeBlocks = t.freeBlocks[:k-1]
				continue
			}
			n = t.blocks.length
			if n >= purgeBlock {
				return fmt.Errorf("index %s: more than %d blocks", f.Path, maxBlocks)
			}
			t.growTo(n)
			p.blocks[i] = n
		}
	}
	return nil
}

func (t *table) growTo(n uint32) {
	for t.blocks.length <= n {
		t.leaves.set(t.edition, t.blocks.length, leaf{})
		t.blocks.set(t.edition, t.blocks.length, ref{variant: noVariant})
	}
}

// addFile adds a file with assigned block numbers.
func (t *table) addFile(f *file) {
	f.setDerived()
	for _, p := range f.variants {
		p.number = t.variants.length
		if k := len(t.freeVariants); k > 0 {
			p.number = t.freeVariants[k-1]
			t.freeVariants = t.freeVariants[:k-1]
		}
		t.variants.set(t.edition, p.number, p)
		t.rows.set(t.edition, p.number, row{uint32(len(p.entries)), p.length, p.file.Kind})
		for i, n := range p.blocks {
			t.growTo(n)
			t.blocks.set(t.edition, n, ref{p.number, uint32(i)})
			t.leaves.set(t.edition, n, leafOf(p, i))
		}
	}
	t.files.set(t.edition, f.Path, f)
	t.countFile(f, 1)
}

// removeFile removes a file and returns the numbers of its blocks that its next record,
// which may be nil, does not reuse.
func (t *table) removeFile(f, next *file) (gone []uint32) {
	t.countFile(f, -1)
	t.files.delete(t.edition, f.Path)
	for v, p := range f.variants {
		t.variants.set(t.edition, p.number, nil)
		t.freeVariants = append(t.freeVariants, p.number)
		for i, n := range p.blocks {
			if !next.reuses(v, i, n) {
				t.blocks.set(t.edition, n, ref{variant: noVariant})
				gone = append(gone, n)
			}
		}
	}
	t.freeBlocks = append(t.freeBlocks, gone...)
	return gone
}

// reuses reports whether the file, which may be nil, has the i-th block of the variant v
// from the record before, where it has the number n.
func (f *file) reuses(v, i int, n uint32) bool {
	return f != nil && v < len(f.variants) && i < len(f.variants[v].blocks) && f.variants[v].blocks[i] == n
}

func (t *table) countFile(f *file, sign int) {
	for _, p := range f.variants {
		s := partitionStats{Partition: p.partition, fields: fieldsOf(p.partition)}
		if old := t.partitions[p.partition]; old != nil {
			s = *old
		}
		s.addVariant(p, sign)
		t.partitions[p.partition] = &s
		t.countSuccessors(p, sign)
		before := t.texts.length
		t.countTexts(p, sign)
		s.texts += t.texts.length - before
		if in := (savedIn{p.partition, p.minute}); in.minute != 0 {
			if n := t.minutes.get(in) + sign; n > 0 {
				t.minutes.set(t.edition, in, n)
			} else {
				t.minutes.delete(t.edition, in)
			}
		}
		if s.files == 0 {
			delete(t.partitions, s.Partition)
		}
	}
	t.entries += sign * f.Entries
}

// addVariant adds the variant to the sums, or subtracts it if sign is -1.
func (s *partitionStats) addVariant(p *variant, sign int) {
	s.files += sign
	s.filelen += int64(sign) * int64(p.length)
	s.entries += sign * len(p.entries)
	for i := range p.entries {
		s.length += int64(sign) * int64(p.entries[i].length)
	}
}
