package index

import (
	"encoding/binary"
	"math/bits"

	"github.com/blevesearch/bleve/v2/document"
	bleve "github.com/blevesearch/bleve_index_api"
)

// What a bleve document is.
//
// A bleve document is a block: up to 20 neighbouring slots of one file and one
// partition. A slot is an entry; the first slot of a file's first block is the
// file's head (path, summary, tags). A posting of bleve carries a document and
// a frequency. Bleve's own scoring would need the latter; we score entries
// ourselves, so it is put to use: it holds three bits for each slot of the
// block, which tell how much the term counts there, from 0 (absent) to 7.
//
// So one walk along the posting lists of a query's terms tells everything that
// ranking needs about every entry, its neighbours and its file, exactly; a file
// is a handful of documents instead of one for each entry, and changing it
// rewrites just these.

// slotsPerBlock is what fits into a frequency: three bits for each slot, and two
// that tell how they are written. Bleve shifts it left by one more bit.
const slotsPerBlock = 20

// level is how much a term counts in a slot, in three bits.
type level uint8

// Levels that are told apart by name.
const (
	levelSection level = 1 // in the section path, not in the entry
	levelOnce    level = 2 // once in the entry: most terms
)

// levelOf is the level of a term that occurs n times in the entry itself,
// once more for each time it stands in the title.
func levelOf(n int) level {
	switch {
	case n <= 0:
		return 0
	case n <= 3:
		return level(n + 1)
	case n <= 5:
		return 5
	case n <= 8:
		return 6
	}
	return 7
}

// levelTenths is the term frequency that a level stands for, times ten: sums of
// integers do not depend on the order in which bleve returns documents.
var levelTenths = [8]uint8{0, 4, 10, 20, 30, 45, 65, 100}

// A slots value is what one term is to the slots of one block.
type slots uint64

func (s slots) level(slot int) level { return level(s >> (3 * slot) & 7) }

func (s *slots) raise(slot int, l level) {
	if s.level(slot) < l {
		*s = *s&^(7<<(3*slot)) | slots(l)<<(3*slot)
	}
}

// next is the first slot that has the term, and its level; s is not zero.
func (s slots) next() (slot int, l level) {
	slot = bits.TrailingZeros64(uint64(s)) / 3
	return slot, s.level(slot)
}

// without is s but for one slot.
func (s slots) without(slot int) slots { return s &^ (7 << (3 * slot)) }

// low has the lowest bit of each slot.
const low slots = 1 << (3 * slotsPerBlock) / 7

// used has the lowest bit of each slot that has the term.
func (s slots) used() slots { return (s | s>>1 | s>>2) & low }

// count is how many slots have the term.
func (s slots) count() int { return bits.OnesCount64(uint64(s.used())) }

// A frequency is written as bytes of seven bits each, so that small numbers are
// short. Most often a term stands in one slot, or in some to the same level;
// rank makes the most frequent level the smallest number.
func rank(l level) uint64        { return uint64(l+5) % 7 }
func levelRanked(r uint64) level { return level((r+1)%7 + 1) }

// frequency is how slots are written: never zero, which bleve treats otherwise.
//
//	…1   one slot: rank*20 + slot
//	…10  several of one level: a bit for each, rank
//	…00  the slots as they are
func (s slots) frequency() uint64 {
	slot, l := s.next()
	used := s.used()
	switch {
	case s == slots(l)<<(3*slot):
		return (rank(l)*slotsPerBlock+uint64(slot))<<1 | 1
	case s == used*slots(l):
		var set uint64
		for ; used != 0; used &= used - 1 {
			set |= 1 << (bits.TrailingZeros64(uint64(used)) / 3)
		}
		return (set<<3|rank(l))<<2 | 2
	}
	return uint64(s) << 2
}

// slotsOf is the inverse of frequency. Any number gives some slots.
func slotsOf(frequency uint64) slots {
	switch {
	case frequency&1 != 0:
		n := frequency >> 1
		return slots(levelRanked(n/slotsPerBlock)) << (3 * (n % slotsPerBlock))
	case frequency&2 != 0:
		var used slots
		for set := frequency >> 5 & (1<<slotsPerBlock - 1); set != 0; set &= set - 1 {
			used |= 1 << (3 * bits.TrailingZeros64(set))
		}
		return used * slots(levelRanked(frequency>>2&7))
	}
	return slots(frequency>>2) & (1<<(3*slotsPerBlock) - 1)
}

// Terms are kept apart by partition by their beginning: a query of one
// partition never looks at another's posting lists, and so cannot learn from
// them how frequent a word is. After the partition comes the sort of term.
type termSort byte

const (
	sortWord    termSort = 'w' // a token of the text
	sortTag     termSort = 't'
	sortType    termSort = 'y'
	sortSection termSort = 's' // a heading of the section path, squashed
	sortLink    termSort = 'l' // a path below the root that the entry links to
	sortID      termSort = 'i' // an id that was given, not derived
)

// field is the one indexed field; fieldRecord the stored one.
const (
	fieldTerms  = "t"
	fieldRecord = "r"
)

// termKey is the dictionary key of a term in a partition.
func termKey(prefix string, s termSort, term string) string {
	return prefix + string(s) + term
}

// A block is what is handed to bleve: it implements bleve's Document. All blocks
// have the same length for bleve, which writes it with every posting.
type block struct {
	part   int    // of its file
	nth    int    // of its part
	number uint32 // in the table
	prefix string // of the partition
	terms  map[string]slots
	record []byte // of the file, with its first block only
	idTerm *document.TextField
	field  termsField
}

func (b *block) ID() string                                 { return blockID(b.number) }
func (b *block) Size() int                                  { return 64*len(b.terms) + len(b.record) }
func (b *block) NumPlainTextBytes() uint64                  { return 0 }
func (b *block) StoredFieldsBytes() uint64                  { return uint64(len(b.record)) }
func (b *block) Indexed() bool                              { return true }
func (b *block) HasComposite() bool                         { return false }
func (b *block) VisitComposite(bleve.CompositeFieldVisitor) {}
func (b *block) AddIDField() {
	b.idTerm = document.NewTextFieldCustom("_id", nil, []byte(b.ID()), bleve.IndexField|bleve.StoreField, nil)
}

func (b *block) VisitFields(visit bleve.FieldVisitor) {
	if b.idTerm != nil {
		visit(b.idTerm)
	}
	b.field.block = b
	visit(&b.field)
	if b.record != nil {
		visit(recordField(b.record))
	}
}

// termsField is the indexed field of a block.
type termsField struct {
	block *block
	freqs bleve.TokenFrequencies
}

func (f *termsField) Name() string                        { return fieldTerms }
func (f *termsField) Value() []byte                       { return nil }
func (f *termsField) ArrayPositions() []uint64            { return nil }
func (f *termsField) EncodedFieldType() byte              { return 't' }
func (f *termsField) Options() bleve.FieldIndexingOptions { return bleve.IndexField }
func (f *termsField) AnalyzedLength() int                 { return 1 }
func (f *termsField) NumPlainTextBytes() uint64           { return 0 }
func (f *termsField) AnalyzedTokenFrequencies() bleve.TokenFrequencies {
	return f.freqs
}

// Analyze puts the terms into bleve's form. The keys share one string, and the
// frequencies one slice: a file has hundreds of terms.
func (f *termsField) Analyze() {
	b := f.block
	size := 0
	terms := make([]string, 0, len(b.terms))
	for term := range b.terms {
		terms = append(terms, term)
		size += len(b.prefix) + len(term)
	}
	buf := make([]byte, 0, size)
	for _, term := range terms {
		buf = append(append(buf, b.prefix...), term...)
	}
	all := string(buf)
	freqs := make([]bleve.TokenFreq, len(terms))
	f.freqs = make(bleve.TokenFrequencies, len(terms))
	at := 0
	for i, term := range terms {
		end := at + len(b.prefix) + len(term)
		freqs[i].Term = buf[at:end]
		freqs[i].SetFrequency(int(b.terms[term].frequency()))
		f.freqs[all[at:end]] = &freqs[i]
		at = end
	}
}

// recordField is the stored field of a file's first block.
type recordField []byte

func (f recordField) Name() string                                     { return fieldRecord }
func (f recordField) Value() []byte                                    { return f }
func (f recordField) ArrayPositions() []uint64                         { return nil }
func (f recordField) EncodedFieldType() byte                           { return 't' }
func (f recordField) Analyze()                                         {}
func (f recordField) Options() bleve.FieldIndexingOptions              { return bleve.StoreField }
func (f recordField) AnalyzedLength() int                              { return 0 }
func (f recordField) AnalyzedTokenFrequencies() bleve.TokenFrequencies { return nil }
func (f recordField) NumPlainTextBytes() uint64                        { return 0 }

// blockID is bleve's name of a block: its number, of which the table knows where
// it leads.
func blockID(number uint32) string {
	return string(binary.BigEndian.AppendUint32(nil, number))
}

// numberOf is the inverse of blockID.
func numberOf(id []byte) (uint32, bool) {
	if len(id) != 4 {
		return 0, false
	}
	return binary.BigEndian.Uint32(id), true
}
