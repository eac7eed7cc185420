package index

import (
	"crypto/sha256"
	"encoding/binary"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/secrets"
)

// A builder makes records and blocks of documents. It has buffers, so each
// goroutine needs its own.
type builder struct {
	*analyzer
	counts map[string]int // term counts of the slot being built
}

func newBuilder() *builder {
	return &builder{analyzer: newAnalyzer(), counts: make(map[string]int)}
}

// buildFile returns the record of a file and its blocks. If only is not nil, the
// blocks contain only its terms. These suffice to answer one query from a file
// that is missing from the index.
func (b *builder) buildFile(doc *memory.Document, stamp memory.Stamp, hash [32]byte, only map[string]bool) (*file,
	[]*block) {
	f := &file{
		path:    doc.Place.Path,
		stamp:   stamp,
		hash:    hash,
		kind:    doc.Place.Kind,
		owner:   doc.Place.Owner,
		day:     doc.Place.Day,
		name:    doc.Place.Session,
		session: doc.Front.SessionID,
		contact: doc.Front.ContactID,
		claim:   doc.Claim,
	}
	f.unstored = slices.ContainsFunc(
		[]string{f.path, f.name, f.session, f.contact, doc.Front.SubjectID, f.owner, doc.Partition.Owner},
		func(s string) bool { return secrets.Find(s) != nil })
	w := fileWriter{builder: b, file: f, only: only}
	w.writeDocument(doc, sumOf(hash))
	if excerpt := doc.Excerpt(); excerpt != nil {
		w.writeDocument(excerpt, sumOf(sha256.Sum256(excerpt.Source)))
		if excerpt.Front.Present {
			f.lastFront = 1
		}
	}
	return f, w.blocks
}

// maxFileTerms bounds the distinct terms of a variant in the index, because each
// takes about a kilobyte and ten microseconds when bleve stores it. Four
// megabytes of English text have fewer. Texts with fewer than
// minCounted bytes cannot have as many.
const (
	maxFileTerms = 200_000
	minCounted   = 64 << 10
)

// A fileWriter divides one file into blocks.
type fileWriter struct {
	*builder
	terms   map[string]struct{} // distinct terms of the variant, nil for a short text
	file    *file
	only    map[string]bool
	blocks  []*block // in order; the first one starts the file
	variant *variant // last variant
	open    *block   // last block
}

// writeDocument writes a variant: the whole file or its excerpt.
func (w *fileWriter) writeDocument(doc *memory.Document, sum uint64) {
	w.variant = &variant{partition: doc.Partition, sum: sum, entries: make([]entry, 0, len(doc.Entries))}
	w.file.variants = append(w.file.variants, w.variant)
	w.terms = nil
	if len(doc.Source) >= minCounted {
		w.terms = make(map[string]struct{})
	}
	w.newBlock()
	w.writeHead(doc)
	for i := range doc.Entries {
		w.writeEntry(i, &doc.Entries[i])
	}
}

func (w *fileWriter) newBlock() {
	b := &block{
		variant: len(w.file.variants) - 1,
		nth:     len(w.variant.blocks),
		prefix:  prefixOf(w.variant.partition),
		terms:   make(map[string]slots, 64),
	}
	w.variant.blocks = append(w.variant.blocks, 0) // placeholder; the table assigns the number
	w.blocks = append(w.blocks, b)
	w.open = b
}

// writeHead writes the terms of the document as a whole.
func (w *fileWriter) writeHead(doc *memory.Document) {
	clear(w.builder.counts)
	w.countTokens(strings.TrimSuffix(doc.Place.Path, path.Ext(doc.Place.Path)))
	w.countTokens(doc.Front.Summary)
	w.countTokens(doc.Front.ContactNickname)
	for _, tag := range doc.Front.Tags {
		w.countTokens(tag)
	}
	w.writeCounts(0)
}

// writeEntry writes the n-th entry of a variant.
func (w *fileWriter) writeEntry(n int, e *memory.Entry) {
	_, slot := slotOf(n)
	if slot == 0 {
		w.newBlock()
	}
	b := w.open

	clear(w.builder.counts)
	length := w.countTokens(e.Text)
	w.countTokens(e.Title)
	for _, tag := range e.Tags {
		w.eachToken(tag, func(t token) {
			if w.admit(kindWord, t.term) {
				w.builder.counts[t.term] = max(1, w.builder.counts[t.term])
			}
		})
	}
	w.writeCounts(slot)
	for _, s := range e.Sections {
		w.eachToken(s, func(t token) { w.setLevel(b, kindWord, t.term, slot, level.inSection) })
		w.markTerm(b, kindSection, normalizePhrase(s), slot)
	}
	for _, tag := range e.Tags {
		w.markTerm(b, kindTag, tag, slot)
	}
	w.markTerm(b, kindType, e.Type, slot)
	for _, l := range e.Links {
		for _, target := range l.Paths {
			w.markTerm(b, kindLink, target, slot)
		}
	}
	if e.Given {
		w.markTerm(b, kindID, e.ID, slot)
	}

	rec := entry{
		dup:    dupOf(e.Norm),
		time:   noTime,
		length: uint16(min(length, 1<<16-1)),
	}
	if !e.Time.IsZero() {
		rec.time = e.Time.UnixNano()
	}
	for _, t := range e.Tasks {
		if t.State == memory.Open {
			rec.flags |= flagOpen
		} else {
			rec.flags |= flagDone
		}
	}
	if endsWithQuestion(e.Text) {
		rec.flags |= flagQuestion
	}
	w.variant.entries = append(w.variant.entries, rec)
	w.variant.setImportance(n, e.Importance)
}

// endsWithQuestion reports whether a text ends with a question mark, which marks
// of emphasis or quotation may follow.
func endsWithQuestion(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, " \t\n*_~`\"'”’»」』)）"))
	return last == '?' || last == '？' || last == '؟'
}

// countTokens adds the tokens of s to the slot being built and returns their number.
func (w *fileWriter) countTokens(s string) (n int) {
	w.eachToken(s, func(t token) {
		if w.admit(kindWord, t.term) {
			w.builder.counts[t.term]++
		}
		if !t.joined { // its words are counted
			n++
		}
	})
	return n
}

// writeCounts writes the counted words to a slot.
func (w *fileWriter) writeCounts(slot int) {
	length := 0
	for term, n := range w.builder.counts {
		length += n
		w.setLevel(w.open, kindWord, term, slot, func(level) level { return levelOf(n) })
	}
	w.variant.length += uint32(length)
}

// admit reports whether the variant has room for a term. The order of the calls
// decides which terms have, so it must depend on the text only.
func (w *fileWriter) admit(s termKind, term string) bool {
	if w.terms == nil {
		return true
	}
	key := termKey("", s, term)
	if _, ok := w.terms[key]; ok {
		return true
	}
	if len(w.terms) >= maxFileTerms {
		w.file.truncated = true
		return false
	}
	w.terms[key] = struct{}{}
	return true
}

// markTerm writes a term that has no frequency to a slot.
func (w *fileWriter) markTerm(b *block, s termKind, term string, slot int) {
	w.setLevel(b, s, term, slot, func(level) level { return 1 })
}

// setLevel replaces the level of a term in a slot.
func (w *fileWriter) setLevel(b *block, s termKind, term string, slot int, with func(level) level) {
	key := termKey("", s, term)
	if w.only != nil && !w.only[key] || !w.admit(s, term) {
		return
	}
	v := b.terms[key]
	v.set(slot, with(v.level(slot)))
	b.terms[key] = v
}

// dupOf returns an equal value for equal texts. It is the prefix of a
// cryptographic hash, so that an attacker cannot write a text that hides
// another one.
func dupOf(norm string) uint64 { return sumOf(sha256.Sum256([]byte(norm))) }

func sumOf(hash [32]byte) uint64 { return binary.LittleEndian.Uint64(hash[:]) }
