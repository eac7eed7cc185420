package index

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

const (
	// maxPhraseFiles bounds the number of files that are read to find phrases.
	maxPhraseFiles = 1000
	// enoughFiles is the number of files after which no more are read if there are enough
	// hits for the page.
	enoughFiles = 300
)

// A phraseMatches contains the phrases of a query in its candidates.
type phraseMatches struct {
	passing  entrySet           // candidates that pass the phrases, nil if these exclude none
	counts   map[entryKey]uint8 // number of phrases, in the candidates that contain some; nil without phrases
	most     map[uint32]uint8   // maximum of counts, by file number
	complete int                // number of candidates that contain all phrases
	note     string
}

// add records that an entry contains n phrases.
func (p *phraseMatches) add(k entryKey, n uint8) {
	if p.counts == nil {
		p.counts, p.most = make(map[entryKey]uint8), make(map[uint32]uint8)
	}
	p.counts[k], p.most[k.file] = n, max(p.most[k.file], n)
}

// applyPhrases counts the wanted phrases in each candidate, and drops the
// candidates with excluded phrases or, if the query requires its phrases, without
// them. It reads the text of candidates.
func (s *search) applyPhrases(not []string) {
	want := s.words.phrases
	if s.err != nil || len(want)+len(not) == 0 {
		return
	}
	// All words of a phrase must occur in an entry. This condition leaves few
	// files to read.
	sets := make([]entrySet, len(want))
	for i, phrase := range want {
		sets[i] = s.entriesWithAll(s.phraseTerms(phrase))
	}
	none := !slices.ContainsFunc(sets, func(s entrySet) bool {
		return s == nil || slices.ContainsFunc(s, func(slots uint32) bool { return slots != 0 })
	})
	if s.err != nil || none && len(not) == 0 && !s.query.Exact {
		return
	}
	// isPossible reports whether an entry may contain enough phrases.
	isPossible := func(c candidate) bool {
		pt := s.table.fileAt(c.file)
		some := false
		for _, set := range sets {
			has := set == nil || set.has(pt, int(c.entry)) // a Thai phrase has only parts
			if !has && s.query.Exact {
				return false
			}
			some = some || has
		}
		return some || len(not) > 0
	}
	var found []candidate
	s.eachMatch(chooseAll, func(c candidate) {
		if isPossible(c) {
			c.score, _ = s.exactScore(c)
			found = append(found, c)
		}
	})
	slices.SortFunc(found, s.compare)
	var passing entrySet
	if s.query.Exact && len(want) > 0 || len(not) > 0 {
		passing = make(entrySet, s.table.blocks.length)
	}
	s.phrases.counts, s.phrases.most = make(map[entryKey]uint8), make(map[uint32]uint8)
	read, texts := make(map[*file]bool), make(map[uint64]bool)
	enough := 2*(s.query.Offset+s.query.Limit) + 20 // some are not shown, such as those of a file that is one hit
	for _, c := range found {
		s.err = cmp.Or(s.err, s.ctx.Err())
		if s.err != nil {
			return
		}
		f := s.table.fileAt(c.file)
		if !read[f] && len(read) == maxPhraseFiles {
			s.phrases.note = fmt.Sprintf("more than %d files contain the words of the phrase, only the best were "+
				"searched; add words or a filter", maxPhraseFiles)
			break
		}
		if !read[f] && len(read) >= enoughFiles && len(texts) >= enough {
			s.phrases.note = fmt.Sprintf("only the best %d files with the words of the phrase were searched; "+
				"others may contain it, too", enoughFiles)
			break
		}
		read[f] = true
		doc, e := s.resolveEntry(c.entryKey)
		if e == nil {
			continue
		}
		excluded, n := countPhrases(doc, e, want, not)
		if excluded {
			continue
		}
		all := int(n) == len(want)
		if n > 0 {
			s.phrases.counts[c.entryKey] = n
			s.phrases.most[c.file] = max(s.phrases.most[c.file], n)
		}
		if all && n > 0 {
			s.phrases.complete++
		}
		if all && !s.grouped(c) {
			texts[s.dupHash(c)] = true
		} else if all {
			texts[uint64(c.file)] = true
		}
		if passing != nil && (all || !s.query.Exact) {
			b, slot := slotOf(int(c.entry))
			passing[s.table.fileAt(c.file).blocks[b]] |= 1 << slot
		}
	}
	s.phrases.passing = passing
}

// passesText reports whether the phrases of the query do not exclude a candidate.
func (s *search) passesText(k entryKey) bool {
	return s.phrases.passing == nil || s.phrases.passing.has(s.table.fileAt(k.file), int(k.entry))
}

// chooseAll rejects no file.
func chooseAll(*acc) bool { return true }

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

func (s *search) phraseTerms(phrase string) (terms []string) {
	s.analyzer.eachToken(phrase, func(t token) {
		if !t.subword && len(terms) < maxTerms && !slices.Contains(terms, t.term) {
			terms = append(terms, t.term)
		}
	})
	return terms
}

func (s *search) entriesWithAll(terms []string) (all entrySet) {
	for _, term := range terms {
		all = all.and(s.entriesWith(levelSection, termKey(kindWord, term)))
	}
	return all
}

// phraseNote explains the hits of a query with phrases, of which total entries
// contain some words.
func (s *search) phraseNote(total int) string {
	switch n := len(s.words.phrases); {
	case s.phrases.note != "" || n == 0 || s.query.Exact || total == s.phrases.complete:
		return s.phrases.note
	case s.phrases.complete == 0 && n > 1:
		return "no entry contains all phrases; these entries contain words of them"
	case s.phrases.complete == 0:
		return "no entry contains the phrase; these entries contain words of it"
	}
	return fmt.Sprintf("the phrase occurs in %d of these entries; they come first", s.phrases.complete)
}
