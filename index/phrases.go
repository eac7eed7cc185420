package index

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// passesPhrases reports whether an entry contains no excluded phrase and, if the
// query requires its phrases, all of them.
func (s *matches) passesPhrases(k entryKey, excluded []string) bool {
	var phrases []string
	if s.query.Exact {
		phrases = s.words.phrases
	}
	if len(phrases)+len(excluded) == 0 {
		return true
	}
	n, ok := s.phrasesIn(k, phrases, excluded)
	return ok && int(n) == len(phrases)
}

// A place is a name of a file.
type place struct {
	file uint32
	slot int
}

// rankNames places the first entries of the files whose name is the query before others,
// as if the name were a phrase.
func (s *matches) rankNames() {
	if s.err != nil || s.query.Mode != Relevance || len(s.words.phrases) > 0 {
		return
	}
	words := s.nameQuery()
	for p, length := range s.namesWith(words) {
		if length <= len(words) {
			s.phrases.counts[entryKey{p.file, 0}] = 1
		}
	}
}

// nameQuery returns the words of the query, the rarest first: for each, the terms any of which
// a name can have. Words that nothing contains do not count.
func (s *request) nameQuery() (words [][]string) {
	blocks := make(map[string]int)
	for _, term := range s.analyzer.nameWords(s.query.Text) {
		terms := s.insteadOf(term)
		blocks[term] = s.countBlocks(terms)
		if blocks[term] > 0 {
			words = append(words, terms)
		}
	}
	slices.SortStableFunc(words, func(a, b []string) int { return cmp.Compare(blocks[a[0]], blocks[b[0]]) })
	if len(words) > maxNameQuery {
		return nil
	}
	return words
}

// namesWith returns the names that have all the words, with the numbers of their words.
func (s *reader) namesWith(words [][]string) (names map[place]int) {
	for i, terms := range words {
		has := make(map[place]int)
		for _, term := range terms {
			s.eachBlock(termKey(kindTitle, term), func(_ uint32, r ref, v slots) {
				for slot, length := range v.all() {
					p := place{r.file, slot}
					if _, ok := names[p]; ok || i == 0 {
						has[p] = int(length)
					}
				}
			})
		}
		names = has
	}
	return names
}

// maxPhraseFiles bounds the number of files that are read to find phrases, and
// enoughPhrases the number of entries with the phrases beside those of the page.
const (
	maxPhraseFiles = 1000
	enoughPhrases  = 300
)

// applyPhrases counts the wanted phrases in each candidate, and drops the
// candidates with excluded phrases or, if the query requires its phrases, without
// them. It reads the text of the best candidates.
func (s *matches) applyPhrases(not []string) {
	want := s.words.phrases
	if s.err != nil || len(want)+len(not) == 0 {
		return
	}
	required := s.query.Exact && len(want) > 0
	enough := enoughPhrases + 2*(s.query.Offset+s.query.Limit)
	var found []candidate
	s.eachMatch(s.withPhraseWords(want, len(not) > 0, func(c candidate) {
		c.score = s.scoreOf(c.entryKey)
		found = append(found, c)
	}))
	slices.SortFunc(found, s.compare)
	passing := make(entrySet, s.table.blocks.length)
	read := make(map[uint32]bool)
	for _, c := range found {
		if s.stopped() {
			return
		}
		read[c.file] = true
		if len(read) > maxPhraseFiles || s.phrases.complete > enough {
			s.phrases.note = fmt.Sprintf("only the best %d files with the words of the phrase were searched; "+
				"others may contain it, too: add words or a filter", len(read)-1)
			break
		}
		n, ok := s.phrasesIn(c.entryKey, want, not)
		if !ok {
			continue
		}
		if n > 0 {
			s.phrases.counts[c.entryKey] = n
		}
		if int(n) == len(want) {
			s.phrases.complete++
		} else if required {
			continue
		}
		b, slot := slotOf(int(c.entry))
		passing[s.table.fileAt(c.file).blocks[b]] |= 1 << slot
	}
	if required || len(not) > 0 {
		s.filter.set = s.filter.set.and(passing)
	}
}

// withPhraseWords returns a function that calls yield for the candidates with all words of a
// phrase, or of all phrases if the query requires them, or for all candidates.
func (s *matches) withPhraseWords(phrases []string, all bool, yield func(candidate)) func(candidate) {
	var sets []entrySet
	for _, phrase := range phrases {
		sets = append(sets, s.entriesWithAll(s.phraseTerms(phrase)))
	}
	return func(c candidate) {
		lacks := func(set entrySet) bool { // a Thai phrase has only parts
			return set != nil && !set.has(s.table.fileAt(c.file), int(c.entry))
		}
		n := len(slices.DeleteFunc(slices.Clone(sets), lacks))
		if n == len(sets) || !s.query.Exact && (all || n > 0) {
			yield(c)
		}
	}
}

// phrasesIn returns the number of the wanted phrases in an entry, and false if it contains an
// excluded one or has changed.
func (s *matches) phrasesIn(k entryKey, want, not []string) (n uint8, ok bool) {
	doc, e := s.resolveEntry(k)
	if e == nil {
		return 0, false
	}
	excluded, n := countPhrases(doc, e, want, not)
	return n, !excluded
}

// countPhrases returns how many of the wanted phrases are in the text of an entry or in
// a heading above it, and reports whether the text contains an excluded one.
func countPhrases(doc *memory.Document, e *memory.Entry, want, not []string) (excluded bool, n uint8) {
	texts := []string{normalizePhrase(e.Text)}
	contains := func(phrase string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, phrase) })
	}
	if slices.ContainsFunc(not, contains) {
		return true, 0
	}
	for _, heading := range headingsOf(doc, e) {
		texts = append(texts, normalizePhrase(heading))
	}
	for _, phrase := range want {
		if contains(phrase) {
			n++
		}
	}
	return false, n
}

func (s *request) phraseTerms(phrase string) (terms []string) {
	s.analyzer.eachToken(phrase, func(t token) {
		if !t.subword && len(terms) < maxTerms && !slices.Contains(terms, t.term) {
			terms = append(terms, t.term)
		}
	})
	return terms
}

func (s *request) entriesWithAll(terms []string) (all entrySet) {
	for _, term := range terms {
		all = all.and(s.entriesWith(levelSection, termKey(kindWord, term)))
	}
	return all
}

// phraseNote explains the hits of a query with phrases, of which total entries
// contain some words.
func (s *matches) phraseNote(total int) string {
	switch n := len(s.words.phrases); {
	case s.phrases.note != "" || n == 0 || s.query.Exact || total == s.phrases.complete:
		return s.phrases.note
	case s.phrases.complete == 0:
		return "no entry contains the quoted words as they are; these entries contain some of them"
	}
	return fmt.Sprintf("the phrase occurs in %d of these entries; they come first", s.phrases.complete)
}
