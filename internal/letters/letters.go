// Package letters folds letters and digits into the form in which words are compared:
// by Unicode case folding, without accents, and with the digits of ASCII. It also finds the
// characters of a text that a reader does not see.
package letters

import (
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// bases contains the letters whose base letter does not follow from Unicode, and the
// characters that people leave out. Cyrillic й is a letter of its own.
var bases = map[rune]string{
	'đ': "d", 'ð': "d", 'þ': "th", 'ħ': "h", 'ı': "i", 'ø': "o", 'ł': "l", 'æ': "ae", 'œ': "oe", 'ß': "ss",
	'ŧ': "t", 'ŋ': "n", 'ɓ': "b", 'ɗ': "d", 'ɖ': "d", 'ƙ': "k", 'ƴ': "y", 'й': "й",
	'ی': "ي", 'ى': "ي", 'ک': "ك", 'ہ': "ه", 'ھ': "ه", // Persian, Egyptian and Urdu forms
	'\u093c': "", '\u0a3c': "", '\u0abc': "", // nukta
	'\u00ad': "", '\u200c': "", '\u200d': "", // soft hyphen, half-space, joiner
	'ʻ': "", 'ʼ': "", 'ʾ': "", 'ʿ': "", // modifiers that are often written as apostrophes
}

// folded caches the folded characters.
var folded [1 << 16]atomic.Pointer[string]

// Append appends a character of a text in NFKC, folded. Some fold to nothing.
func Append(b []byte, r rune) []byte {
	switch {
	case 'A' <= r && r <= 'Z':
		return append(b, byte(r|0x20))
	case r < utf8.RuneSelf:
		return append(b, byte(r))
	case int(r) >= len(folded):
		return append(b, foldRune(r)...)
	}
	s := folded[r].Load()
	if s == nil {
		f := foldRune(r)
		s = &f
		folded[r].Store(s)
	}
	return append(b, *s...)
}

func foldRune(r rune) string {
	var b []byte
	for _, r := range cases.Fold().String(string(r)) {
		b = AppendBase(b, r)
	}
	return string(b)
}

// AppendBase is Append for letters that keep their case.
func AppendBase(b []byte, r rune) []byte {
	base, ok := bases[r]
	switch {
	case ok:
		return append(b, base...)
	case r < utf8.RuneSelf:
	case unicode.IsDigit(r):
		r = digitOf(r)
	case unicode.Is(unicode.Mn, r) && unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Inherited):
		return b // vowel signs and accents
	case unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic):
		if d, _ := utf8.DecodeRuneInString(norm.NFD.String(string(r))); d != r {
			return AppendBase(b, d)
		}
	}
	return utf8.AppendRune(b, r)
}

// digitOf returns the digit of ASCII with the value of a digit. The digits of a script are
// ten successive characters, from zero on.
func digitOf(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	return r
}

// Fold returns a text with all of its characters folded.
func Fold(s string) string {
	var b []byte
	for _, r := range norm.NFKC.String(s) {
		b = Append(b, r)
	}
	return strings.ToValidUTF8(string(b), "\ufffd")
}

// FoldCase returns a form of s that ignores differences in case, width and white
// space.
func FoldCase(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			s = norm.NFKC.String(s)
			if low := strings.ToLower(s); low != s {
				s = strings.ToLower(norm.NFKC.String(low))
			}
			return OneLine(s)
		case c == ' ' || '\t' <= c && c <= '\r':
			continue
		case b.Len() > 0 && (s[i-1] == ' ' || '\t' <= s[i-1] && s[i-1] <= '\r'):
			b.WriteByte(' ')
		}
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		b.WriteByte(c)
	}
	return b.String()
}

// OneLine joins the lines of a text into one.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
