package index

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/memory"
)

// addWord adds the entries of a block that contain a term to those with the
// current word.
func (s *search) addWord(block uint32, v slots) {
	if s.query.Mode == Overlap {
		v &^= v.sections() * 7
	}
	if v == 0 {
		return
	}
	set := &s.sets[block]
	if set.word == 0 {
		s.scratch.touched = append(s.scratch.touched, block)
	}
	set.word |= v.used()
}

// endWord restricts the entries with all words to those with the current word.
func (s *search) endWord() {
	s.wholeWords++
	for _, block := range s.scratch.touched {
		set := &s.sets[block]
		switch {
		case s.wholeWords == 1:
			set.all = set.word
		case set.n+1 == s.wholeWords:
			set.all &= set.word
		default:
			set.all = 0
		}
		set.n, set.word = s.wholeWords, 0
	}
	s.scratch.touched, s.ended = s.ended[:0], s.scratch.touched
}

// containsAll reports whether an entry contains all words of the query.
func (p *page) containsAll(c candidate) bool {
	n, slot := slotOf(int(c.entry))
	set := &p.sets[p.over.variantAt(c.variant).blocks[n]]
	return p.wholeWords > 0 && set.n == p.wholeWords && set.all>>(3*slot)&1 != 0
}

// countAll returns the number of matching entries that contain all words of the
// query.
func (p *page) countAll() (n int) {
	if p.filtered {
		for _, c := range p.chosen {
			if p.containsAll(c) {
				n++
			}
		}
		return n
	}
	for _, block := range p.ended {
		set := &p.sets[block]
		r := p.over.refAt(block)
		a := &p.accs[p.at[r.variant]-1]
		if a.out {
			continue
		}
		for v := set.all; v != 0; {
			slot, _ := v.next()
			v = v.without(slot)
			if p.filter.set != nil && !p.filter.set.hasSlot(block, slot) {
				continue
			}
			if !a.checkEach || p.filter.passesRecord(&p.over.variantAt(r.variant).entries[entryOfSlot(int(r.nth), slot)]) {
				n++
			}
		}
	}
	return n
}

// maxListed bounds the words of a query that are compared with each hit. A longer
// query is a sentence.
const maxListed = 12

// compareWords returns the words of the query that an entry lacks, and those of
// them of which it contains a part. The text of the entry has the given terms of
// the query.
func (p *page) compareWords(e *memory.Entry, language string, has map[string]bool) (missing, partial []string) {
	if len(p.words.list) == 0 || len(p.words.list) > maxListed {
		return nil, nil
	}
	head := strings.Join(e.Sections, "\n") + "\n" + e.Title + "\n" + strings.Join(e.Tags, "\n") + "\n" + language
	p.analyzer.eachToken(head, func(t token) { has[t.term] = true })
	phrase := "" // normalized text, for runs
	for _, w := range p.words.list {
		found, part := p.hasWord(&w, has)
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
func (p *page) hasWord(w *queryWord, has map[string]bool) (found, part bool) {
	found = true
	for _, term := range w.terms {
		found = found && has[term]
		part = part || has[term]
	}
	if w.run || found {
		return found, part
	}
	for i, t := range p.words.terms { // corrections and prefixes
		if !t.whole || t.term != w.terms[0] {
			continue
		}
		for _, o := range p.words.terms[i+1:] {
			if !o.instead {
				break
			}
			found = found || has[o.term]
		}
	}
	p.analyzer.eachToken(w.text, func(t token) { part = part || has[t.term] })
	return found, part
}

// absentWords returns the words of the query that nothing readable contains.
func (p *page) absentWords(corrected []Correction) (list []string) {
	if len(p.words.list) > maxListed {
		return nil
	}
	gone := make(map[string]bool)
	for i, t := range p.words.terms {
		if !t.whole || !p.absent[i] {
			continue
		}
		gone[t.term] = true
		for k := i + 1; k < len(p.words.terms) && p.words.terms[k].instead; k++ {
			o := p.words.terms[k]
			isShown := func(c Correction) bool { return c.Word == o.corrects }
			if !p.absent[k] && (o.corrects == "" || slices.ContainsFunc(corrected, isShown)) {
				delete(gone, t.term)
			}
		}
	}
	for _, w := range p.words.list {
		if p.lacking[w.text] || slices.ContainsFunc(w.terms, func(term string) bool { return gone[term] }) {
			list = append(list, w.text)
		}
	}
	return list
}
