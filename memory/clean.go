package memory

import (
	"strings"
	"unicode"
)

// CleanLine makes any text into a line that [CheckText] takes, for texts whose
// author nobody can ask: what would be structure of ours is written so that it
// reads the same and means nothing, and characters that cannot be seen, but
// change how others look, are left out.
func CleanLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\u200e', r == '\u200f':
			return -1 // they turn the direction of what follows
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	text = strings.Join(words(text), " ")
	text = strings.ReplaceAll(text, "-->", "--&gt;")
	text = strings.ReplaceAll(text, "<!--", "&lt;!--")
	text = strings.ReplaceAll(text, markerWord, "memwatchd: generated")
	var b strings.Builder
	if Injected(strings.TrimSpace(text)) {
		b.WriteByte('\\')
	}
	for at := range len(text) {
		if text[at] == '<' {
			if n, _ := privateTag([]byte(text[at:])); n > 0 {
				b.WriteString("&lt;")
				continue
			}
		}
		b.WriteByte(text[at])
	}
	return b.String()
}
