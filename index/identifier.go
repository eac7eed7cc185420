package index

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/memwatchd/memwatchd/internal/letters"
)

// maxJoined bounds the hyphens and slashes in a name. Longer ones, such as most URLs, are
// found by their words.
const maxJoined = 2

// maxName bounds the bytes of a name before and after a joint.
const maxName = 64

// emitJoined emits the identifiers that end with the word between two bytes: the word and
// its symbols (C++, C#), and, as one word, the word and the one that a hyphen, a slash or
// a dot joins to it (email for e-mail, nodejs for Node.js). Between digits, a dot remains.
func (a *analyzer) emitJoined(start, end int) {
	first := a.joined
	a.joined = wordRange{}
	switch rest := a.text[end:]; {
	case isJoint(rest) && (rest[0] == '.' || a.countJoints(end) <= maxJoined):
		a.joined = wordRange{start, end}
	case strings.HasPrefix(rest, "++") && !continues(rest[2:]):
		a.emitSymbols(start, end+2)
	case strings.HasPrefix(rest, "#") && end-start <= 2 && !continues(rest[1:]):
		a.emitSymbols(start, end+1)
	}
	if first.end == 0 {
		return
	}
	w := appendRunes(nil, a.text, first)
	n, isDot := len(w), a.text[first.end] == '.'
	w = appendRunes(w, a.text, wordRange{start, end})
	switch areDigits := unicode.IsDigit(w[n-1].r) && unicode.IsDigit(w[n].r); {
	case isDot && areDigits:
		w = append(w[:n], append([]wordRune{{'.', first.end, start}}, w[n:]...)...)
	case areDigits, isDot && len(w) == 2: // a date or a range, and an abbreviation
		return
	}
	if len(w) <= maxWord {
		term, _ := a.termOf(w)
		a.emit(token{term: term, start: first.start, end: end, subword: true, joined: true})
	}
}

// isJoint reports whether a text begins with a character that joins words, and another word.
func isJoint(s string) bool {
	s = strings.TrimPrefix(s, ":") // of a double colon
	r, n := utf8.DecodeRuneInString(s)
	switch r {
	case ':', '-', '/', '.', '\u2010', '\u2011', '\u200c': // with the half-space of Persian
		c := classOf(firstRune(s[n:]))
		return c == classLetter || c == classDigit
	}
	return false
}

// countJoints returns the number of hyphens and slashes in the name around a byte of the
// text.
func (a *analyzer) countJoints(at int) int {
	isOutside := func(r rune) bool { return classOf(r) == classNone && !strings.ContainsRune("-/.:", r) }
	before, after := a.text[max(0, at-maxName):at], a.text[at:min(len(a.text), at+maxName)]
	before = before[strings.LastIndexFunc(before, isOutside)+1:]
	if end := strings.IndexFunc(after, isOutside); end >= 0 {
		after = after[:end]
	}
	name := before + after
	return strings.Count(name, "-") + strings.Count(name, "/")
}

// appendRunes appends the characters of a word of a text, normalized.
func appendRunes(w []wordRune, text string, word wordRange) []wordRune {
	for _, r := range norm.NFKC.String(text[word.start:word.end]) {
		if r != softHyphen {
			w = append(w, wordRune{r, word.start, word.end})
		}
	}
	return w
}

// emitSymbols emits a word with its symbols.
func (a *analyzer) emitSymbols(start, end int) {
	term := letters.Fold(a.text[start:end])
	if len(term) <= maxWord {
		a.emit(token{term: term, start: start, end: end, subword: true, joined: true})
	}
}

// continues reports whether a word or its symbols continue with s.
func continues(s string) bool {
	return s != "" && (classOf(firstRune(s)) != classNone || s[0] == '+' || s[0] == '#')
}
