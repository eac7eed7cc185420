package index

import (
	"crypto/sha256"
	"encoding/binary"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

// A builder makes records and blocks of documents. It has buffers, so each
// goroutine needs its own.
type builder struct {
	*analyzer
	terms   []blockTerm      // of the open block
	numbers map[string]int32 // indexes in terms, by key
	key     []byte
	keys    strings.Builder // memory of the keys
	embeds  bool            // entries have keys; see [Options.Texts]
}

func newBuilder() *builder {
	return &builder{analyzer: newAnalyzer(), numbers: make(map[string]int32)}
}

func (b *builder) buildFile(doc *memory.Document, stamp memory.Stamp, hash [32]byte) (*file, []*block) {
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
	f.secret = slices.ContainsFunc(
		[]string{f.path, f.name, f.session, f.contact, doc.Front.SubjectID, f.owner, doc.Partition.Owner},
		func(s string) bool { return secrets.Find(s) != nil })
	w := fileWriter{builder: b, file: f}
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

type fileWriter struct {
	*builder
	known   map[string]struct{} // distinct terms of the variant, nil for a short text
	file    *file
	blocks  []*block // in order; the first one starts the file
	variant *variant // last variant
	open    *block   // last block
	timed   bool     // the last entry has words of time
}

// writeDocument writes a variant: the whole file or its excerpt.
func (w *fileWriter) writeDocument(doc *memory.Document, sum uint64) {
	w.variant = &variant{partition: doc.Partition, sum: sum, entries: make([]entry, 0, len(doc.Entries)), links: linksOf(doc)}
	w.file.variants = append(w.file.variants, w.variant)
	w.known = nil
	if len(doc.Source) >= minCounted {
		w.known = make(map[string]struct{})
	}
	w.newBlock()
	w.writeHead(doc)
	for i := range doc.Entries {
		w.writeEntry(doc, i)
		if w.embeds && !w.file.secret {
			_, key := embeddedText(doc, &doc.Entries[i])
			w.variant.keys.set(i, len(doc.Entries), key)
		}
	}
	w.closeBlock()
}

func (w *fileWriter) newBlock() {
	b := &block{
		variant: len(w.file.variants) - 1,
		nth:     len(w.variant.blocks),
		prefix:  prefixOf(w.variant.partition),
	}
	w.variant.blocks = append(w.variant.blocks, 0) // placeholder; the table assigns the number
	w.blocks = append(w.blocks, b)
	w.open = b
}

func (w *fileWriter) closeBlock() {
	w.open.setTerms(w.terms)
	if len(w.terms) > 1<<13 { // the block of a large entry
		w.builder.terms, w.numbers = nil, make(map[string]int32)
		return
	}
	clear(w.numbers)
	clear(w.terms)
	w.builder.terms = w.terms[:0]
}

func (w *fileWriter) writeHead(doc *memory.Document) {
	if !w.file.secret {
		w.eachToken(strings.TrimSuffix(doc.Place.Path, path.Ext(doc.Place.Path)), func(t token) {
			if len(t.term) == 1 {
				return // the number or letter of a series of files
			}
			if v := w.slotsOf(kindWord, t.term); v != nil {
				v.set(0, levelPath)
				w.variant.length++
			}
		})
	}
	w.countTokens(doc.Front.Summary, 0)
	w.countTokens(doc.Front.ContactNickname, 0)
	for _, tag := range doc.Front.Tags {
		w.countTokens(tag, 0)
	}
	for _, key := range doc.NameKeys() {
		if !w.file.secret {
			w.markTerm(kindName, key, 0)
		}
	}
}

// maxParent bounds the length of the tags above a nested tag that find its entry. Tags
// in text are not longer. Without a bound, the size of the terms of a tag in the
// frontmatter would be quadratic in its length.
const maxParent = 200

func (w *fileWriter) writeEntry(doc *memory.Document, n int) {
	e := &doc.Entries[n]
	_, slot := slotOf(n)
	if slot == 0 {
		w.closeBlock()
		w.newBlock()
	}
	w.timed = false
	length := w.countTokens(e.Text, slot)
	w.countTokens(e.Title, slot)
	for _, tag := range e.Tags {
		w.eachToken(tag, func(t token) {
			if v := w.slotsOf(kindWord, t.term); v != nil && v.level(slot) == 0 {
				w.count(v, slot)
			}
		})
	}
	for _, s := range headingsOf(doc, e) {
		w.eachToken(s, func(t token) {
			if v := w.slotsOf(kindWord, t.term); v != nil {
				v.set(slot, v.level(slot).inSection())
			}
		})
	}
	for _, s := range e.Sections {
		w.markTerm(kindSection, normalizePhrase(s), slot)
	}
	for _, tag := range e.Tags {
		w.markTerm(kindTag, tag, slot)
		for i, r := range tag[:min(len(tag), maxParent+1)] {
			if r == '/' && i > 0 {
				w.markTerm(kindParent, tag[:i], slot)
			}
		}
	}
	w.markTerm(kindType, e.Type, slot)
	for _, l := range e.Links {
		for _, target := range l.Paths {
			w.markTerm(kindLink, target, slot)
		}
		if l.Name != "" {
			w.markTerm(kindMention, memory.NameKey(l.Name), slot)
		}
	}
	if e.Given {
		w.markTerm(kindID, e.ID, slot)
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
	if w.timed {
		rec.flags |= flagTimed
	}
	w.variant.entries = append(w.variant.entries, rec)
	w.variant.important.set(n, cap(w.variant.entries), e.Importance)
}

// headingsOf returns the headings above an entry. The title and the description in the
// frontmatter are headings of the first entry.
func headingsOf(doc *memory.Document, e *memory.Entry) []string {
	if e != &doc.Entries[0] {
		return e.Sections
	}
	return slices.Concat(doc.Front.Names(), e.Sections)
}

// endsWithQuestion reports whether a text ends with a question mark, which marks
// of emphasis or quotation may follow.
func endsWithQuestion(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, " \t\n*_~`\"'”’»」』)）"))
	return last == '?' || last == '？' || last == '؟'
}

func (w *fileWriter) countTokens(s string, slot int) (n int) {
	w.eachToken(s, func(t token) {
		w.timed = w.timed || isTimeWord(t.term)
		if v := w.slotsOf(kindWord, t.term); v != nil {
			w.count(v, slot)
		}
		if !t.joined { // its words are counted
			n++
		}
	})
	return n
}

func (w *fileWriter) count(v *slots, slot int) {
	v.set(slot, v.level(slot).next())
	w.variant.length++
}

// admit reports whether the variant has room for a term. The order of the calls
// decides which terms have, so it must depend on the text only.
func (w *fileWriter) admit(key string) bool {
	if _, ok := w.known[key]; ok {
		return true
	}
	if len(w.known) >= maxFileTerms {
		w.file.truncated = true
		return false
	}
	w.known[key] = struct{}{}
	return true
}

// markTerm writes a term that has no frequency to a slot.
func (w *fileWriter) markTerm(s termKind, term string, slot int) {
	if v := w.slotsOf(s, term); v != nil {
		v.set(slot, levelOnce)
	}
}

// slotsOf returns the slots of a term in the open block, or nil if the variant has
// no room for the term.
func (w *fileWriter) slotsOf(s termKind, term string) *slots {
	w.key = append(append(append(w.key[:0], w.open.prefix...), byte(s)), term...)
	n, ok := w.numbers[string(w.key)]
	if ok {
		return &w.terms[n].slots
	}
	if w.known != nil && !w.admit(string(w.key[len(w.open.prefix):])) {
		return nil
	}
	if w.keys.Cap()-w.keys.Len() < len(w.key) {
		w.keys = strings.Builder{}
		w.keys.Grow(max(4<<10, len(w.key)))
	}
	start := w.keys.Len()
	w.keys.Write(w.key)
	key := w.keys.String()[start:]
	w.numbers[key] = int32(len(w.terms))
	w.builder.terms = append(w.terms, blockTerm{key: key})
	return &w.terms[len(w.terms)-1].slots
}

// dupOf returns an equal value for equal texts. It is the prefix of a
// cryptographic hash, so that an attacker cannot write a text that hides
// another one.
func dupOf(norm string) uint64 { return sumOf(sha256.Sum256([]byte(norm))) }

func sumOf(hash [32]byte) uint64 { return binary.LittleEndian.Uint64(hash[:]) }
