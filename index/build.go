package index

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

// writeNames writes the words of the names of a file to its first block: a slot stands for
// a name, and the level is the number of its words.
func (w *fileWriter) writeNames(doc *memory.Document) {
	for slot, name := range namesOf(doc) {
		words := w.nameWords(name)
		words = words[:min(len(words), maxNameWords)]
		for _, word := range words {
			if v := w.slotsOf(kindTitle, word); v != nil {
				v.set(slot, level(len(words)))
			}
		}
	}
}

// A builder makes records and blocks of documents. It has buffers, so each
// goroutine needs its own.
type builder struct {
	*analyzer
	terms   []blockTerm      // of the open block
	numbers map[string]int32 // indexes in terms, by key
	key     []byte
	keys    strings.Builder // memory of the keys
	input   []byte          // of a hash
	embeds  bool            // entries have keys; see [Options.Texts]
}

func newBuilder() *builder {
	return &builder{analyzer: newAnalyzer(), numbers: make(map[string]int32)}
}

// buildFile returns the record of a file and its blocks. If the content differs from that
// of the record before, which may be nil, blocks with the same entries as in that record
// are not built: their numbers are those of the record.
func (b *builder) buildFile(doc *memory.Document, stamp disk.Stamp, hash [32]byte, before *file) (*file, []*block) {
	f := &file{
		FileInfo: FileInfo{
			Path:    doc.Place.Path,
			Kind:    doc.Place.Kind,
			Owner:   doc.Place.Owner,
			Day:     doc.Place.Day,
			Session: doc.Front.SessionID,
			Claim:   doc.Claim,
			Stamp:   stamp,
			Hash:    hash,
		},
		name:      doc.Place.Session,
		contact:   doc.Front.ContactID,
		partition: doc.Partition,
		entries:   make([]entry, 0, len(doc.Entries)),
		links:     linksOf(doc),
	}
	f.secret = slices.ContainsFunc(
		[]string{f.Path, f.name, f.Session, f.contact, doc.Front.SubjectID, f.Owner, doc.Partition.Owner},
		func(s string) bool { return secrets.Find(s) != nil })
	w := fileWriter{builder: b, file: f, fields: fieldsOf(f.partition)}
	if before != nil && before.Hash != hash && !before.Truncated {
		w.before = before
	}
	w.writeDocument(withTitle(doc))
	if w.before != nil && f.terms > maxFileTerms {
		return b.buildFile(doc, stamp, hash, nil)
	}
	return f, w.blocks
}

// maxFileTerms bounds the distinct terms of a file in the index, because each
// takes about a kilobyte and ten microseconds when bleve stores it. Four
// megabytes of English text have fewer. Texts with fewer than
// minCounted bytes cannot have as many.
const (
	maxFileTerms = 200_000
	minCounted   = 64 << 10
)

type fileWriter struct {
	*builder
	known  map[string]struct{} // distinct terms of the file, nil for a short text or if blocks are reused
	file   *file
	before *file      // record whose blocks may be reused, nil for none
	blocks []*block   // in order; the first one starts the file
	fields fieldNames // of its partition
	open   *block     // last block
	timed  bool       // the last entry has words of time
}

// writeDocument writes the blocks of the file.
func (w *fileWriter) writeDocument(doc *memory.Document) {
	v := w.file
	last, _ := slotOf(len(doc.Entries) - 1)
	v.blocks, v.parts = make([]uint32, last+1), make([]part, last+1)
	for n := range v.parts {
		v.parts[n].sum = w.sumOf(entriesIn(doc, n))
	}
	before := w.reusable()
	if before != nil {
		v.terms = before.terms
	} else if len(doc.Source) >= minCounted {
		w.known = make(map[string]struct{})
	}
	for n := range v.blocks {
		if n > 0 && before.has(n, v.parts[n].sum) {
			w.reuseBlock(doc, n, before)
		} else {
			w.writeBlock(doc, n)
		}
	}
	if w.known != nil {
		v.terms = len(w.known)
	}
}

// reusable returns the record before if most blocks can be reused from it, or nil.
func (w *fileWriter) reusable() *file {
	equal := 0
	for n, p := range w.file.parts {
		if w.before.has(n, p.sum) {
			equal++
		}
	}
	if equal == 0 || w.before.partition != w.file.partition || 2*equal < len(w.file.parts) {
		return nil
	}
	return w.before
}

// reuseBlock adds the n-th block from a record.
func (w *fileWriter) reuseBlock(doc *memory.Document, n int, before *file) {
	v := w.file
	v.blocks[n], v.parts[n] = before.blocks[n], before.parts[n]
	v.length += v.parts[n].length
	for range entriesIn(doc, n) {
		was := before.entries[len(v.entries)]
		w.addEntry(doc, entry{dup: was.dup, length: was.length, flags: was.flags & (flagQuestion | flagTimed)})
	}
}

// writeBlock builds the n-th block.
func (w *fileWriter) writeBlock(doc *memory.Document, n int) {
	v := w.file
	v.blocks[n] = noBlock
	w.open = &block{nth: n}
	w.blocks = append(w.blocks, w.open)
	before := v.length
	if n == 0 {
		w.writeHead(doc)
	}
	for range entriesIn(doc, n) {
		w.writeEntry(doc)
	}
	v.parts[n].length = v.length - before
	if w.known == nil {
		v.terms += len(w.terms)
	}
	w.open.setTerms(&w.fields, w.terms)
	if len(w.terms) > 1<<13 { // the block of a large entry
		w.builder.terms, w.numbers = nil, make(map[string]int32)
		return
	}
	clear(w.numbers)
	clear(w.terms)
	w.builder.terms = w.terms[:0]
}

func (w *fileWriter) writeHead(doc *memory.Document) {
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
	w.writeNames(doc)
}

// maxParent bounds the length of the tags above a nested tag that find its entry. Tags
// in text are not longer. Without a bound, the size of the terms of a tag in the
// frontmatter would be quadratic in its length.
const maxParent = 200

// taskMarks removes the marks of done tasks, which are no words.
var taskMarks = strings.NewReplacer("[x] ", "", "[X] ", "")

// writeEntry writes the next entry to the open block.
func (w *fileWriter) writeEntry(doc *memory.Document) {
	n := len(w.file.entries)
	e := doc.ShownEntry(n)
	_, slot := slotOf(n)
	w.timed = false
	length := w.countTokens(taskMarks.Replace(e.Text), slot)
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
		tag = letters.Fold(tag)
		w.markTerm(kindParent, tag, slot)
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

	rec := entry{dup: dupOf(e.Norm), length: uint16(min(length, 1<<16-1))}
	if endsWithQuestion(e.Text) {
		rec.flags |= flagQuestion
	}
	if w.timed {
		rec.flags |= flagTimed
	}
	w.addEntry(doc, rec)
}

// addEntry adds the record of the next entry, in which only what depends on its terms is
// set.
func (w *fileWriter) addEntry(doc *memory.Document, rec entry) {
	n := len(w.file.entries)
	e := &doc.Entries[n]
	rec.time, rec.id = noTime, hashOf(e.ID)
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
	w.file.entries = append(w.file.entries, rec)
	w.file.important.set(n, cap(w.file.entries), e.Importance)
	if w.embeds && !w.file.secret {
		_, key := embeddedText(doc, e)
		w.file.keys.set(n, cap(w.file.entries), key)
	}
}

// sumOf returns a hash of all that writeEntry reads of entries.
func (b *builder) sumOf(entries []memory.Entry) uint64 {
	in := b.input[:0]
	add := func(texts ...string) {
		in = binary.AppendUvarint(in, uint64(len(texts)))
		for _, s := range texts {
			in = append(binary.AppendUvarint(in, uint64(len(s))), s...)
		}
	}
	for i := range entries {
		e := &entries[i]
		add(e.Text, e.Norm, e.Title, e.Type, strconv.FormatBool(e.Given), e.ID)
		add(e.Sections...)
		add(e.Tags...)
		add() // then the links
		for _, l := range e.Links {
			add(l.Paths...)
			add(l.Name)
		}
	}
	b.input = in
	return sumOf(sha256.Sum256(in))
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
	w.file.length++
}

// admit reports whether the file has room for a term. The order of the calls
// decides which terms have, so it must depend on the text only.
func (w *fileWriter) admit(key string) bool {
	if _, ok := w.known[key]; ok {
		return true
	}
	if len(w.known) >= maxFileTerms {
		w.file.Truncated = true
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

// slotsOf returns the slots of a term in the open block, or nil if the file has
// no room for the term.
func (w *fileWriter) slotsOf(s termKind, term string) *slots {
	w.key = append(append(w.key[:0], byte(s)), term...)
	n, ok := w.numbers[string(w.key)]
	if ok {
		return &w.terms[n].slots
	}
	if term == "" || w.known != nil && !w.admit(string(w.key)) {
		return nil
	}
	if w.keys.Cap()-w.keys.Len() < len(w.key) {
		w.keys = strings.Builder{}
		w.keys.Grow(max(4<<10, len(w.key)))
	}
	start := w.keys.Len()
	w.keys.Write(w.key)
	text := w.keys.String()[start:]
	w.numbers[text] = int32(len(w.terms))
	w.builder.terms = append(w.terms, blockTerm{key: key{s, text[1:]}})
	return &w.terms[len(w.terms)-1].slots
}
