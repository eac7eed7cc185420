package term

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/letters"
)

// EscapeLine returns s for one line of a terminal. It writes characters that
// would move the cursor, end the line, change the direction of writing or stay
// invisible as escape sequences, so that the terminal cannot show a text that s
// does not contain.
func EscapeLine(s string) string { return escapeHarmful(s, false, false) }

// EscapeName is EscapeLine for the name of a file, which may differ from another one in a
// soft hyphen or a Hangul filler only: it escapes these, too.
func EscapeName(s string) string { return escapeHarmful(s, false, true) }

// EscapeText is EscapeLine for text of several lines: it keeps newlines and
// tabs.
func EscapeText(s string) string { return escapeHarmful(s, true, false) }

// escapeHarmful escapes control characters and invisible characters. If lines is set, it keeps
// newlines and tabs; if foreign is set, it escapes soft hyphens and fillers, too.
func escapeHarmful(s string, lines, foreign bool) string {
	if utf8.ValidString(s) && (lines || !strings.ContainsAny(s, "\n\t")) {
		if _, found := letters.FirstInvisible(s, foreign); !found {
			return s
		}
	}
	var b strings.Builder
	i := 0
	for char, hidden := range letters.Characters(s, foreign) {
		i += len(char)
		r, n := utf8.DecodeRuneInString(char)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, char[0])
		case !hidden && (lines || r != '\n' && r != '\t'):
			b.WriteString(char)
		case lines && r == '\r' && strings.HasPrefix(s[i:], "\n"): // first half of a line ending
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
