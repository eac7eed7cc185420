package index

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"iter"
	"math"
	"math/bits"

	bleve "github.com/blevesearch/bleve_index_api"

	"github.com/memwatchd/memwatchd/memory"
)

// maxBlocks bounds the index, and the memory that a damaged record can request.
const maxBlocks = 1 << 26

// purgeBlock is the number of a block without content.
const purgeBlock = maxBlocks - 1

// noFile is the file of an unused block, and noBlock the number of a new one.
const (
	noFile  = math.MaxUint32
	noBlock = math.MaxUint32
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

// all returns the slots that contain the term, and its levels.
func (s slots) all() iter.Seq2[int, level] {
	return func(yield func(int, level) bool) {
		for v := s; v != 0; {
			slot, l := v.next()
			v = v.without(slot)
			if !yield(slot, l) {
				return
			}
		}
	}
}

// without returns s with one slot cleared.
func (s slots) without(slot int) slots { return s &^ (7 << (3 * slot)) }

// low contains the lowest bit of each slot.
const low slots = 1 << (3 * slotsPerBlock) / 7

// used returns the lowest bit of each slot that contains the term.
func (s slots) used() slots { return (s | s>>1 | s>>2) & low }

func (s slots) count() int { return bits.OnesCount64(uint64(s.used())) }

// Bleve writes a frequency in bytes of seven bits each, so small numbers are
// short. A term is usually in one slot, or in several slots with the same
// level. rankOf maps the most frequent level to the smallest number, and
// levelRanked is its inverse.
func rankOf(l level) uint64 { return uint64(l+5) % 7 }

func levelRanked(r uint64) level { return level((r+1)%7 + 1) }

// frequency returns the encoding of the slots. It is never zero, which bleve
// treats specially.
//
//	…1   one slot: rank*20 + slot
//	…10  several slots of one level: a bit for each, rank
//	…00  the slots unchanged
func (s slots) frequency() uint64 {
	slot, l := s.next()
	used := s.used()
	switch {
	case s == slots(l)<<(3*slot):
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

// A termKind is the kind of a term.
type termKind byte

const (
	kindWord termKind = iota // token of the text
	kindTag
	kindParent // folded tag, and those above: a, a/b, a/b/c of #a/b/c
	kindType
	kindSection // heading of the section path, squashed
	kindLink    // path below the root that the entry links to
	kindMention // key of the name of a link, see memory.NameKey
	kindName    // key of a name of the file, in the head
	kindTitle   // word of a name of the file; see [fileWriter.writeNames]
	kindID      // explicit id, not derived
)

var kindNames = [...]string{"word", "tag", "parent", "type", "section", "link", "mention", "name", "title", "id"}

// The stored fields. This package reads the record only; the path is for other programs.
const (
	fieldPath   = "path"
	fieldRecord = "record"
)

// A fieldNames contains the names of the fields of the terms of a partition, by kind. A query
// of one partition therefore never reads the posting lists of another one and cannot reveal
// how frequent a word is there.
type fieldNames [len(kindNames)]string

// fieldsOf returns the fields of a partition. The owner is hashed because it can contain a
// credential.
func fieldsOf(p memory.Partition) (names fieldNames) {
	reader := [...]string{"private", "public"}[p.Visibility]
	owner := sha256.Sum256([]byte(p.Owner))
	end := "." + reader + "." + hex.EncodeToString(owner[:16])
	for kind, name := range kindNames {
		names[kind] = name + end
	}
	return names
}

// A key identifies a term in each partition.
type key struct {
	kind termKind
	term string
}

func termKey(kind termKind, term string) key { return key{kind, term} }

// A block is up to 20 consecutive slots of a file. It implements bleve's Document.
type block struct {
	nth    int     // index of the block in its file
	number uint32  // number in the table
	path   string  // of the file, or "" if it is secret
	record []byte  // record of the file, only in its first block
	fields []field // of its terms
	id     bleve.TokenFrequencies
}

type blockTerm struct {
	key
	slots
}

// singleSlots contains the most frequent values, those of a term in one slot.
var singleSlots = func() (all [7 * slotsPerBlock]bleve.TokenFreq) {
	for i := range all {
		all[i].SetFrequency(i<<1 | 1)
	}
	return all
}()

// setTerms sets the terms, in the form that bleve needs.
func (b *block) setTerms(names *fieldNames, terms []blockTerm) {
	var sizes [len(kindNames)]int
	for _, t := range terms {
		sizes[t.kind]++
	}
	var byKind [len(kindNames)]bleve.TokenFrequencies
	for kind, n := range sizes {
		if n > 0 {
			byKind[kind] = make(bleve.TokenFrequencies, n)
			b.fields = append(b.fields, field{names[kind], bleve.IndexField, nil, byKind[kind]})
		}
	}
	var rest []bleve.TokenFreq // memory of other values
	for i, t := range terms {
		f := t.frequency()
		if f&1 != 0 {
			byKind[t.kind][t.term] = &singleSlots[f>>1]
			continue
		}
		if len(rest) == 0 {
			rest = make([]bleve.TokenFreq, min(16, len(terms)-i))
		}
		rest[0].SetFrequency(int(f))
		byKind[t.kind][t.term] = &rest[0]
		rest = rest[1:]
	}
}

// blockID returns the id of a block: its number in the table.
func blockID(number uint32) string {
	return string(binary.BigEndian.AppendUint32(nil, number))
}

// blockNumber is the inverse of blockID.
func blockNumber(id []byte) (number uint32, ok bool) {
	if len(id) != 4 {
		return 0, false
	}
	number = binary.BigEndian.Uint32(id)
	return number, number < maxBlocks
}

func (b *block) ID() string { return blockID(b.number) }

func (b *block) NumPlainTextBytes() uint64 { return 0 }

func (b *block) StoredFieldsBytes() uint64 { return uint64(len(b.path) + len(b.record)) }

func (b *block) Indexed() bool { return true }

func (b *block) HasComposite() bool { return false }

func (b *block) VisitComposite(bleve.CompositeFieldVisitor) {}

func (b *block) AddIDField() {
	b.id = bleve.TokenFrequencies{b.ID(): &singleSlots[0]}
}

// Size returns an estimate of the bytes of memory.
func (b *block) Size() int {
	n := len(b.record)
	for _, f := range b.fields {
		n += 64 * len(f.terms)
	}
	return n
}

func (b *block) VisitFields(visit bleve.FieldVisitor) {
	if b.id != nil {
		visit(field{"_id", bleve.IndexField | bleve.StoreField, []byte(b.ID()), b.id})
	}
	for _, f := range b.fields {
		visit(f)
	}
	if b.path != "" {
		visit(field{fieldPath, bleve.StoreField, []byte(b.path), nil})
	}
	if b.record != nil {
		visit(field{fieldRecord, bleve.StoreField, b.record, nil})
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

func (f field) Name() string { return f.name }

func (f field) Value() []byte { return f.value }

func (f field) ArrayPositions() []uint64 { return nil }

func (f field) EncodedFieldType() byte { return 't' }

func (f field) Analyze() {}

func (f field) Options() bleve.FieldIndexingOptions { return f.options }

func (f field) AnalyzedLength() int { return 1 }

func (f field) NumPlainTextBytes() uint64 { return 0 }

func (f field) AnalyzedTokenFrequencies() bleve.TokenFrequencies { return f.terms }
