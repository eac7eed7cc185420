package letters

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A text of a model keeps some words exactly: numbers, dates, addresses, paths, identifiers,
// tags, and names with unusual case or punctuation.
var (
	addressRE = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("[A-Za-z][A-Za-z0-9+.-]*://[^\\s<>\"`，。；、！？（）】》」』]+")
	})
	exactRE = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\p{Nd}|\p{Ll}\p{Lu}|.[/\\_@#^=:]|[/\\_@#^=].|^-.|\..{2}`)
	})
)

// MissingWords returns the exact words of text that other does not contain, in
// the order of text, addresses first.
func MissingWords(text, other string) []string {
	has := exactWords(other)
	return slices.DeleteFunc(exactWords(text), func(word string) bool { return slices.Contains(has, word) })
}

// exactWords returns the words of a text that must be kept exactly, each once. Words are
// separated by white space, brackets, quotes and characters of scripts without spaces.
func exactWords(text string) (words []string) {
	const ends = ".,;:!?'*_~|-&="
	add := func(word string) {
		if word != "" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	text = addressRE().ReplaceAllStringFunc(text, func(address string) string {
		address = strings.TrimRight(address, ends)
		for strings.HasSuffix(address, ")") && strings.Count(address, ")") > strings.Count(address, "(") {
			address = strings.TrimRight(address[:len(address)-1], ends)
		}
		add(address)
		return " "
	})
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("()<>[]{}\"'`|*;!", r) || isSpaceless(r) ||
			r >= utf8.RuneSelf && unicode.IsPunct(r)
	}) {
		word = strings.TrimLeft(strings.TrimRight(word, ends), "_")
		if exactRE().MatchString(word) {
			add(word)
		}
	}
	return words
}

// WordOverlap returns the fraction of the words of text that other contains,
// ignoring case and order. If text has no words, WordOverlap returns 1.
func WordOverlap(text, other string) float64 {
	all := WordSet(text)
	if len(all) == 0 {
		return 1
	}
	return float64(CountCommon(all, WordSet(other))) / float64(len(all))
}

// NewWords returns the words of text that other lacks, sorted, ignoring case.
func NewWords(text, other string) []string {
	has, words := WordSet(other), WordSet(text)
	maps.DeleteFunc(words, func(word string, _ bool) bool { return has[word] })
	return slices.Sorted(maps.Keys(words))
}

// isSpaceless reports whether a character belongs to a script that is written
// without spaces between words.
func isSpaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai) || r == 'ー'
}

// CountCommon returns the number of words in both sets.
func CountCommon(a, b map[string]bool) (n int) {
	for word := range a {
		if b[word] {
			n++
		}
	}
	return n
}

// WordSet returns the set of words of a text. Each character of a script
// without spaces counts as a word.
func WordSet(text string) map[string]bool {
	set := map[string]bool{}
	text = FoldCase(text)
	for from := 0; from < len(text); {
		r, n := utf8.DecodeRuneInString(text[from:])
		end := from + n
		switch {
		case isSpaceless(r):
			set[text[from:end]] = true
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			rest := strings.IndexFunc(text[from:],
				func(r rune) bool { return !unicode.In(r, unicode.L, unicode.N, unicode.M) || isSpaceless(r) })
			end = len(text)
			if rest >= 0 {
				end = from + rest
			}
			set[text[from:end]] = true
		}
		from = end
	}
	return set
}
