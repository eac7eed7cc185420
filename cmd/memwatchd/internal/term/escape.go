package term

import (
	"fmt"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf8"
)

// EscapeLine is text for one line of a terminal: what would move the cursor,
// end the line or turn the direction of writing is shown as what it is, so that
// nobody can be shown something that does not stand there.
func EscapeLine(s string) string { return escape(s, false) }

// EscapeText is the same for text of several lines.
func EscapeText(s string) string { return escape(s, true) }

// Harmless is an attribute of a log whose text is for a terminal, too.
func Harmless(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(EscapeLine(v))
	case error:
		a.Value = slog.StringValue(EscapeLine(v.Error()))
	}
	return a
}

func escape(s string, lines bool) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return Harmful(r, lines) }) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	var last rune // before this one
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !Harmful(r, lines), r == zeroWidthSpace && unicode.In(last, unspaced...):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			if lines && i+1 < len(s) && s[i+1] == '\n' {
				break // the other half of a line's end
			}
			b.WriteString(`\r`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		last = r
		i += n
	}
	return b.String()
}

// zeroWidthSpace is where a line may be broken in scripts without spaces, and
// elsewhere hides that a word is none.
const zeroWidthSpace = '\u200b'

var unspaced = []*unicode.RangeTable{unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// Harmful tells control characters, separators of lines and the characters that
// change the direction of writing or hide.
func Harmful(r rune, lines bool) bool {
	if lines && (r == '\n' || r == '\t') {
		return false
	}
	switch {
	case unicode.IsControl(r), r == '\u2028', r == '\u2029':
		return true
	case unicode.Is(unicode.Bidi_Control, r):
		return true
	case r == '\ufeff', r >= 0xe0000 && r <= 0xe007f: // invisible: a mark of byte order, tags
		return true
	case r == zeroWidthSpace, r == '\u180e', r >= 0x2060 && r <= 0x206f, r >= 0xfff9 && r <= 0xfffb: // likewise
		return true
	}
	return false // those that join emoji, or letters of Persian, are wanted
}
