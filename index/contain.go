package index

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/memwatchd/memwatchd/internal/secrets"
)

// corrections returns the words of the query that may be misspelled, with the words of the
// hits in their place.
func (s *search) corrections(hits []Hit) (list []Correction) {
	corrects := make(map[string][]string) // by term
	for _, t := range s.words.terms {
		if t.corrects != "" {
			corrects[t.term] = append(corrects[t.term], t.corrects)
		}
	}
	if len(corrects) == 0 {
		return nil
	}
	for _, h := range hits {
		// A word of a credential would not be recognized as such by itself.
		text, _ := secrets.Redact(strings.Join(append([]string{h.Entry.Text, h.Doc.Place.Path},
			headingsOf(h.Doc, h.Entry)...), "\n"))
		s.analyzer.eachToken(text, func(t token) {
			words, ok := corrects[t.term]
			if !ok || strings.ContainsFunc(text[t.start:t.end], unicode.IsDigit) {
				return
			}
			delete(corrects, t.term)
			to := strings.ToLower(text[t.start:t.end])
			for _, word := range words {
				i := slices.IndexFunc(list, func(c Correction) bool { return c.Word == word })
				if i < 0 {
					list = append(list, Correction{Word: word})
					i = len(list) - 1
				}
				list[i].To = append(list[i].To, to)
			}
		})
	}
	return list
}

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

// absentWords returns the words of the query that no entry contains, as written.
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
