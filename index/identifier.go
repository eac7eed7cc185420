package index

import (
	"strings"
	"unicode/utf8"
)

// emitJoined emits the identifier that ends with the word between two bytes: words
// joined by dots (foo.bar), letters with a number (API-1234), or a word and its symbols
// (C++, C#).
func (a *analyzer) emitJoined(start, end int) {
	first := start
	if a.joined >= 0 {
		first = a.joined
	}
	a.joined = -1
	rest := a.text[end:]
	switch {
	case len(rest) > 1 && rest[0] == '.' &&
		(classOf(rune(rest[1])) == classLetter || classOf(rune(rest[1])) == classDigit):
		a.joined = first
		return
	case len(rest) > 1 && rest[0] == '-' && first == start && classOf(rune(rest[1])) == classDigit &&
		classOf(rune(a.text[end-1])) == classLetter:
		a.joined = first
		return
	case strings.HasPrefix(rest, "++") && !continues(rest[2:]):
		end += 2
	case strings.HasPrefix(rest, "#") && end-first <= 2 && !continues(rest[1:]):
		end++
	case first == start, isAbbreviation(a.text[first:end]):
		return
	}
	term := strings.ToLower(a.text[first:end])
	if len(term) > maxWord || strings.ContainsFunc(term, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return
	}
	a.emit(token{term: term, start: first, end: end, subword: true, joined: true})
}

// isAbbreviation reports whether dots separate single characters (e.g, U.S).
func isAbbreviation(s string) bool {
	for i := 1; i < len(s); i += 2 {
		if s[i] != '.' {
			return false
		}
	}
	return len(s)%2 == 1
}

// continues reports whether a word or its symbols continue with s.
func continues(s string) bool {
	return s != "" && (classOf(firstRune(s)) != classNone || s[0] == '+' || s[0] == '#')
}
