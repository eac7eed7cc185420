package index

import (
	"encoding/binary"
	"math/bits"

	bleve "github.com/blevesearch/bleve_index_api"
)

// The mapping to bleve documents.
//
// A bleve document is a block: up to 20 consecutive slots of one file and one
// partition. A slot is an entry, except that the first slot of the first block
// of a file is the head of the file (path, summary, tags). A bleve posting
// contains a document and a frequency. Only the scoring of bleve needs the
// frequency. This package computes scores for entries itself, so it uses the
// frequency for three bits per slot of the block. They hold the weight of the
// term in the slot, from 0 (absent) to 7.
//
// So one pass over the posting lists of the query terms returns exact data for
// ranking every entry, its neighbours and its file. A file is a few documents
// instead of one per entry, and changing the file rewrites only these.

// slotsPerBlock is the number of slots that fit into a frequency: three bits
// for each slot, and two bits for the encoding. Bleve shifts the frequency left
// by one more bit.
const slotsPerBlock = 20

// A level is the weight of a term in a slot, in three bits.
type level uint8

// Levels with names. A term above levelSection occurs in the entry itself.
const (
	levelSection level = 1 // in the section path, not in the entry
	levelOnce    level = 2 // once in the entry, the most frequent level
	levelMany    level = 5 // four times in the entry, or more
	levelBoth    level = 6 // in the section path, and once in the entry
	levelBothTwo level = 7 // in the section path, and several times in the entry
)

// next returns the level of a term that occurs once more in the entry itself.
func (l level) next() level {
	if l == 0 {
		return levelOnce
	}
	return min(l+1, levelMany)
}

// inSection returns the level of a term that also occurs in the section path.
func (l level) inSection() level {
	switch l {
	case 0, levelSection:
		return levelSection
	case levelOnce, levelBoth:
		return levelBoth
	}
	return levelBothTwo
}

// levelTenths contains the term frequency of each level, times ten, because sums
// of integers do not depend on the order in which bleve returns documents. A
// term in the section path counts like 2.5 more occurrences, or like 1.5 if the
// entry itself does not contain it.
var levelTenths = [8]uint8{0, 15, 10, 20, 30, 50, 35, 52}

// A slots value holds the levels of one term in the slots of one block.
type slots uint64

func (s slots) level(slot int) level { return level(s >> (3 * slot) & 7) }

func (s *slots) set(slot int, l level) { *s = *s&^(7<<(3*slot)) | slots(l)<<(3*slot) }

// next returns the first slot that contains the term, and its level. The value
// s must not be zero.
func (s slots) next() (slot int, l level) {
	slot = bits.TrailingZeros64(uint64(s)) / 3
	return slot, s.level(slot)
}

// single returns the first slot that contains the term, and its level. It reports
// whether that is the only one.
func (s slots) single() (slot int, l level, ok bool) {
	slot, l = s.next()
	return slot, l, s == slots(l)<<(3*slot)
}

// without returns s with one slot cleared.
func (s slots) without(slot int) slots { return s &^ (7 << (3 * slot)) }

// low contains the lowest bit of each slot.
const low slots = 1 << (3 * slotsPerBlock) / 7

// used returns the lowest bit of each slot that contains the term.
func (s slots) used() slots { return (s | s>>1 | s>>2) & low }

// sections returns the lowest bit of each slot that contains the term only in a
// heading above.
func (s slots) sections() slots { return s &^ (s >> 1) &^ (s >> 2) & low }

// count returns the number of slots that contain the term.
func (s slots) count() int { return bits.OnesCount64(uint64(s.used())) }

// Bleve writes a frequency in bytes of seven bits each, so small numbers are
// short. A term is usually in one slot, or in several slots with the same
// level. rankOf maps the most frequent level to the smallest number, and
// levelRanked is its inverse.
func rankOf(l level) uint64      { return uint64(l+5) % 7 }
func levelRanked(r uint64) level { return level((r+1)%7 + 1) }

// frequency returns the encoding of the slots. It is never zero, which bleve
// treats specially.
//
//	…1   one slot: rank*20 + slot
//	…10  several slots of one level: a bit for each, rank
//	…00  the slots unchanged
func (s slots) frequency() uint64 {
	slot, l, single := s.single()
	used := s.used()
	switch {
	case single:
		return (rankOf(l)*slotsPerBlock+uint64(slot))<<1 | 1
	case s == used*slots(l):
		var set uint64
		for ; used != 0; used &= used - 1 {
			set |= 1 << (bits.TrailingZeros64(uint64(used)) / 3)
		}
		return (set<<3|rankOf(l))<<2 | 2
	}
	return uint64(s) << 2
}

// slotsOf returns the slots of a frequency. Any number yields some slots.
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

// A termKind is the kind of a term. In the key of a term it follows the
// partition. A query of one partition therefore never reads the posting lists of
// another one and cannot reveal how frequent a word is there.
type termKind byte

const (
	kindWord    termKind = 'w' // token of the text
	kindTag     termKind = 't'
	kindParent  termKind = 'p' // tag above a nested tag: a, a/b of #a/b/c
	kindType    termKind = 'y'
	kindSection termKind = 's' // heading of the section path, squashed
	kindLink    termKind = 'l' // path below the root that the entry links to
	kindMention termKind = 'm' // key of the name of a link, see memory.NameKey
	kindName    termKind = 'n' // key of a name of the file, in the head
	kindID      termKind = 'i' // explicit id, not derived
)

// fieldTerms is the indexed field; fieldRecord is the stored field.
const (
	fieldTerms  = "t"
	fieldRecord = "r"
)

// termKey returns the key of a term, without the prefix of a partition.
func termKey(s termKind, term string) string { return string(s) + term }

// A block is up to 20 consecutive slots of a variant. Bleve stores it as one or
// more parts.
type block struct {
	variant int     // index of the variant in its file
	nth     int     // index of the block in its variant
	number  uint32  // number in the table
	prefix  string  // prefix of the partition
	record  []byte  // record of the file, only in its first block
	parts   []*part // the first one begins at slot 0
}

// A part holds some terms of a block; it implements bleve's Document. The slots of
// its terms count from its first slot.
//
// The segments of bleve have a list for each term, which takes some 25 bytes. They
// need none for a term that is in one document only, with the frequency 1. That is
// the frequency of a term that occurs once in the first slot of its part, and nowhere
// else in the block. So a slot with many words that probably occur nowhere else has a
// part of its own.
type part struct {
	block *block
	first int                    // slot
	terms bleve.TokenFrequencies // by key
	id    bleve.TokenFrequencies
}

// A blockTerm is a term of a block.
type blockTerm struct {
	key string // with the partition
	slots
}

// singleSlots contains the most frequent values, those of a term in one slot.
var singleSlots = func() (all [7 * slotsPerBlock]bleve.TokenFreq) {
	for i := range all {
		all[i].SetFrequency(i<<1 | 1)
	}
	return all
}()

// minPairs is the number of pairs of characters in one slot only from which this slot
// has its own part. A part takes some 25 bytes, and a term without a list saves 20; but
// not every pair occurs nowhere else.
const minPairs = 8

// setTerms sets the terms in the form that bleve needs.
func (b *block) setTerms(terms []blockTerm) {
	var pairs [slotsPerBlock]int
	for _, t := range terms {
		if slot, _, ok := t.single(); ok && b.isPair(t.key) {
			pairs[slot]++
		}
	}
	main := &part{block: b, terms: make(bleve.TokenFrequencies, len(terms))}
	b.parts = []*part{main}
	var own [slotsPerBlock]*part
	for slot, n := range pairs {
		if n >= minPairs && slot > 0 {
			own[slot] = &part{block: b, first: slot, terms: make(bleve.TokenFrequencies, n)}
			b.parts = append(b.parts, own[slot])
		}
	}
	var rest []bleve.TokenFreq // memory of other values
	for i, t := range terms {
		in := main
		if slot, l, ok := t.single(); ok && own[slot] != nil {
			in, t.slots = own[slot], slots(l)
		}
		f := t.frequency()
		if f&1 != 0 {
			in.terms[t.key] = &singleSlots[f>>1]
			continue
		}
		if len(rest) == 0 {
			rest = make([]bleve.TokenFreq, min(16, len(terms)-i))
		}
		rest[0].SetFrequency(int(f))
		in.terms[t.key] = &rest[0]
		rest = rest[1:]
	}
}

// isPair reports whether the term is a word in a script of which pairs of characters
// are words. Their first bytes are 0xe0 or more in UTF-8.
func (b *block) isPair(key string) bool {
	term := key[len(b.prefix):]
	return len(term) > 1 && term[0] == byte(kindWord) && term[1] >= 0xe0
}

// A place identifies a part: 32 times the number of the block, plus the first slot.
type place uint32

func (p *part) place() place { return place(p.block.number<<5) | place(p.first) }

func (p place) block() uint32 { return uint32(p >> 5) }
func (p place) first() int    { return int(p & 31) }

// slotsOf returns the slots in the block for a frequency in the part.
func (p place) slotsOf(frequency uint64) slots {
	return slotsOf(frequency) << (3 * p.first()) & (1<<(3*slotsPerBlock) - 1)
}

// ID returns the id that bleve stores: the id of the block, and the first slot unless
// it is 0. So the first part of a block replaces all parts that have its number.
func (p *part) ID() string {
	if p.first == 0 {
		return blockID(p.block.number)
	}
	return blockID(p.block.number) + string(rune(p.first))
}

// placeOf returns the place of the part with an id.
func placeOf(id []byte) (p place, ok bool) {
	if len(id) == 5 && id[4] < slotsPerBlock {
		p, id = place(id[4]), id[:4]
	}
	if len(id) != 4 {
		return 0, false
	}
	number := binary.BigEndian.Uint32(id)
	return place(number<<5) | p, number < maxBlocks
}

// blockID returns the term by which bleve finds all parts of a block: its number in
// the table.
func blockID(number uint32) string {
	return string(binary.BigEndian.AppendUint32(nil, number))
}

func (p *part) Size() int                                  { return 64*len(p.terms) + len(p.record()) }
func (p *part) NumPlainTextBytes() uint64                  { return 0 }
func (p *part) StoredFieldsBytes() uint64                  { return uint64(len(p.record())) }
func (p *part) Indexed() bool                              { return true }
func (p *part) HasComposite() bool                         { return false }
func (p *part) VisitComposite(bleve.CompositeFieldVisitor) {}
func (p *part) AddIDField() {
	p.id = bleve.TokenFrequencies{blockID(p.block.number): &singleSlots[0]}
}

// record returns the record that bleve stores with the part, or nil.
func (p *part) record() []byte {
	if p.first > 0 {
		return nil
	}
	return p.block.record
}

func (p *part) VisitFields(visit bleve.FieldVisitor) {
	if p.id != nil {
		visit(field{"_id", bleve.IndexField | bleve.StoreField, []byte(p.ID()), p.id})
	}
	visit(field{fieldTerms, bleve.IndexField, nil, p.terms})
	if record := p.record(); record != nil {
		visit(field{fieldRecord, bleve.StoreField, record, nil})
	}
}

// A field is a field of a document of bleve. All have the same length for bleve,
// which writes the length with every posting.
type field struct {
	name    string
	options bleve.FieldIndexingOptions
	value   []byte
	terms   bleve.TokenFrequencies
}

func (f field) Name() string                                     { return f.name }
func (f field) Value() []byte                                    { return f.value }
func (f field) ArrayPositions() []uint64                         { return nil }
func (f field) EncodedFieldType() byte                           { return 't' }
func (f field) Analyze()                                         {}
func (f field) Options() bleve.FieldIndexingOptions              { return f.options }
func (f field) AnalyzedLength() int                              { return 1 }
func (f field) NumPlainTextBytes() uint64                        { return 0 }
func (f field) AnalyzedTokenFrequencies() bleve.TokenFrequencies { return f.terms }
