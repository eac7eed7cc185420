package index

import (
	"fmt"

	"github.com/memwatchd/memwatchd/memory"
)

// table is the part of the index that lives in memory: every file's record, the
// blocks by number, and the sums that BM25 needs of each partition. It is
// loaded from the stored records when the index is opened and follows every
// batch, so that it never differs from what bleve holds.
type table struct {
	files      map[string]*file
	byNumber   []*file
	refs       []ref // by block number
	freeFiles  []uint32
	freeBlocks []uint32
	partitions map[memory.Partition]*partition
	entries    int
}

// partition is what ranking needs to know of a partition as a whole.
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

// prefixOf begins every term of a partition. Owners hold no control characters,
// so that no prefix begins another.
func prefixOf(p memory.Partition) string {
	return p.Owner + "\x00" + string(rune(sortOf(p)))
}

// allot gives the file its blocks' numbers.
func (t *table) allot(f *file) error {
	for i := range f.parts {
		for j := range f.parts[i].blocks {
			var n uint32
			if k := len(t.freeBlocks); k > 0 {
				n = t.freeBlocks[k-1]
				t.freeBlocks = t.freeBlocks[:k-1]
			} else {
				n = uint32(len(t.refs))
				if n >= maxBlocks {
					return fmt.Errorf("index %s: more than %d blocks of entries", f.path, maxBlocks)
				}
				t.refs = append(t.refs, ref{})
			}
			f.parts[i].blocks[j] = n
		}
	}
	return nil
}

// prepare makes the blocks of a file that has its numbers lead to it. The file
// does not count yet.
func (t *table) prepare(f *file) {
	if k := len(t.freeFiles); k > 0 {
		f.number = t.freeFiles[k-1]
		t.freeFiles = t.freeFiles[:k-1]
		t.byNumber[f.number] = f
	} else {
		f.number = uint32(len(t.byNumber))
		t.byNumber = append(t.byNumber, f)
	}
	f.settle()
	for i := range f.parts {
		for j, n := range f.parts[i].blocks {
			for int(n) >= len(t.refs) {
				t.refs = append(t.refs, ref{})
			}
			t.refs[n] = ref{file: f, part: uint16(i), block: uint16(j)}
		}
	}
}

// put makes a prepared file count.
func (t *table) put(f *file) {
	t.files[f.path] = f
	t.count(f, 1)
}

// drop takes a file out and gives its numbers back.
func (t *table) drop(f *file) {
	t.count(f, -1)
	delete(t.files, f.path)
	t.free(f)
}

// free undoes prepare.
func (t *table) free(f *file) {
	t.byNumber[f.number] = nil
	t.freeFiles = append(t.freeFiles, f.number)
	for i := range f.parts {
		for _, n := range f.parts[i].blocks {
			t.refs[n] = ref{}
			t.freeBlocks = append(t.freeBlocks, n)
		}
	}
}

func (t *table) count(f *file, sign int) {
	for i := range f.parts {
		s := t.partition(f.parts[i].partition)
		s.add(f, sign)
		if s.files == 0 {
			delete(t.partitions, s.Partition)
		}
	}
	t.entries += sign * f.whole
}

// loaded finds the numbers that no file has, after all have been put.
func (t *table) loaded() {
	for n := range t.refs {
		if t.refs[n].file == nil {
			t.freeBlocks = append(t.freeBlocks, uint32(n))
		}
	}
}
