package index

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// FuzzTokens compares the tokens of a text with those that reading each segment
// of the normalization by itself produces.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{
		"e-mail C-3 1.26/x U.S ａ-ｂ.c a\u2011b O'Brien rock'n'roll", "Hello, ABC ABc aB x_y don't dog's HTTPServer2 foo.bar e.g. C++ C# __a 3abc", "Public™ e\u0301te\u0301 İı ﬁ ｆｕｌｌ ①² ß",
		"漢字かか\u3099ｱﾞー々 한국 ᄒ\u1161\u11ab ไทยน้ำ\u0e38\u0e48 က\u1039က", "слово и\u0306 العربية\u064b \xff \xe4\xb8 a\u200db",
		"\u00adback\u00adup\u00ad 漢\u00ad字 ｆ\u00adｕ l'été L’e\u0301t qu＇il's ｄ'a dell''a l''s t'",
		"skies dying generously yes ugly idly inning ies ated", "deadbeef12 QmFzZTY0RGF0YQ1x2y3z4w5 " + strings.Repeat("a", 70), strings.Repeat("\u0301", 40) + "b",
	} {
		f.Add(s)
	}
	a := newAnalyzer()
	f.Fuzz(func(t *testing.T, s string) {
		var got, want []token
		a.eachToken(s, func(t token) { got = append(got, t) })
		a.only = new(initials)
		for _, t := range got {
			if c := t.term[0]; c < utf8.RuneSelf {
				a.only[c] = true
			}
		}
		a.eachToken(s, func(t token) { want = append(want, t) })
		a.only = nil
		if !slices.Equal(got, want) {
			t.Errorf("%q with the initials of its terms:\n%v\nwant\n%v", s, want, got)
		}
		want = nil
		a.emit, a.text, a.joined, a.run = func(t token) { want = append(want, t) }, s, wordRange{}, runState{}
		a.word = a.word[:0]
		for i := 0; i < len(s); {
			n := 1
			if s[i] >= utf8.RuneSelf || i+1 < len(s) && s[i+1] >= utf8.RuneSelf {
				n = max(1, norm.NFKC.NextBoundaryInString(s[i:], true))
			}
			seg := s[i : i+n]
			if !norm.NFKC.IsNormalString(seg) {
				for _, r := range norm.NFKC.String(seg) {
					a.readRune(r, i, i+n, false)
				}
			} else {
				for j, r := range seg {
					a.readRune(r, i+j, i+j+utf8.RuneLen(r), false)
				}
			}
			i += n
		}
		a.flushWord()
		if !slices.Equal(got, want) {
			t.Errorf("%q:\n%v\nwant\n%v", s, got, want)
		}
	})
}
