package index

import (
	"math"
	"math/bits"

	"github.com/blevesearch/bleve/v2/document"
	bleve "github.com/blevesearch/bleve_index_api"
)

// What a bleve document is.
//
// A bleve document is a block: up to 21 neighbouring slots of one file and one
// partition. A slot is an entry; the first slot of a file's first block is the
// file's head (path, summary, tags). A posting of bleve carries a document, a
// frequency and a norm; bleve's own scoring would need the latter two, but we
// score entries ourselves, so they are put to use:
//
//   - the frequency holds three bits for each slot of the block: how much the
//     term counts there, from 0 (absent) to 7 (see [levelWeight]);
//   - the norm holds the block's number, by which the table in memory knows
//     file, partition and lengths without another look at the disk.
//
// So one walk along the posting lists of a query's terms tells everything that
// ranking needs about every entry, its neighbours and its file, exactly; a file
// is a handful of documents instead of one for each entry, and changing it
// rewrites just these.

// slotsPerBlock times three bits is what fits: bleve shifts the frequency left
// by one before it writes it as 64 bits.
const slotsPerBlock = 21

// maxBlocks keeps block numbers exact on their way through bleve's norm, which
// is read back as a 32-bit float 1/sqrt(n).
const maxBlocks = 1 << 22

// level is how much a term counts in a slot, in three bits.
type level uint8

// levelSection is for a term that stands in the section path, not in the entry.
const levelSection level = 1

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

// A block is what is handed to bleve: it implements bleve's Document.
type block struct {
	id     string // path, NUL, number of the block in its file
	part   int    // of its file
	nth    int    // of its part
	number uint32 // in the table
	prefix string // of the partition
	terms  map[string]slots
	record []byte // of the file, with its first block only
	idTerm *document.TextField
	field  termsField
}

func (b *block) ID() string                                 { return b.id }
func (b *block) Size() int                                  { return 64*len(b.terms) + len(b.record) }
func (b *block) NumPlainTextBytes() uint64                  { return 0 }
func (b *block) StoredFieldsBytes() uint64                  { return uint64(len(b.record)) }
func (b *block) Indexed() bool                              { return true }
func (b *block) HasComposite() bool                         { return false }
func (b *block) VisitComposite(bleve.CompositeFieldVisitor) {}
func (b *block) AddIDField() {
	b.idTerm = document.NewTextFieldCustom("_id", nil, []byte(b.id), bleve.IndexField|bleve.StoreField, nil)
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
func (f *termsField) AnalyzedLength() int                 { return int(f.block.number) + 1 }
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
		freqs[i].SetFrequency(int(b.terms[term]))
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

// numberOfNorm is the block's number from the norm that bleve gives back.
func numberOfNorm(n float64) uint32 { return uint32(math.Round(1/(n*n))) - 1 }

// count is how many slots have the term.
func (s slots) count() int {
	const low = 0o111111111111111111111
	return bits.OnesCount64(uint64((s | s>>1 | s>>2) & low))
}
