package index

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/memory"
)

// A phraseMatches contains the phrases of a query in its candidates.
type phraseMatches struct {
	counts   map[entryKey]uint8 // number of phrases, or of names, in the candidates that contain some
	complete int                // number of candidates that contain all phrases
	note     string
}

// A matches contains the candidates of a request.
type matches struct {
	request
	filter preparedFilter
	*scores
	phrases phraseMatches
}

// A preparedFilter contains what a search evaluates once of its [Filter]: the conditions
// on postings. Those on a file are evaluated once for each file, and the
// remaining ones for each record.
type preparedFilter struct {
	set          entrySet // entries that pass the conditions on postings; nil if all pass
	since, until int64
	isTimed      bool // since or until restricts
}

// conditions returns the conditions of the filter on postings: keys of terms, of
// which an entry must have at least one.
func (f *Filter) conditions() (all [][]key) {
	var tags, types, sections []key
	for _, tag := range cleanTags(f.Tags) {
		tags = append(tags, termKey(kindParent, tag))
	}
	for _, t := range f.Types {
		types = append(types, termKey(kindType, t))
	}
	for _, name := range f.Sections {
		sections = append(sections, termKey(kindSection, normalizePhrase(name)))
	}
	all = [][]key{types, sections}
	if f.AnyTag {
		all = append(all, tags)
	} else {
		all = slices.AppendSeq(all, slices.Chunk(tags, 1))
	}
	return slices.DeleteFunc(all, func(keys []key) bool { return len(keys) == 0 })
}

// prepareFilter computes the entries that the filter of the query accepts and that contain no
// excluded term.
func (s *matches) prepareFilter(excluded []qterm) {
	q, f := &s.query.Filter, &s.filter
	f.since, f.until = noTime, forever
	f.isTimed = !q.Since.IsZero() || !q.Until.IsZero()
	if !q.Since.IsZero() {
		f.since = q.Since.UnixNano()
	}
	if !q.Until.IsZero() {
		f.until = q.Until.UnixNano()
	}
	for _, keys := range q.conditions() {
		f.set = f.set.and(s.entriesWith(levelSection, keys...))
	}
	for _, t := range excluded {
		none := s.entriesWith(levelOnce, termKey(kindWord, t.term))
		for i := range none {
			none[i] = ^none[i]
		}
		f.set = f.set.and(none)
	}
}

func cleanTags(tags []string) []string {
	var clean []string
	for _, t := range tags {
		t = letters.Fold(memory.FoldTag(strings.TrimPrefix(strings.TrimSpace(t), "#")))
		if t != "" {
			clean = append(clean, t)
		}
	}
	slices.Sort(clean)
	return slices.Compact(clean)
}

// passesFile reports whether a file passes the conditions that concern all of its entries.
func (s *matches) passesFile(n uint32) bool {
	q, kind := &s.query.Filter, s.table.rows.at(n).kind
	switch {
	case len(q.Kinds) > 0:
		if !slices.Contains(q.Kinds, kind) {
			return false
		}
	case kind == memory.Archive && !q.Archived, kind == memory.Review && !q.Review:
		return false
	}
	if q.Path == "" && q.Session == "" && q.Contact == "" {
		return true
	}
	f := s.table.fileAt(n)
	return (q.Path == "" || MatchPath(q.Path, f.Path)) &&
		(q.Session == "" || f.Kind == memory.Session && f.name == q.Session || f.Session == q.Session) &&
		(q.Contact == "" || f.contact == q.Contact)
}

// passesEntry reports whether one entry passes the conditions that passesFile does not
// cover.
func (s *matches) passesEntry(k entryKey) bool {
	f := &s.filter
	if f.set != nil && !f.set.has(s.table.fileAt(k.file), int(k.entry)) {
		return false
	}
	if f.isTimed {
		if t := s.timeOf(k); t < f.since || t > f.until {
			return false
		}
	}
	if s.query.Filter.State == nil {
		return true
	}
	want := flagOpen
	if *s.query.Filter.State == memory.Done {
		want = flagDone
	}
	return s.entryAt(k).flags&want != 0
}

// MatchPath reports whether path matches a glob, or is the named file, or is
// below the named directory or root, such as vault:.
func MatchPath(pattern, path string) bool {
	pattern = strings.Trim(pattern, "/")
	if pattern == "." {
		return true
	}
	if rest, ok := strings.CutPrefix(path, pattern); ok &&
		(rest == "" || rest[0] == '/' || strings.HasSuffix(pattern, ":")) {
		return true
	}
	ok, _ := doublestar.Match(pattern, path)
	return ok
}

const (
	// maxPattern exceeds the length of any path.
	maxPattern = 4096
	// maxBraces and maxChoices bound the alternatives that the braces of a glob expand to.
	// Matching may try all of them for every file.
	maxBraces  = 4
	maxChoices = 32
)

// CheckPath returns an error if a path filter is malformed, or so complex that
// matching would take too long.
func CheckPath(pattern string) error {
	if len(pattern) > maxPattern || strings.Count(pattern, "{") > maxBraces || strings.Count(pattern, ",") > maxChoices {
		return errors.New("the pattern is too long or has too many alternatives")
	}
	if !doublestar.ValidatePattern(pattern) {
		return doublestar.ErrBadPattern
	}
	return nil
}

// A termOf identifies the contribution of a term to the score of an entry.
type termOf struct {
	cell uint32
	term int
}

// A scores contains what the terms of a query add to entries and files. Consecutive
// searches reuse its memory, which can be large and has no pointers for the garbage
// collector to follow.
type scores struct {
	accs  []acc
	at    []int32 // by file number: index in accs plus one
	cells []cell
	list  []termPosting // of the current term

	norms   norms   // of entries
	touched []int32 // accs with the current term
	wanted  uint8   // whole words of the query
	nth     uint8   // number of the current one, from 1

	idfs   []float64            // by term: among the entries
	absent []bool               // by term: nothing readable contains it
	terms  map[termOf]TermScore // nil without Explain
}

type termPosting struct {
	slots
	block uint32
	nth   uint32
	acc   int32
}

// An acc accumulates the data of the query terms for one file.
type acc struct {
	score  float64
	weight float64 // see [Query.Weights]
	file   uint32
	length uint32 // in tokens
	first  uint32 // index of its first cell; it has one cell per entry
	n      uint32 // number of cells, 0 if the file does not pass the filter and only affects the statistics
	some   uint32 // number of entries that contain query terms; zero if only the head does
	tf     uint32 // frequency of the current term, in tenths, plus one
}

// A cell holds the data of the query terms for one entry.
type cell struct {
	own      float32 // own score
	dup      uint16  // end of the dup
	words    uint8   // number of whole words of the query that it contains
	last     uint8   // number of the last one
	question bool    // the entry ends with a question
	inEntry  bool    // a term is in the entry itself, not only in a heading above
}

// spare holds the memory of completed searches.
var spare = sync.Pool{New: func() any { return new(scores) }}

// reset prepares the memory for the given number of files.
func (s *scores) reset(files int) {
	s.accs, s.cells, s.list = s.accs[:0], s.cells[:0], s.list[:0]
	s.idfs, s.absent, s.terms = s.idfs[:0], s.absent[:0], nil
	s.wanted, s.nth = 0, 0
	s.at = zeros(s.at, files)
}

// zeros returns n zero values, in the memory of a slice if it suffices.
func zeros[T any](memory []T, n int) []T {
	memory = slices.Grow(memory[:0], n)[:n]
	clear(memory)
	return memory
}

// addCells adds n zero cells and returns the index of the first.
func (s *scores) addCells(n int) uint32 {
	first := len(s.cells)
	s.cells = slices.Grow(s.cells, n)[:first+n]
	clear(s.cells[first:])
	return uint32(first)
}

// accumulatorOf returns the index of the accumulator of a file, which it adds if
// necessary.
func (s *matches) accumulatorOf(number uint32) int32 {
	if i := s.at[number]; i > 0 {
		return i - 1
	}
	row := s.table.rows.at(number)
	a := acc{file: number, length: row.length, weight: s.weightOf(number)}
	if s.passesFile(number) {
		a.n = row.entries
		a.first = s.addCells(int(row.entries))
	}
	s.accs = append(s.accs, a)
	s.at[number] = int32(len(s.accs))
	return int32(len(s.accs) - 1)
}

func (s *request) weightOf(file uint32) float64 {
	if len(s.query.Weights) > 0 {
		if weight, ok := s.query.Weights[s.table.fileAt(file).partition.Owner]; ok {
			return weight
		}
	}
	return 1
}

// scoreTerms adds the score of each term to the entries that contain it, in their
// cells, and to their files.
func (s *matches) scoreTerms() {
	if s.err != nil {
		return
	}
	if s.query.Explain && s.query.Mode == Relevance {
		s.terms = make(map[termOf]TermScore)
	}
	for _, t := range s.words.terms {
		if t.whole {
			s.wanted++
		}
	}
	average := s.readable.length / float64(max(s.readable.entries, 1))
	s.norms = norms{tuning.k1, tuning.b, min(max(1, average), tuning.maxAverage)}
	files := s.fileNorms()
	for i := 0; i < len(s.words.terms); i++ { // corrections insert terms
		s.err = s.ctx.Err()
		if s.err != nil {
			return
		}
		t := s.words.terms[i]
		s.list, s.touched = s.list[:0], s.touched[:0]
		df := 0
		if t.period != nil {
			df = s.readPeriod(t.period)
		} else {
			df = s.readTerm(kindWord, t)
		}
		if s.err != nil {
			return
		}
		if completed := t.prefix != "" && s.expandPrefix(i, df); !completed && len(s.list) == 0 {
			s.correctTerm(i)
		}
		if s.err != nil {
			return
		}
		if t.whole {
			s.nth++
		}
		s.absent = append(s.absent, len(s.list) == 0)
		rarity := idf(s.readable.entries, min(max(df, t.minDF), s.readable.entries))
		s.idfs = append(s.idfs, rarity)
		rarityOfFiles := idf(s.readable.files, min(max(len(s.touched), t.minDF), s.readable.files))
		switch {
		case t.person:
			rarity, rarityOfFiles = tuning.person, tuning.person
		case t.maxIdf > 0:
			rarity, rarityOfFiles = min(rarity, t.maxIdf), min(rarityOfFiles, t.maxIdf)
		}
		for k := range s.list {
			f := &s.list[k]
			if a := &s.accs[f.acc]; a.n > 0 {
				s.addPosting(a, f, i, t.weight*rarity*a.weight)
			}
		}
		for _, n := range s.touched {
			a := &s.accs[n]
			a.score += t.weight * rarityOfFiles * a.weight * files.saturate(float64(a.tf-1)/10, a.length)
			a.tf = 0
		}
	}
}

// readTerm reads the postings of a term. It returns the number of entries with the term.
func (s *matches) readTerm(kind termKind, t qterm) (df int) {
	s.eachBlock(termKey(kind, t.term), func(block uint32, r ref, v slots) {
		if t.person && s.at[r.file] == 0 {
			return
		}
		s.list = append(s.list, termPosting{v, block, r.nth, s.touch(r.file)})
		if r.nth == 0 {
			v = v.without(0) // the head is not an entry
		}
		df += v.count()
	})
	return df
}

// readPeriod makes postings of the entries of a period, and returns their number.
func (s *matches) readPeriod(n *namedPeriod) (df int) {
	for number, v := range s.table.byNumber.all() {
		if v == nil || v.newest < n.first || v.oldest > n.last || !s.view.Readable(v.partition) || s.copied(number) {
			continue
		}
		for e := range v.entries {
			if !n.contains(v.entries[e].time) {
				continue
			}
			nth, slot := slotOf(e)
			p := termPosting{block: v.blocks[nth], nth: uint32(nth), acc: s.touch(number)}
			p.set(slot, levelOnce)
			s.list = append(s.list, p)
			df++
		}
	}
	return df
}

// touch returns the index of the accumulator of a file with the current term.
func (s *matches) touch(file uint32) int32 {
	n := s.accumulatorOf(file)
	if a := &s.accs[n]; a.tf == 0 {
		a.tf = 1 // only a mark: each level adds more
		s.touched = append(s.touched, n)
	}
	return n
}

func (s *matches) fileNorms() norms {
	return norms{tuning.fileK1, tuning.fileB, max(1, s.readable.filelen/float64(max(s.readable.files, 1)))}
}

// addPosting adds a term to the entries of a block that contain it.
func (s *matches) addPosting(a *acc, f *termPosting, i int, weight float64) {
	l, t := s.table.leaves.at(f.block), &s.words.terms[i]
	first := int(a.first) + entryOfSlot(int(f.nth), 0)
	for slot, lv := range f.slots.all() {
		a.tf += uint32(levelTenths[lv])
		if slot == 0 && f.nth == 0 {
			continue // the head
		}
		c := &s.cells[first+slot]
		if t.person && c.own == 0 {
			continue
		}
		if (t.whole || t.instead) && c.last != s.nth && (lv > levelSection || s.query.Mode != Overlap) {
			c.last = s.nth
			c.words++
		}
		if weight == 0 {
			continue
		}
		if c.own == 0 {
			c.dup, c.question = l.dups[slot], l.questions>>slot&1 != 0
			a.some++
		}
		tf := float64(levelTenths[lv]) / 10
		score := weight * s.norms.saturate(tf, uint32(l.lengths[slot]))
		c.own += float32(score)
		c.inEntry = c.inEntry || lv > levelSection
		if s.terms != nil {
			s.terms[termOf{uint32(first + slot), i}] = TermScore{Term: t.term, Idf: weight, Tf: tf, Score: score}
		}
	}
}
