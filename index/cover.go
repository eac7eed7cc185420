package index

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A ranking always has a first hit, even for a query about a subject that is
// not in memory. The coverage of a query by an entry detects this case: the
// share of the words of the query that occur in the entry. Each word is weighted
// by its rarity among the entries that the view may read. A word that occurs in
// at most coverRare entries has the maximum weight 1. The words of everyday
// messages count a fraction of that, even where they are rare. Of Chinese, whose
// words are not separated, pairs of characters that lie between two words do not
// count, and of Japanese, pairs with hiragana, which are mostly endings.
//
// An entry easily covers a few words, even by chance, and no entry covers a
// large part of many words. So the denominator of the share is at least
// coverFew and at most coverMany words. With the threshold 0.4, one rare word of
// a short question is enough, and common words in a long text never are.
// Messages that are neither a question nor only words of a topic are mostly
// instructions ("make a backup first"): for these, at least two words must
// occur.
//
// The constants were chosen with this threshold on three sets of queries in
// English and Chinese: questions about conversations, questions about other
// conversations, and everyday messages to agents ("run the tests again").
// [TestEvalCover] prints the results.
const (
	coverFew     = 2.2
	coverOther   = 3.5 // in place of coverFew, for other messages
	coverMany    = 4
	coverRoutine = 0.25 // weight of a word of [routineWords]
	coverRare    = 4    // number of entries with a rare word
	coverClose   = 200  // of as many readable entries one is close to a query
)

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

var questionRE = lazyregexp.New(`(?i)[?？]|^[^\pL]*(?:who|whose|what|when|where|which|why|how|` +
	`wer|wann|wo|wie|warum|welche[rsmn]?|qui|quand|où|pourquoi|quel(?:le)?s?|qué|cuándo|dónde|cómo|quién|cuál|` +
	`chi|quando|dove|perché|quale|quem|onde|qual|кто|что|где|когда|как|почему|kto|gdzie|kiedy|jak|dlaczego|` +
	`waar|wanneer|hoe|waarom|welke)(?:\PL|$)|` +
	`^\W*(?:am|are|was|were|do|did|have|had) (?:i|we)\b|[吗呢什哪谁几怎]|多少|为何`)

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
