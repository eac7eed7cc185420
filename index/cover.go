package index

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A search is one query in progress.
type search struct {
	ranked
	cover coverWeights
}

// Covered returns the hits of a query that concern it, in their order: none if
// no hit covers the share min of the query, else those that do, and those whose text contains a word of the query as it is written there. If one
// entry concerns a query, others with some of its words are likely
// to as well, and so are those that are close to it in meaning. Closeness alone is
// not enough: some entry is always the closest. Neither is a stem alone ("shops" in a
// message about a shop), an everyday word, or the heading of another hit.
func Covered(hits []Hit, min float64) []Hit {
	if !slices.ContainsFunc(hits, func(h Hit) bool { return h.Cover >= min }) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(hits), func(h Hit) bool {
		return h.Cover < min && !h.Close && !h.Shares
	})
}

// A coverWeights contains the weights of the terms of the query in the coverage; nil until
// they are computed.
type coverWeights struct {
	weights []float64
	sum     float64
	written map[string]bool // words of the query as they are written, without everyday words
}

// sharesWord reports whether a text contains a word of the query as it is written there,
// except for everyday words and those without weight, such as single Chinese characters. With
// any other floor, a block has less of what it is asked for: of LoCoMo, .69 for .08, .64 for
// .25, in place of .74.
func (s *search) sharesWord(text string) (found bool) {
	if s.cover.written == nil {
		s.cover.written = map[string]bool{}
		weighs := make(map[string]bool)
		for i, weight := range s.cover.weights {
			weighs[s.words.terms[i].term] = weight > 0 && !isRoutine(s.words.terms[i].term)
		}
		query := s.withoutDates()
		s.analyzer.eachToken(query, func(t token) {
			if weighs[t.term] {
				s.cover.written[strings.ToLower(query[t.start:t.end])] = true
			}
		})
	}
	s.analyzer.eachToken(text, func(t token) {
		found = found || s.cover.written[strings.ToLower(text[t.start:t.end])]
	})
	return found
}

// computeCover returns the coverage of the query by an entry, which has the given terms.
func (s *search) computeCover(k entryKey, has map[string]bool) float64 {
	if s.cover.weights == nil {
		s.weighTerms()
	}
	sum := 0.0
	for i, weight := range s.cover.weights {
		t := &s.words.terms[i]
		covered := has[t.term]
		if t.period != nil {
			covered = t.period.contains(s.entryAt(k).time) && !s.copied(k.file)
		}
		if covered {
			sum += weight
		}
	}
	few := coverFew
	if !s.analyzer.isTopic(s.withoutDates()) {
		few = coverOther
	}
	sum *= s.ownFactor(k)
	return min(1, sum/min(max(s.cover.sum, few), coverMany))
}

// weighTerms determines what each term contributes to the share of the query that an entry
// covers.
func (s *search) weighTerms() {
	most := idf(s.readable.entries, min(s.readable.entries, coverRare))
	absent := idf(s.readable.entries, 0)
	// A pair of Han characters that occurs in no entry is the end of one word and the
	// beginning of the next if another pair, which occurs or is an everyday one, ends or
	// begins with one of its characters.
	firsts, lasts := make(map[rune]bool), make(map[rune]bool)
	for i, t := range s.words.terms {
		if r := []rune(t.term); len(r) == 2 && (s.idfs[i] < absent || isRoutine(t.term)) {
			firsts[r[0]], lasts[r[1]] = true, true
		}
	}
	s.cover.weights = make([]float64, len(s.words.terms))
	for i, t := range s.words.terms {
		w := t.weight * min(1, s.idfs[i]/most)
		r := []rune(t.term)
		switch {
		case t.period != nil:
			w = 1
		case t.person, classOf(r[0]) >= classCJK && (len(r) == 1 || // a single character occurs in half of all words
			hasHiragana(t.term) ||
			s.idfs[i] >= absent && (lasts[r[0]] || firsts[r[1]])):
			w = 0
		case isRoutine(t.term):
			w *= coverRoutine
		}
		s.cover.weights[i] = w
		s.cover.sum += w
	}
}

// isTopic reports whether a message is a question, or only words of a topic. These contain
// no routine words, or neither begin with one nor contain stop words (shoe size).
func (a *analyzer) isTopic(text string) bool {
	if questionRE().MatchString(text) {
		return true
	}
	words, routine, phrase := 0, false, true
	a.eachToken(text, func(t token) {
		if r, size := utf8.DecodeRuneInString(t.term); classOf(r) >= classCJK && size == len(t.term) {
			return
		}
		isRoutine := isRoutine(t.term)
		routine = routine || isRoutine
		phrase = phrase && !isCommonWord(text, t) && (words > 0 || !isRoutine)
		words++
	})
	return !routine || phrase
}
