package index

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/dates"
)

// A request is a query as the index reads it.
type request struct {
	reader
	query *Query
	words words // of the query, with corrections
	dates queryDates
	own   bool // a question in the first person
}

func (b *builder) parse(q *Query) (included, excluded words) {
	text := q.Text
	if q.Typing {
		text += "*"
	}
	included = b.parseQuery(text, q.Mode == Overlap)
	included.phrases = slices.DeleteFunc(included.phrases, func(phrase string) bool {
		// In Overlap, the order is that of the formula. A quoted word is found by its score.
		return !q.Exact && (q.Mode == Overlap || strings.Count(phrase, " ") == 2)
	})
	if q.Mode == Relevance && !q.Cover {
		included.addForms()
	}
	return included, b.parseExclude(q.Exclude)
}

// typoOf returns an unquoted token as a word that may be misspelled, in lower
// case, or "". A part of a name with a hyphen is none.
func typoOf(text string, t token) string {
	word := text[t.start:t.end]
	if t.subword || isJoint(text[t.end:]) || strings.HasSuffix(text[:t.start], "-") || utf8.RuneCountInString(word) < minTypo ||
		strings.ContainsFunc(word, func(r rune) bool { return classOf(r) != classLetter }) {
		return ""
	}
	return strings.ToLower(word)
}

const (
	minTypo        = 4 // letters of a word that can be corrected
	maxCorrections = 3 // terms that replace a word
)

// prefixOfWord returns the beginning of a word that a token and a following *
// stand for, or "". A word between two * is emphasized text.
func prefixOfWord(text string, t token) string {
	rest, ok := strings.CutPrefix(text[t.end:], "*")
	if t.subword && !t.joined || !ok || strings.HasPrefix(rest, "*") || strings.HasSuffix(text[:t.start], "*") ||
		rest != "" && classOf(firstRune(rest)) != classNone {
		return ""
	}
	prefix := strings.ReplaceAll(normalizePhrase(text[t.start:t.end]), " ", "")
	if utf8.RuneCountInString(prefix) < minPrefix || classOf(firstRune(prefix)) >= classCJK {
		return ""
	}
	return prefix
}

const (
	minPrefix      = 3    // letters before the * of a prefix
	maxPrefixTerms = 50   // terms that a prefix stands for; the shortest are used
	besideWhole    = 0.05 // weight of the words that a prefix stands for beside the same word as a whole
	maxEnding      = 4    // letters of a prefix that belong to the ending of its word
)

// A namedPeriod is a day or month that a query names, in nanoseconds since 1970.
type namedPeriod struct {
	first, last int64
	isDay       bool
	term        string // its first day, which is no word
	name        string // in the query
}

func (n *namedPeriod) contains(t int64) bool { return n.first <= t && t <= n.last && t != noTime }

const (
	// maxDated bounds the bytes of a query whose dates count. A longer text, such
	// as a pasted log, contains dates that it is not about.
	maxDated = 500

	// Times outside of these years may be too far from 1970 for nanoseconds.
	minYear, maxYear = 1678, 2261
)

type queryDates struct {
	periods  []namedPeriod
	asksTime bool // the query asks for a time
}

// readDates finds the periods that the query names. An entry need not contain the words
// of their names: a note of a day seldom repeats its date.
func (s *request) readDates() {
	q := s.query
	if q.Mode != Relevance || len(q.Text) > maxDated {
		return
	}
	text := quotes.Replace(q.Text)
	inName := make(map[string]bool)
	for _, n := range dates.Find(text, q.AsOf) {
		if n.First.Year() < minYear || n.Last.Year() > maxYear {
			continue
		}
		isDay := n.Last.Sub(n.First) < 48*time.Hour
		s.dates.periods = append(s.dates.periods,
			namedPeriod{first: n.First.UnixNano(), last: n.Last.UnixNano(), isDay: isDay,
				term: n.First.Format(time.DateOnly), name: text[n.From:n.To]})
		s.analyzer.eachToken(text[n.From:n.To], func(t token) { inName[t.term] = true })
		s.words.list = slices.DeleteFunc(s.words.list, func(w queryWord) bool {
			return w.start < n.To && n.From < w.start+len(w.text)
		})
	}
	s.dates.asksTime = asksTimeRE().MatchString(strings.ToLower(text))
	if len(inName) == 0 {
		return
	}
	s.words.markWhole()
	for i := range s.words.terms {
		if t := &s.words.terms[i]; inName[t.term] {
			t.weight *= tuning.dateWord
			t.typo = ""
		}
	}
}

// withoutDates returns the text of the query without the names of periods.
func (s *request) withoutDates() string {
	text := quotes.Replace(s.query.Text)
	for _, n := range s.dates.periods {
		text = strings.ReplaceAll(text, n.name, " ")
	}
	return text
}

// addPeriods adds each named period to the terms of the query.
func (s *request) addPeriods() {
	for i := range s.dates.periods {
		n := &s.dates.periods[i]
		s.words.terms = append(s.words.terms, qterm{term: n.term, weight: tuning.named, period: n})
	}
}

// readPerson finds out whether the query is a question in the first person.
func (s *request) readPerson() {
	isPerson := func(t qterm) bool { return t.person }
	s.own = s.query.Mode == Relevance && slices.ContainsFunc(s.words.terms, isPerson) &&
		questionRE().MatchString(s.query.Text)
}

// insertTerm inserts a term after the i-th one, which it can replace, and
// increments i. A term that the query has already gets no weight, so that it counts
// once.
func (s *request) insertTerm(i *int, t qterm) {
	if slices.ContainsFunc(s.words.terms, func(o qterm) bool { return o.term == t.term }) {
		t.weight = 0
	}
	t.instead = s.words.terms[*i].whole || s.words.terms[*i].instead
	*i++
	s.words.terms = slices.Insert(s.words.terms, *i, t)
}

// insteadOf returns a term and those that replace it: corrections, and words that it is the
// beginning of.
func (s *request) insteadOf(term string) []string {
	terms := []string{term}
	i := slices.IndexFunc(s.words.terms, func(t qterm) bool { return t.term == term && t.whole })
	if i < 0 {
		return terms
	}
	for _, t := range s.words.terms[i+1:] {
		if !t.instead {
			break
		}
		terms = append(terms, t.term)
	}
	return terms
}

// maxListed bounds the words of a query that are compared with each hit, and corrected.
// A longer query is a sentence: most of its words that occur nowhere are right.
const maxListed = 12

// addForms adds the other forms of irregular verbs and nouns after the terms of a
// query. An entry can contain a form instead of the word.
func (w *words) addForms() {
	for i := 0; i < len(w.terms); i++ {
		forms := irregularForms()[w.terms[i].term]
		if forms == nil {
			continue
		}
		w.terms[i].typo = "" // a word, even if nothing contains it
		t := w.terms[i]
		for _, form := range forms {
			if slices.ContainsFunc(w.terms, func(o qterm) bool { return o.term == form }) {
				continue
			}
			i++
			w.terms = slices.Insert(w.terms, i,
				qterm{term: form, weight: t.weight * tuning.irregular, instead: t.whole})
		}
	}
}

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
		q.function = !q.stop && isFunctionWord(text, t) && !unicode.IsUpper(firstRune(text[t.start:])) // not Los Angeles
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

// addToken adds a token of the query to the words as written. A joined token replaces the
// words that it consists of, and a pair of characters extends the run before it.
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
