package index

import (
	"strings"
	"unicode/utf8"
)

// Lengths of encoded data such as base64, hashes and UUIDs, in bytes. Its words
// are found as a whole only, because parts of them occur by chance.
const (
	minHex         = 7  // digits of a hash
	minUUID        = 32 // digits and dashes of several groups
	minBase64      = 24
	minEncodedWord = 7 // shorter words of encoded data are not indexed
	encodedPart    = 4 // length that the parts of base64 do not reach on average
	encodedNumbers = 3 // numbers in base64, at least: names and paths have fewer
)

// An encoded is the last run of characters that encoded data can consist of.
type encoded struct {
	start, end int
	is         bool
}

// contains reports whether the byte at i belongs to encoded data.
func (d *encoded) contains(i int) bool { return d.is && d.start <= i && i < d.end }

// extend reads the run that begins at byte i of s, unless i is inside the last one.
func (d *encoded) extend(s string, i int) {
	if i < d.end || encodedClass[s[i]] == 0 {
		return
	}
	*d = encoded{start: i, end: i}
	var seen byte
	hex := encodedHex // zero after a character that is no hexadecimal digit or dash
	parts, numbers, before := 0, 0, encodedSymbol
	for ; d.end < len(s) && encodedClass[s[d.end]] != 0; d.end++ {
		c := encodedClass[s[d.end]]
		seen |= c
		hex &= c
		kind := c &^ encodedHex
		if kind != before && kind != encodedSymbol && !(before == encodedUpper && kind == encodedLower) {
			parts++
			if kind == encodedDigit {
				numbers++
			}
		}
		before = kind
	}
	n := d.end - d.start
	if n < minHex || seen&encodedDigit == 0 || seen&(encodedLower|encodedUpper) == 0 {
		return
	}
	if hex != 0 {
		d.is = n >= minUUID || !strings.Contains(s[d.start:d.end], "-")
		return
	}
	d.is = n >= minBase64 && seen&encodedLower != 0 && seen&encodedUpper != 0 &&
		n < encodedPart*parts && numbers >= encodedNumbers
}

// Classes of the characters of encoded data.
const (
	encodedLower byte = 1 << iota
	encodedUpper
	encodedDigit
	encodedSymbol
	encodedHex // a hexadecimal digit or a dash
)

// encodedClass holds the class of each character of encoded data, by byte.
var encodedClass = func() (class [256]byte) {
	for c := range class {
		switch r := byte(c); {
		case 'a' <= r && r <= 'z':
			class[c] = encodedLower
		case 'A' <= r && r <= 'Z':
			class[c] = encodedUpper
		case '0' <= r && r <= '9':
			class[c] = encodedDigit
		case strings.IndexByte("+/=-_", r) >= 0:
			class[c] = encodedSymbol
		}
	}
	for _, c := range []byte("0123456789abcdefABCDEF-") {
		class[c] |= encodedHex
	}
	return class
}()

// emitJoined emits the identifier that ends with the word between two bytes: words
// joined by dots (foo.bar), or a word and its symbols (C++, C#).
func (a *analyzer) emitJoined(start, end int) {
	first := start
	if a.joined >= 0 {
		first = a.joined
	}
	a.joined = -1
	rest := a.text[end:]
	switch {
	case len(rest) > 1 && rest[0] == '.' && (classOf(rune(rest[1])) == classLetter || classOf(rune(rest[1])) == classDigit):
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
