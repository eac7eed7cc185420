package memory

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A rewording may replace most words of a sentence, but must keep some exactly:
// numbers, dates, addresses, paths, names with unusual case or punctuation,
// tags, and the content of code spans. This file finds those exact words.

var (
	codeSpanRE = lazyregexp.New("`+([^`\n]+)`+")
	addressRE  = lazyregexp.New("[A-Za-z][A-Za-z0-9+.-]*://[^\\s<>\"`，。；、！？（）】》」』]+")
)

// MissingWords returns the exact words of text that other does not contain, in
// the order of text. It takes time proportional to the product of the two
// lengths.
func MissingWords(text, other string) []string {
	other = HeadingLine(other)
	return slices.DeleteFunc(exactWords(text), func(word string) bool { return containsWord(word, other) })
}

// exactWords returns the words of a text that must be kept exactly.
func exactWords(text string) []string {
	text = HeadingLine(text)
	var words []string
	add := func(word string) {
		if word != "" && !slices.Contains(words, word) && containsWord(word, text) { // skip a part of a longer word
			words = append(words, word)
		}
	}
	for _, m := range codeSpanRE().FindAllStringSubmatch(text, -1) {
		add(strings.TrimSpace(m[1]))
	}
	for _, address := range addressRE().FindAllString(text, -1) {
		address = strings.TrimRight(address, ".,;:!?'*_|")
		for strings.HasSuffix(address, ")") && strings.Count(address, ")") > strings.Count(address, "(") {
			address = strings.TrimRight(address[:len(address)-1], ".,;:!?'*_|")
		}
		add(address)
	}
	for from := 0; from < len(text); {
		end := wordEnd(text, from)
		if word := trimWord(text[from:end]); isExact(word) {
			add(word)
		}
		_, n := utf8.DecodeRuneInString(text[end:])
		from = end + n
	}
	return words
}

// wordEnd returns the offset of the end of the word that begins at from. Words
// are separated by white space, brackets, quotes and characters of scripts
// without spaces.
func wordEnd(text string, from int) int {
	for i, r := range text[from:] {
		at := from + i
		switch {
		case r == ',' && at > from && at+1 < len(text) && isDigit(text[at-1]) && isDigit(text[at+1]):
		case unicode.IsSpace(r), strings.ContainsRune("()<>[]{}\"'`|*,;!", r), isSpaceless(r),
			r >= utf8.RuneSelf && unicode.IsPunct(r):
			return at
		}
	}
	return len(text)
}

// isSpaceless reports whether a character belongs to a script that is written
// without spaces between words.
func isSpaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai) || r == 'ー'
}

// trimWord removes emphasis and the sentence's punctuation from a word.
func trimWord(word string) string {
	for _, mark := range []string{"~~", "__", "_"} {
		if inner, ok := strings.CutPrefix(word, mark); ok && strings.HasSuffix(inner, mark) {
			word = strings.TrimSuffix(inner, mark)
		}
	}
	return strings.TrimRight(word, ".:?-~&=")
}

// isExact reports whether rewording would change the meaning of a word.
func isExact(word string) bool {
	var before rune
	for i, r := range word {
		switch {
		case unicode.IsDigit(r), strings.ContainsRune(`/\_@#^=`, r) && len(word) > 1,
			r == ':' && i > 0,
			r == '-' && i == 0 && len(word) > 1, // -v, --force
			r == '.' && i+2 < len(word),         // notes.md, example.org, .env; not e.g
			unicode.IsUpper(r) && unicode.IsLower(before):
			return true
		}
		before = r
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// containsWord reports whether text contains word as a whole word, not as a
// part of a longer one. Both must be single-spaced.
func containsWord(word, text string) bool { return wordIndex(word, text) >= 0 }

// wordIndex returns the index of the first whole word in text that equals word,
// or -1.
func wordIndex(word, text string) int {
	amount := strings.Trim(word, "0123456789.,:") == ""
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return -1
		}
		at += from
		if !extendsWord(text[:at], amount, true) && !extendsWord(text[at+len(word):], amount, false) {
			return at
		}
		from = at + 1
	}
}

// replaceWord returns text with each whole word that equals old replaced.
func replaceWord(text, old, value string) string {
	var b strings.Builder
	for {
		at := wordIndex(old, text)
		if at < 0 {
			return b.String() + text
		}
		b.WriteString(text[:at] + value)
		text = text[at+len(old):]
	}
}

// corrections returns the exact words of an old text that a newer text about the
// same thing corrects, with their new values. A word is corrected if it is the
// only one of its form that the newer text lacks, and the newer text has exactly
// one new word of that form. So the port 8081 corrects the port 8080, and a day
// corrects a day.
func corrections(old, newer string) map[string]string {
	byForm := func(words []string) map[string][]string {
		forms := map[string][]string{}
		for _, word := range words {
			forms[wordForm(word)] = append(forms[wordForm(word)], word)
		}
		return forms
	}
	lost, made := byForm(MissingWords(old, newer)), byForm(MissingWords(newer, old))
	corrected := map[string]string{}
	for form, words := range lost {
		if len(words) == 1 && len(made[form]) == 1 {
			corrected[words[0]] = made[form][0]
		}
	}
	return corrected
}

// wordForm returns a word with 0 for each number and a for each other run of
// letters. All URLs have one form.
func wordForm(word string) string {
	if strings.Contains(word, "://") {
		return "://"
	}
	var b strings.Builder
	last := rune(0)
	for _, r := range word {
		switch {
		case unicode.IsDigit(r):
			r = '0'
		case unicode.IsLetter(r):
			r = 'a'
		}
		if r != last || r != '0' && r != 'a' {
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}

// extendsWord reports whether the text next to a word belongs to the word. A
// number may be part of a range, a ratio or an address; a name must not be part
// of another name.
func extendsWord(beside string, amount, before bool) bool {
	r, n := utf8.DecodeRuneInString(beside)
	next, _ := utf8.DecodeRuneInString(beside[n:])
	if before {
		r, n = utf8.DecodeLastRuneInString(beside)
		next, _ = utf8.DecodeLastRuneInString(beside[:len(beside)-n])
	}
	letter := func(r rune) bool { return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !isSpaceless(r) }
	switch {
	case n == 0:
		return false
	case letter(r):
		return true
	case r == '.', r == '_':
		return letter(next)
	case amount:
		return r == ',' && unicode.IsDigit(next) || before && r == '-' && !letter(next)
	}
	return strings.ContainsRune(`-/\@#`, r) && letter(next)
}

// WordOverlap returns the fraction of the words of text that other contains,
// ignoring case and order. If text has no words, WordOverlap returns 1.
func WordOverlap(text, other string) float64 {
	all := wordSet(text)
	if len(all) == 0 {
		return 1
	}
	return float64(countCommon(all, wordSet(other))) / float64(len(all))
}

// countCommon returns the number of words in both sets.
func countCommon(a, b map[string]bool) (n int) {
	for word := range a {
		if b[word] {
			n++
		}
	}
	return n
}

// newWords returns the words of text that other lacks, sorted, ignoring case.
func newWords(text, other string) []string {
	has := wordSet(other)
	words := wordSet(text)
	maps.DeleteFunc(words, func(word string, _ bool) bool { return has[word] })
	return slices.Sorted(maps.Keys(words))
}

// containsNames reports whether other contains every name in text: every
// capitalized word except the first. A script without capitals does not mark
// names, so each of its characters counts as one.
func containsNames(text, other string) bool {
	has := wordSet(other)
	for i, word := range strings.Fields(text) {
		for _, r := range word {
			if isSpaceless(r) && !has[Fold(string(r))] {
				return false
			}
		}
		r, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(word, unicode.IsPunct))
		if i > 0 && unicode.IsUpper(r) && WordOverlap(word, other) < 1 {
			return false
		}
	}
	return true
}

// wordSet returns the set of words of a text. Each character of a script
// without spaces counts as a word.
func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	text = Fold(text)
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
