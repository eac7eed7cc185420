package index

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxQueryText bounds the bytes of a query text that are analyzed.
	maxQueryText = 16 << 10

	// maxTerms bounds the terms of a search. Of a longer text, the rarest count (see
	// [request.keepRarest]), and in the mode Overlap the first.
	maxTerms = 128
)

type words struct {
	terms   []qterm  // distinct, in order
	phrases []string // squashed

	list []queryWord // words as written, distinct
}

type queryWord struct {
	text  string
	start int
	terms []string // any of which, or all of a run, an entry with the word contains
	run   bool     // Han, kana or hangul
	stop  bool
}

type qterm struct {
	term     string
	weight   float64
	typo     string // word as written, if it may be misspelled
	prefix   string // beginning of a word, if the query has it with a *
	corrects string // misspelled word that the term replaces
	whole    bool   // not only part of a word: an entry with all words contains it
	instead  bool   // an entry can contain it instead of the whole term before it
	stop     bool   // a stop word
	function bool   // one of functionWords
	person   bool   // a pronoun, which counts only in entries with other terms

	period *namedPeriod // no word, but the entries of a period

	maxIdf float64 // upper bound of the idf, if not 0
	minDF  int     // lower bound of the number of entries and files with it
}

// parseQuery parses a query text. Quotes mark phrases, whose words are also terms;
// an unpaired quote is ordinary text. The weight of a term grows with the square
// root of its occurrences. Words that end with * are prefixes. Stop words are
// dropped, unless the query has no other words.
//
// If all is set, the query has neither prefixes nor stop words, and its terms are
// whole words, each once (see [analyzer.wholeWords]).
func (a *analyzer) parseQuery(text string, all bool) words {
	var w words
	text = quotes.Replace(text)
	text = strings.ToValidUTF8(text[:min(len(text), maxQueryText)], "") // a character may be cut
	w.phrases, _ = splitPhrases(text)
	if all {
		a.wholeWords(text, func(t token) {
			if len(w.terms) < maxTerms &&
				!slices.ContainsFunc(w.terms, func(q qterm) bool { return q.term == t.term }) {
				w.terms = append(w.terms, qterm{term: t.term, weight: 1})
			}
		})
		a.eachToken(text, func(t token) { w.addToken(text, t, false) })
		w.finishList()
		for i := range w.terms {
			w.terms[i].whole = true
		}
		return w
	}
	quoted := make(map[string]bool)
	for _, phrase := range w.phrases {
		a.eachToken(phrase, func(t token) { quoted[t.term] = true })
	}
	type key struct {
		term string
		stop bool
	}
	known := make(map[key]int) // indexes of the terms
	var tokens []token
	a.eachToken(text, func(t token) {
		switch {
		case t.subword && !t.joined && isNumber(t.term):
			return // of many identifiers
		case t.joined:
			tokens = slices.DeleteFunc(tokens, func(part token) bool { // C++ and C# are not C
				return part.start >= t.start && !part.joined && (len(part.term) == 1 || isNumber(part.term))
			})
		}
		tokens = append(tokens, t)
	})
	for _, t := range tokens {
		q := qterm{term: t.term, prefix: prefixOfWord(text, t)}
		q.stop = q.prefix == "" && isStopWord(text, t)
		q.function = !q.stop && isFunctionWord(text, t)
		if !quoted[t.term] && !q.function {
			q.typo = typoOf(text, t)
		}
		w.addToken(text, t, isCommonWord(text, t))
		i, ok := known[key{t.term, q.stop}]
		if !ok {
			i = len(w.terms)
			known[key{t.term, q.stop}] = i
			w.terms = append(w.terms, q)
		}
		w.terms[i].weight++
	}
	var others, pronouns []qterm
	for _, q := range w.terms {
		q.person = q.stop && firstPerson[q.term]
		switch {
		case q.person:
			pronouns = append(pronouns, q)
		case !q.stop:
			others = append(others, q)
		}
	}
	if len(others) > 0 {
		w.terms = append(others, pronouns...)
	}
	for i := range w.terms {
		w.terms[i].weight = math.Sqrt(w.terms[i].weight)
		switch {
		case strings.HasSuffix(w.terms[i].term, beginningMark):
			w.terms[i].weight *= tuning.beginning
		case w.terms[i].function:
			w.terms[i].weight *= tuning.function
		}
	}
	w.finishList()
	return w
}

// isNumber reports whether a term has digits only.
func isNumber(term string) bool {
	return !strings.ContainsFunc(term, func(r rune) bool { return !unicode.IsDigit(r) })
}

// keepRarest drops the most frequent terms of a long query, and those that nothing
// readable contains, except one: no entry contains all words then.
func (s *request) keepRarest() {
	terms := s.words.terms
	if len(terms) <= maxTerms || s.err != nil {
		return
	}
	blocks := make([]int, len(terms))
	var order []int // indexes of the terms
	absent := false
	for i, t := range terms {
		blocks[i] = s.countBlocks([]string{t.term})
		if blocks[i] > 0 || !absent && t.whole {
			order = append(order, i)
		}
		absent = absent || blocks[i] == 0 && t.whole
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(blocks[i], blocks[k]) })
	order = order[:min(len(order), maxTerms)]
	slices.Sort(order)
	s.words.terms = make([]qterm, len(order))
	for i, n := range order {
		s.words.terms[i] = terms[n]
	}
}

func (w *words) addToken(text string, t token, stop bool) {
	c := classOf(firstRune(t.term))
	isRun := c == classCJK || c == classHangul
	switch {
	case c == classSEA: // nothing shows where a word ends
	case isRun && t.subword:
		word := &w.list[len(w.list)-1]
		word.text = text[word.start:t.end]
		if utf8.RuneCountInString(t.term) == 1 {
			return
		}
		if utf8.RuneCountInString(word.terms[0]) == 1 {
			word.terms, word.stop = nil, false // a pair contains it
		}
		word.terms = append(word.terms, t.term)
	case t.joined:
		word := queryWord{text: text[t.start:t.end], start: t.start, terms: []string{t.term}}
		for n := len(w.list) - 1; n >= 0 && w.list[n].start+len(w.list[n].text) > t.start; n = len(w.list) - 1 {
			if last := w.list[n]; last.start < t.start { // joined, too
				word.text, word.start, word.terms = text[last.start:t.end], last.start, append(last.terms, t.term)
			}
			w.list = w.list[:n]
		}
		w.list = append(w.list, word)
	case !t.subword:
		w.list = append(w.list, queryWord{text: text[t.start:t.end], start: t.start, terms: []string{t.term},
			run:  isRun,
			stop: stop})
	}
}

// maxRun bounds the characters of a run that counts as a word.
const maxRun = 10

// isSentence reports whether the word is a run of several words.
func (q *queryWord) isSentence() bool { return q.run && utf8.RuneCountInString(q.text) > maxRun }

// finishList drops the stop words, unless the query has no others, and repeated
// words from the list, and marks the terms that an entry with all words contains.
func (w *words) finishList() {
	if slices.ContainsFunc(w.list, func(q queryWord) bool { return !q.stop }) {
		w.list = slices.DeleteFunc(w.list, func(q queryWord) bool { return q.stop })
	}
	whole := make(map[string]bool) // terms of the words before
	w.list = slices.DeleteFunc(w.list, func(q queryWord) bool {
		known := true
		for _, term := range q.terms {
			known = known && whole[term]
			whole[term] = true
		}
		return known
	})
	w.markWhole()
}

// markWhole marks the terms of the words in the list.
func (w *words) markWhole() {
	whole := make(map[string]bool)
	for _, q := range w.list {
		for _, term := range q.terms {
			whole[term] = true
		}
	}
	for i, t := range w.terms {
		w.terms[i].whole = whole[t.term] || classOf(firstRune(t.term)) == classSEA
	}
}

// wholeWords calls emit for the tokens of a text that are whole words. A word of
// letters and digits, such as an identifier, counts without its parts. A run of
// a script without spaces counts as its pairs of adjacent characters, or as the
// one character that it consists of.
func (a *analyzer) wholeWords(text string, emit func(token)) {
	var last token // single character that may begin a run
	flush := func() {
		if last.term != "" {
			emit(last)
		}
		last = token{}
	}
	a.eachToken(text, func(t token) {
		runes := []rune(t.term)
		inRun := classOf(runes[0]) >= classCJK
		switch {
		case inRun && len(runes) == 1 && !t.subword:
			flush()
			last = t
		case inRun && len(runes) == 2:
			last = token{}
			emit(t)
		case !inRun && !t.subword:
			flush()
			emit(t)
		}
	})
	flush()
}

// maxPhrases bounds the phrases of a query, because each phrase is searched in
// the text of every file that may contain it.
const maxPhrases = 32

// CheckText returns an error if the text of a query has too many phrases.
func CheckText(text string) error {
	if quoted, _ := splitPhrases(quotes.Replace(text)); len(quoted) > maxPhrases {
		return fmt.Errorf("%d phrases, more than %d", len(quoted), maxPhrases)
	}
	return nil
}

// Unquoted returns the text as a query without phrases. Messages to an agent
// quote many things that occur in no file.
func Unquoted(text string) string { return strings.ReplaceAll(quotes.Replace(text), `"`, " ") }

// CheckExclude returns an error if the excluded text of a query has too many
// phrases or words. Unlike in the text of a query, no word of it can be
// dropped.
func CheckExclude(text string) error {
	if n := len(strings.Fields(normalizePhrase(text))); n > maxTerms {
		return fmt.Errorf("%d words, more than %d", n, maxTerms)
	}
	return CheckText(text)
}

// splitPhrases returns the distinct quoted phrases, squashed, and the remaining
// text.
func splitPhrases(text string) (quoted []string, rest string) {
	var other strings.Builder
	seen := make(map[string]bool)
	for {
		before, after, _ := strings.Cut(text, `"`)
		phrase, next, ok := strings.Cut(after, `"`)
		other.WriteString(before + " ")
		if !ok {
			return quoted, other.String() + after
		}
		if s := normalizePhrase(phrase); s != " " && !seen[s] {
			quoted, seen[s] = append(quoted, s), true
		}
		text = next
	}
}

// parseExclude parses the excluded text into stemmed words and phrases. A word
// of a script without spaces is a phrase of its characters.
func (a *analyzer) parseExclude(text string) words {
	var w words
	quoted, rest := splitPhrases(quotes.Replace(text))
	w.phrases = quoted
	for _, word := range strings.Fields(rest) {
		if strings.ContainsFunc(word, func(r rune) bool { return classOf(r) >= classCJK }) {
			w.phrases = append(w.phrases, normalizePhrase(word))
			continue
		}
		a.eachToken(word, func(t token) {
			if !t.subword && !isElision(word, t) {
				w.terms = append(w.terms, qterm{term: t.term})
			}
		})
	}
	w.terms = w.terms[:min(len(w.terms), maxTerms)]
	return w
}

var quotes = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "＂", `"`)
