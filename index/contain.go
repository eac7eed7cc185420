package index

import (
	"slices"
	"strings"
	"sync"
)

// countContained sets how many entries contain all words of the query, and the words
// that nothing contains.
func (s *search) countContained(res *Result, withAll int) {
	if s.err != nil {
		return
	}
	res.TotalAll = res.Total
	if s.wanted == 0 {
		return
	}
	res.TotalAll, res.Absent = withAll, s.absentWords(res.Corrected)
}

// maxListed bounds the words of a query that are compared with each hit, and corrected.
// A longer query is a sentence: most of its words that occur nowhere are right.
const maxListed = 12

// missingWords returns the words of the query that a text lacks, which has the given
// terms.
func (s *request) missingWords(text string, has map[string]bool) (missing []string) {
	if len(s.words.list) > maxListed {
		return nil
	}
	phrase := sync.OnceValue(func() string { return normalizePhrase(text) })
	for _, w := range s.words.list {
		if !w.isSentence() && (!s.hasWord(&w, has) || w.run && !strings.Contains(phrase(), normalizePhrase(w.text))) {
			missing = append(missing, w.text)
		}
	}
	return missing
}

// hasWord reports whether a set of terms contains the word, or one that can replace it.
func (s *request) hasWord(w *queryWord, has map[string]bool) bool {
	if !slices.ContainsFunc(w.terms, func(term string) bool { return !has[term] }) {
		return true
	}
	return !w.run && slices.ContainsFunc(s.insteadOf(w.terms[0])[1:], func(term string) bool { return has[term] })
}

func (s *matches) absentWords(corrected []Correction) (list []string) {
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
		if !s.hasWord(&w, has) && !w.isSentence() && !(w.run && 2*missing <= len(pairs)) {
			list = append(list, w.text)
		}
	}
	return list
}
