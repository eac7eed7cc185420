package letters

import (
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Characters returns the characters of a text, and for each whether it is
// invisible: a reader does not see it, and it has no purpose at its place.
// Invisible are control characters other than line feeds and tabs, line
// separators, controls of the writing direction, tags, and characters without
// width. A few are visible where scripts and emoji need them, each only once after a
// character that is visible by itself: joiners, variation selectors, those
// for ideographs only after Han, the space without width after scripts without
// spaces, and the tags of the flags of England, Scotland and Wales.
//
// If foreign is set, all other characters that Unicode calls ignorable are
// invisible, too, such as soft hyphens and Hangul fillers. They can hide a
// text that a model reads. Bytes that are not UTF-8 are one character each.
func Characters(text string, foreign bool) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		var base rune // last visible character, while at most one mark follows it; 0 for none
		marked, joined := false, false
		for at := 0; at < len(text); {
			r, n := utf8.DecodeRuneInString(text[at:])
			visible := false
			switch {
			case r > ' ' && r < 0x7f:
				visible, base, marked, joined = true, r, false, false
			case r == zeroWidthNonJoiner || r == zeroWidthJoiner:
				visible = base != 0 && !joined
				joined = true
			case unicode.Is(unicode.Variation_Selector, r):
				ideographic := r >= 0xe0100
				visible = base != 0 && !marked && !joined && (!ideographic || unicode.Is(unicode.Han, base))
				marked = true
			case r == zeroWidthSpace:
				visible = unicode.In(base, spacelessScripts...)
				base = 0
			case r == blackFlag && flagLen(text[at:]) > 0:
				n = flagLen(text[at:])
				visible, base, marked, joined = true, r, true, false
			default:
				visible = !Invisible(r) && !(foreign && isIgnorable(r))
				base, marked, joined = r, false, false
				if !visible || unicode.IsSpace(r) {
					base = 0
				}
			}
			if !yield(text[at:at+n], !visible) {
				return
			}
			at += n
		}
	}
}

// FirstInvisible returns the first invisible character of a text, see [Characters].
func FirstInvisible(text string, foreign bool) (r rune, found bool) {
	for char, hidden := range Characters(text, foreign) {
		if hidden {
			r, _ = utf8.DecodeRuneInString(char)
			return r, true
		}
	}
	return 0, false
}

// DropInvisible returns a text without its invisible characters, see
// [Characters].
func DropInvisible(text string, foreign bool) string {
	var b strings.Builder
	for char, hidden := range Characters(text, foreign) {
		if !hidden {
			b.WriteString(char)
		}
	}
	return b.String()
}

// EscapeJSON returns encoded JSON in which the invisible characters of strings, see
// [Characters], are escape sequences of JSON. So the values stay the same for a program, and a
// person or a model sees the characters.
func EscapeJSON(b []byte, foreign bool) []byte {
	if _, found := FirstInvisible(string(b), foreign); !found {
		return b
	}
	var out []byte
	for char, hidden := range Characters(string(b), foreign) {
		r, _ := utf8.DecodeRuneInString(char)
		switch {
		case !hidden:
			out = append(out, char...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

const (
	zeroWidthSpace     = '\u200b'
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
	brailleBlank       = '\u2800'
	blackFlag          = '\U0001f3f4'
)

// spacelessScripts are scripts in which a space without width marks the end of a word.
var spacelessScripts = []*unicode.RangeTable{unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// flagLen returns the length of the flag of a part of a country at the start of
// a text, or 0. These three are the only sequences of tags that Unicode recommends
// for interchange. Programs show the flag for any others, so that the tags
// could hide a text.
func flagLen(text string) int {
	for _, region := range []string{"gbeng", "gbsct", "gbwls"} {
		flag := string(blackFlag) + strings.Map(func(r rune) rune { return r + 0xe0000 }, region+"\x7f")
		if strings.HasPrefix(text, flag) {
			return len(flag)
		}
	}
	return 0
}

// isIgnorable reports whether programs that do not know a character show nothing in its place
// (the property Default_Ignorable_Code_Point), or a blank in its place.
func isIgnorable(r rune) bool {
	return r == brailleBlank ||
		unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
			!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// Invisible reports whether r is invisible at every place, see [Characters].
func Invisible(r rune) bool {
	switch {
	case r == '\n', r == '\t', r >= ' ' && r < 0x7f:
		return false
	case unicode.IsControl(r), r == '\u2028', r == '\u2029', unicode.Is(unicode.Bidi_Control, r):
		return true
	}
	return r == '\u180e' || r == zeroWidthSpace || r >= 0x2060 && r <= 0x206f || r == '\ufeff' ||
		r >= 0xfff9 && r <= 0xfffb ||
		r >= 0xe0000 && r <= 0xe007f
}
