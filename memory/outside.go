package memory

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text that programs give is data: it becomes one block of a file, and says
// nothing to those who read the file's structure. [CheckText] refuses what
// cannot be told from structure; [Line] and [ListItem] make the rest into text.

// CheckText says why a text from outside is not put into a file, or nil: it has
// a comment, a tag that hides text, or a marker of ours, or it is not text.
func CheckText(text string) error {
	switch {
	case !utf8.ValidString(text):
		return errors.New("the text is not valid UTF-8")
	case strings.Contains(text, "<!--"), strings.Contains(text, "-->"):
		return errors.New("the text has a comment (<!-- -->), which would be taken for attributes; leave it out")
	case strings.Contains(text, markerWord):
		return errors.New("the text has a marker of generated text; leave it out")
	}
	for _, r := range text {
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f {
			return fmt.Errorf("the text has the control character %U; leave it out", r)
		}
	}
	flat := strings.Join(words(text), " ") // as Line would have it
	for at := range len(flat) {
		if flat[at] != '<' {
			continue
		}
		if n, _ := privateTag([]byte(flat[at:] + " >")); n > 0 { // what follows the text may close it
			return errors.New("the text has a <private> tag; set its visibility instead")
		}
	}
	for line := range strings.Lines(text + "\n" + flat) {
		if Injected(strings.TrimSpace(line)) {
			return errors.New("the text has the header of a block of injected memory; leave that block out")
		}
	}
	return nil
}

// markerWord is in the markers of generated text.
const markerWord = "memwatchd:generated"

// Line is a text from outside as one line of Markdown: what breaks lines is a
// space, but for one behind a wide comma or the like, it begins no block but a
// paragraph, and it ends with nothing that would name it.
func Line(text string) string {
	return escapeEnd(escapeStart(strings.Join(words(text), " ")))
}

// HeadingText is a text from outside as that of a heading: one line, which ends
// with nothing that would be left out as the heading's end.
func HeadingText(text string) string {
	words := words(text)
	if n := len(words) - 1; n >= 0 && strings.Trim(words[n], "#") == "" {
		words[n] = `\` + words[n]
	}
	return strings.Join(words, " ")
}

// words are what white space, or a byte order mark, separates.
func words(text string) []string {
	return strings.FieldsFunc(unbroken(text), func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
}

// wideBreak is a line break behind a mark of Chinese or Japanese, which has its
// space in itself.
var wideBreak = regexp.MustCompile(`([\x{3001}-\x{3003}\x{3008}-\x{3011}\x{3014}-\x{301F}\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF20}])[ \t]*[\r\n]\s*`)

// unbroken is a text without the line breaks that need no space in their place.
func unbroken(text string) string {
	if !strings.ContainsAny(text, "\r\n") {
		return text
	}
	return wideBreak.ReplaceAllString(text, "$1")
}

// ListItem is a text from outside as one item of a list: its lines, but for
// blank ones, are those of one paragraph in the item.
func ListItem(text string) string {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\r", "\n")) {
		if line = Line(line); line != "" {
			lines = append(lines, line)
		}
	}
	return "- " + strings.Join(lines, "\n  ")
}

// escapeStart puts a backslash before what would begin a block, or a task, at
// the beginning of a line.
func escapeStart(s string) string {
	if s == "" {
		return ""
	}
	n := len(s) - len(strings.TrimLeft(s, "0123456789"))
	switch c := s[0]; {
	case n > 0 && n < 10 && n < len(s) && (s[n] == '.' || s[n] == ')') && (n+1 == len(s) || s[n+1] == ' '):
		return s[:n] + `\` + s[n:]
	case strings.IndexByte("#>-+*_=~`|<[:", c) >= 0 && startsBlock(s):
		return `\` + s
	}
	return s
}

// escapeEnd puts a backslash before what would be the id of a block at the end of
// a line.
func escapeEnd(s string) string {
	id, _ := anchor(s)
	if id == "" {
		return s
	}
	at := strings.LastIndexByte(s, '^')
	return s[:at] + `\` + s[at:]
}

// startsBlock reports whether a line that begins with a special character would
// begin, or continue, something other than a paragraph.
func startsBlock(s string) bool {
	switch s[0] {
	case '#':
		hashes := runLen([]byte(s), '#')
		return hashes == len(s) || s[hashes] == ' '
	case '-', '+', '*', '_', '=':
		return len(s) == 1 || s[1] == ' ' || strings.Trim(s, s[:1]+" ") == "" || strings.Trim(s, "-:| ") == ""
	case '~', '`':
		return runLen([]byte(s), s[0]) > 2
	case '[':
		return len(s) > 2 && s[2] == ']' && (len(s) == 3 || s[3] == ' ') || strings.Contains(s, "]:")
	case ':':
		return strings.Trim(s, "-:| ") == ""
	}
	return true
}

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
