package term

import (
	"fmt"
	"strings"
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

func escapeHarmful(s string, lines bool) string {
	if utf8.ValidString(s) && (lines || !strings.ContainsAny(s, "\n\t")) {
		if _, found := memory.FirstInvisible(s, false); !found {
			return s
		}
	}
	var b strings.Builder
	i := 0
	for char, hidden := range memory.Characters(s, false) {
		i += len(char)
		r, n := utf8.DecodeRuneInString(char)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, char[0])
		case !hidden && (lines || r != '\n' && r != '\t'):
			b.WriteString(char)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			if lines && strings.HasPrefix(s[i:], "\n") {
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
	}
	return b.String()
}
