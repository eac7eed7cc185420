package index

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// countContained sets how many entries contain all words of the query, and the words
// that nothing contains.
func (s *search) countContained(res *Result) {
	if s.err != nil {
		return
	}
	res.TotalAll = res.Total
	if s.wanted == 0 {
		return
	}
	res.TotalAll, res.Absent = s.withAll, s.absentWords(res.Corrected)
	if s.phrases.passing != nil {
		res.TotalAll = 0
		s.eachMatch(chooseAll, func(c candidate) {
			if _, cells := s.cellOf(c); cells != nil && cells[c.entry].words == s.wanted {
				res.TotalAll++
			}
		})
	}
}

// maxListed bounds the words of a query that are compared with each hit, and corrected.
// A longer query is a sentence: most of its words that occur nowhere are right.
const maxListed = 12

// compareWords returns the words of the query that a text lacks, which has the given
// terms, and those of them of which it contains a part.
func (s *search) compareWords(text string, has map[string]bool) (missing, partial []string) {
	if len(s.words.list) > maxListed {
		return nil, nil
	}
	phrase := "" // normalized text, for runs
	for _, w := range s.words.list {
		if w.isSentence() {
			continue
		}
		found, part := s.hasWord(&w, has)
		if found && w.run && utf8.RuneCountInString(w.text) > 2 {
			if phrase == "" {
				phrase = normalizePhrase(text)
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
	has := make(map[string]bool)
	for i, t := range s.words.terms {
		isShown := func(c Correction) bool { return c.Word == t.corrects }
		if !s.absent[i] && (t.corrects == "" || slices.ContainsFunc(corrected, isShown)) {
			has[t.term] = true
		}
	}
	for _, w := range s.words.list {
		pairs := slices.DeleteFunc(slices.Clone(w.terms), isEverydayPair)
		if len(pairs) == 0 {
			pairs = w.terms
		}
		missing := len(slices.DeleteFunc(slices.Clone(pairs), func(term string) bool { return has[term] }))
		// A run may be several words, some of a question (什么是): it is absent if most of its other
		// pairs are.
		if found, _ := s.hasWord(&w, has); !found && !w.isSentence() && !(w.run && 2*missing <= len(pairs)) {
			list = append(list, w.text)
		}
	}
	return list
}
