package index

import (
	"fmt"
	"math"

	"github.com/memwatchd/memwatchd/memory"
)

// A table is the part of the index in memory: the records of all files, the
// parts and blocks by number, and the sums that BM25 needs for each partition.
// It is loaded from the stored records when the index is opened and updated
// with every batch, so it always matches bleve.
type table struct {
	files      map[string]*file
	parts      []*part // by number
	rows       []row   // by part number
	blocks     []ref   // by number
	leaves     []leaf  // by block number
	freeParts  []uint32
	freeBlocks []uint32
	partitions map[memory.Partition]*partition
	entries    int
}

// A ref identifies the part of a block.
type ref struct {
	part uint32 // number, or nowhere
	nth  uint32 // index in the blocks of the part
}

// A leaf contains the data of the entries in a block for ranking.
type leaf struct {
	lengths [slotsPerBlock]uint16
	dups    [slotsPerBlock]uint16 // end of the dup of each entry
}

// A row contains the data of a part for ranking.
type row struct {
	entries, length uint32
	kind            memory.Kind
	oldest, newest  int64   // range of the times of the entries
	importance      float64 // maximum of the entries, or zero
}

func rowOf(p *part) row {
	r := row{entries: uint32(len(p.entries)), length: p.length, kind: p.file.kind, oldest: forever, newest: noTime}
	for i := range p.entries {
		r.oldest, r.newest = min(r.oldest, p.entries[i].time), max(r.newest, p.entries[i].time)
		r.importance = max(r.importance, p.importance(i))
	}
	return r
}

// nowhere is the part of an unused block.
const nowhere = math.MaxUint32

// maxBlocks bounds the index, and the memory that a damaged record can request.
const maxBlocks = 1 << 26

func leafOf(p *part, n int) (l leaf) {
	for s := range l.lengths {
		if e := entryOfSlot(n, s); e >= 0 && e < len(p.entries) {
			l.lengths[s] = p.entries[e].length
			l.dups[s] = uint16(p.entries[e].dup)
		}
	}
	return l
}

// A partition contains the sums of a partition for ranking.
type partition struct {
	memory.Partition
	prefix  string // of its terms
	files   int
	entries int
	length  int64 // tokens of all entries
	filelen int64 // tokens of all slots
}

func newTable() *table {
	return &table{files: make(map[string]*file), partitions: make(map[memory.Partition]*partition)}
}

func (t *table) partition(p memory.Partition) *partition {
	s := t.partitions[p]
	if s == nil {
		s = &partition{Partition: p, prefix: prefixOf(p)}
		t.partitions[p] = s
	}
	return s
}

// prefixOf returns the prefix of every term of a partition. Owners contain no
// control characters, so no prefix is the beginning of another.
func prefixOf(p memory.Partition) string {
	return p.Owner + "\x00" + string(rune(sortOf(p)))
}

// allot assigns numbers to the blocks of the file.
func (t *table) allot(f *file) error {
	for _, p := range f.parts {
		for i := range p.blocks {
			if k := len(t.freeBlocks); k > 0 {
				p.blocks[i] = t.freeBlocks[k-1]
				t.freeBlocks = t.freeBlocks[:k-1]
				continue
			}
			n := uint32(len(t.blocks))
			if n >= maxBlocks {
				return fmt.Errorf("index %s: more than %d blocks of entries", f.path, maxBlocks)
			}
			t.reach(n)
			p.blocks[i] = n
		}
	}
	return nil
}

// reach extends the table to include block n.
func (t *table) reach(n uint32) {
	for int(n) >= len(t.blocks) {
		t.blocks, t.leaves = append(t.blocks, ref{part: nowhere}), append(t.leaves, leaf{})
	}
}

// prepare enters the parts and blocks of a file with assigned numbers. The file
// does not count before put.
func (t *table) prepare(f *file) {
	f.settle()
	for _, p := range f.parts {
		if k := len(t.freeParts); k > 0 {
			p.number = t.freeParts[k-1]
			t.freeParts = t.freeParts[:k-1]
			t.parts[p.number], t.rows[p.number] = p, rowOf(p)
		} else {
			p.number = uint32(len(t.parts))
			t.parts, t.rows = append(t.parts, p), append(t.rows, rowOf(p))
		}
		for i, n := range p.blocks {
			t.reach(n)
			t.blocks[n], t.leaves[n] = ref{p.number, uint32(i)}, leafOf(p, i)
		}
	}
}

// put makes a prepared file count.
func (t *table) put(f *file) {
	t.files[f.path] = f
	t.count(f, 1)
}

// drop removes a file and frees its numbers.
func (t *table) drop(f *file) {
	t.count(f, -1)
	delete(t.files, f.path)
	t.free(f)
}

// free reverses prepare.
func (t *table) free(f *file) {
	for _, p := range f.parts {
		t.parts[p.number] = nil
		t.freeParts = append(t.freeParts, p.number)
		for _, n := range p.blocks {
			t.blocks[n] = ref{part: nowhere}
			t.freeBlocks = append(t.freeBlocks, n)
		}
	}
}

func (t *table) count(f *file, sign int) {
	for _, p := range f.parts {
		s := t.partition(p.partition)
		s.add(p, sign)
		if s.files == 0 {
			delete(t.partitions, s.Partition)
		}
	}
	t.entries += sign * f.whole()
}

// add adds the part to the sums, or subtracts it if sign is -1.
func (s *partition) add(p *part, sign int) {
	s.files += sign
	s.filelen += int64(sign) * int64(p.length)
	s.entries += sign * len(p.entries)
	for i := range p.entries {
		s.length += int64(sign) * int64(p.entries[i].length)
	}
}

// counts reports whether a part belongs to the present version of its path. The
// table contains a new version before that version counts.
func (t *table) counts(p *part) bool { return p != nil && t.files[p.file.path] == p.file }

// loaded collects the unused block numbers after all files have been put.
func (t *table) loaded() {
	for n := range t.blocks {
		if t.blocks[n].part == nowhere {
			t.freeBlocks = append(t.freeBlocks, uint32(n))
		}
	}
}
