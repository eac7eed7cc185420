package index

import (
	"fmt"
	"strings"
)

// maxTerms bounds a query: what an agent pastes beyond that adds little.
const maxTerms = 128

// words is a query text taken apart.
type words struct {
	terms   []qterm  // distinct, in order
	phrases []string // squashed
}

// qterm is one term of a query.
type qterm struct {
	term   string
	weight float64
}

// parse takes a query text apart. Quotes make phrases, whose words are terms
// too; an unpaired quote is text. Stop words are left out, unless all is asked
// for or there is nothing else to look for.
func (a *analyzer) parse(text string, all bool) words {
	var w words
	seen := make(map[string]bool)
	text = quotes.Replace(text)
	var stops []qterm
	a.tokens(text, func(t token) {
		switch {
		case seen[t.term]:
		case !all && stopWords[t.term]:
			stops = append(stops, qterm{t.term, weightOf(t)})
		default:
			w.terms = append(w.terms, qterm{t.term, weightOf(t)})
		}
		seen[t.term] = true
	})
	if len(w.terms) == 0 {
		w.terms = stops
	}
	w.terms = w.terms[:min(len(w.terms), maxTerms)]
	w.phrases, _ = phrases(text)
	return w
}

// maxPhrases bounds a query's phrases: each is looked for in the text of every
// file that might hold it.
const maxPhrases = 32

// CheckText reports whether a query's text can be asked for.
func CheckText(text string) error {
	if quoted, _ := phrases(quotes.Replace(text)); len(quoted) > maxPhrases {
		return fmt.Errorf("%d phrases are more than %d", len(quoted), maxPhrases)
	}
	return nil
}

// Unquoted is a text as a query in which quotes mean nothing: what somebody says
// to an agent quotes all kinds of things that stand nowhere.
func Unquoted(text string) string { return strings.ReplaceAll(quotes.Replace(text), `"`, " ") }

// CheckExclude is CheckText for what no hit may contain, of which nothing can be
// left out.
func CheckExclude(text string) error {
	if n := len(strings.Fields(squash(text))); n > maxTerms {
		return fmt.Errorf("%d words are more than %d", n, maxTerms)
	}
	return CheckText(text)
}

// phrases returns what stands in quotes, squashed, each once, and the rest.
func phrases(text string) (quoted []string, rest string) {
	var other strings.Builder
	seen := make(map[string]bool)
	for {
		before, after, _ := strings.Cut(text, `"`)
		phrase, next, ok := strings.Cut(after, `"`)
		other.WriteString(before + " ")
		if !ok {
			return quoted, other.String() + after
		}
		if s := squash(phrase); s != " " && !seen[s] {
			quoted, seen[s] = append(quoted, s), true
		}
		text = next
	}
}

// parseExclude takes apart what no hit may contain: words by their stems, and
// phrases. A word of a script without spaces is a phrase of its characters.
func (a *analyzer) parseExclude(text string) words {
	var w words
	quoted, rest := phrases(quotes.Replace(text))
	w.phrases = quoted
	for _, word := range strings.Fields(rest) {
		if strings.ContainsFunc(word, func(r rune) bool { return classOf(r) >= classCJK }) {
			w.phrases = append(w.phrases, squash(word))
			continue
		}
		a.tokens(word, func(t token) {
			if !t.part {
				w.terms = append(w.terms, qterm{term: t.term})
			}
		})
	}
	w.terms = w.terms[:min(len(w.terms), maxTerms)]
	return w
}

var quotes = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "＂", `"`)

// weightOf makes single characters of a run and the parts of an identifier
// count less than the whole.
func weightOf(t token) float64 {
	if t.part && strings.HasSuffix(t.term, "*") {
		return tuning.prefix
	}
	if r := []rune(t.term); len(r) == 1 && classOf(r[0]) == classCJK {
		return tuning.unigram
	}
	return 1
}
