package index

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A containedWords finds the entries that contain all words of a query, while their
// posting lists are read.
type containedWords struct {
	sets    []wordSet // by block number
	touched []uint32  // blocks with the current word
	ended   []uint32  // blocks with the last word
	words   uint32    // number of words read
}

// A wordSet accumulates the slots of a block that contain all words of a query.
type wordSet struct {
	word slots  // lowest bits of the slots with the current word
	all  slots  // of those with all words before
	n    uint32 // number of these words
}

func (w *containedWords) reset(blocks int) {
	w.touched, w.ended, w.words = w.touched[:0], w.ended[:0], 0
	w.sets = zeros(w.sets, blocks)
}

// addWord adds the entries of a block that contain a term to those with the
// current word.
func (w *containedWords) addWord(block uint32, v slots) {
	if v == 0 {
		return
	}
	set := &w.sets[block]
	if set.word == 0 {
		w.touched = append(w.touched, block)
	}
	set.word |= v.used()
}

// endWord restricts the entries with all words to those with the current word.
func (w *containedWords) endWord() {
	w.words++
	for _, block := range w.touched {
		set := &w.sets[block]
		switch {
		case w.words == 1:
			set.all = set.word
		case set.n+1 == w.words:
			set.all &= set.word
		default:
			set.all = 0
		}
		set.n, set.word = w.words, 0
	}
	w.touched, w.ended = w.ended[:0], w.touched
}

// countContained sets how many entries contain all words of the query, and the words
// that nothing contains.
func (s *search) countContained(res *Result) {
	if s.err != nil {
		return
	}
	res.TotalAll = res.Total
	if s.contained.words > 0 {
		res.TotalAll, res.Absent = s.countAll(), s.absentWords(res.Corrected)
	}
}

func (s *search) containsAll(c candidate) bool {
	n, slot := slotOf(int(c.entry))
	set := &s.contained.sets[s.table.variantAt(c.variant).blocks[n]]
	return s.contained.words > 0 && set.n == s.contained.words && set.all>>(3*slot)&1 != 0
}

func (s *search) countAll() (n int) {
	if s.phrases.filtered {
		for _, c := range s.phrases.chosen {
			if s.containsAll(c) {
				n++
			}
		}
		return n
	}
	for _, block := range s.contained.ended {
		set := &s.contained.sets[block]
		r := *s.table.blocks.at(block)
		a := &s.accs[s.at[r.variant]-1]
		if a.out {
			continue
		}
		for v := set.all; v != 0; {
			slot, _ := v.next()
			v = v.without(slot)
			if s.filter.set != nil && !s.filter.set.hasSlot(block, slot) {
				continue
			}
			if !a.checkEach || s.filter.passesRecord(&s.table.variantAt(r.variant).entries[entryOfSlot(int(r.nth), slot)]) {
				n++
			}
		}
	}
	return n
}

// maxListed bounds the words of a query that are compared with each hit, and corrected.
// A longer query is a sentence: most of its words that occur nowhere are right.
const maxListed = 12

// compareWords returns the words of the query that an entry lacks, and those of
// them of which it contains a part. The text of the entry has the given terms of
// the query.
func (s *search) compareWords(k entryKey, h *Hit, has map[string]bool) (missing, partial []string) {
	if len(s.words.list) == 0 || len(s.words.list) > maxListed {
		return nil, nil
	}
	e := h.Entry
	head := strings.Join(append(slices.Concat(headingsOf(h.Doc, e), e.Tags), e.Title, h.Language), "\n")
	short := excerptOf(head, s.words.terms, s.idfs)
	s.analyzer.eachToken(short, func(t token) { has[t.term] = true })
	if len(short) < len(head) {
		s.addTerms(k, has)
	}
	phrase := "" // normalized text, for runs
	for _, w := range s.words.list {
		if w.isSentence() {
			continue
		}
		found, part := s.hasWord(&w, has)
		if found && w.run && utf8.RuneCountInString(w.text) > 2 {
			if phrase == "" {
				phrase = normalizePhrase(head + "\n" + e.Text)
			}
			found = strings.Contains(phrase, normalizePhrase(w.text))
		}
		if found {
			continue
		}
		missing = append(missing, w.text)
		if part {
			partial = append(partial, w.text)
		}
	}
	return missing, partial
}

// hasWord reports whether a set of terms contains the word, or a part of it.
func (s *search) hasWord(w *queryWord, has map[string]bool) (found, part bool) {
	found = true
	for _, term := range w.terms {
		found = found && has[term]
		part = part || has[term]
	}
	if w.run || found {
		return found, part
	}
	for i, t := range s.words.terms { // corrections and prefixes
		if !t.whole || t.term != w.terms[0] {
			continue
		}
		for _, o := range s.words.terms[i+1:] {
			if !o.instead {
				break
			}
			found = found || has[o.term]
		}
	}
	s.analyzer.eachToken(w.text, func(t token) { part = part || has[t.term] })
	return found, part
}

func (s *search) absentWords(corrected []Correction) (list []string) {
	if len(s.words.list) > maxListed {
		return nil
	}
	gone := make(map[string]bool)
	for i, t := range s.words.terms {
		if !t.whole || !s.absent[i] {
			continue
		}
		gone[t.term] = true
		for k := i + 1; k < len(s.words.terms) && s.words.terms[k].instead; k++ {
			o := s.words.terms[k]
			isShown := func(c Correction) bool { return c.Word == o.corrects }
			if !s.absent[k] && (o.corrects == "" || slices.ContainsFunc(corrected, isShown)) {
				delete(gone, t.term)
			}
		}
	}
	for _, w := range s.words.list {
		if slices.ContainsFunc(w.terms, func(term string) bool { return gone[term] }) && !w.isSentence() && !(w.run && s.containsPart(&w)) {
			list = append(list, w.text)
		}
	}
	return list
}

// containsPart reports whether some readable entry contains a character of a run. The
// run may be several words, or another spelling of one.
func (s *search) containsPart(run *queryWord) bool {
	for i, t := range s.words.terms {
		if !s.absent[i] && strings.Contains(run.text, t.term) {
			return true
		}
	}
	return false
}
