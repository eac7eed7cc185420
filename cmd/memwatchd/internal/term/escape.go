package term

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/memory"
)

// EscapeLine returns s for one line of a terminal. It writes characters that
// would move the cursor, end the line, change the direction of writing or stay
// invisible as escape sequences, so that the terminal cannot show a text that s
// does not contain.
func EscapeLine(s string) string { return escapeHarmful(s, false) }

// EscapeText is EscapeLine for text of several lines: it keeps newlines and
// tabs.
func EscapeText(s string) string { return escapeHarmful(s, true) }

// EscapeAttr escapes the text of a log attribute for a terminal. It is a
// ReplaceAttr function of [slog.HandlerOptions].
func EscapeAttr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(EscapeLine(v))
	case error:
		a.Value = slog.StringValue(EscapeLine(v.Error()))
	}
	return a
}

func escapeHarmful(s string, lines bool) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return IsHarmful(r, lines) }) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	var last rune // previous character
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !IsHarmful(r, lines), r == zeroWidthSpace && unicode.In(last, spacelessScripts...):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			if lines && i+1 < len(s) && s[i+1] == '\n' {
				break // first half of a line ending
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

// EscapeJSON returns encoded JSON in which the harmful characters of strings are
// escape sequences of JSON. So the values stay the same for a program, and a
// terminal shows the characters.
func EscapeJSON(b []byte) []byte {
	if !bytes.ContainsFunc(b, func(r rune) bool { return IsHarmful(r, true) }) {
		return b
	}
	var out []byte
	for _, r := range string(b) {
		switch {
		case !IsHarmful(r, true):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// zeroWidthSpace allows a line break in scripts without spaces. In other
// scripts it can split a word invisibly.
const zeroWidthSpace = '\u200b'

var spacelessScripts = []*unicode.RangeTable{unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// IsHarmful reports whether r is a control character, a line separator, an
// invisible character or a character that changes the direction of writing. If
// lines is set, newlines and tabs are harmless.
func IsHarmful(r rune, lines bool) bool {
	return memory.Invisible(r) || !lines && (r == '\n' || r == '\t')
}
