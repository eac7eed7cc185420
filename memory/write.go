package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/letters"
)

// Client-supplied text is data: it becomes one block of a file and must not
// change the file's structure. [CheckText] rejects text that cannot be
// distinguished from structure. lineOf and [ListItem] escape the rest.

// CheckText returns an error if client-supplied text must not be written to a
// file, because it contains a comment, a <private> tag, a marker of memwatchd
// or characters that are not text.
func CheckText(text string) error {
	switch {
	case !utf8.ValidString(text):
		return CheckValue(text)
	case strings.Contains(text, "<!--"), strings.Contains(text, "-->"):
		return errors.New("text contains a comment (<!-- -->); remove the comment")
	case strings.Contains(text, markerWord):
		return errors.New("text contains a marker of generated text; remove the marker")
	}
	if hasPercentComment(text) {
		return errors.New("text contains a comment (%% %%), which is not indexed; remove the comment")
	}
	// Line writes these words. Text that follows may close the tag.
	if HasPrivateTag(strings.Join(textWords(text), " ") + " >") {
		return errors.New("text contains a <private> tag; set visibility instead")
	}
	return CheckValue(text)
}

// CheckValue returns an error if client-supplied text must not be the value of an
// item. A [Put] escapes comments, tags and carriage returns, so a
// value may contain them.
func CheckValue(text string) error {
	if !utf8.ValidString(text) {
		return errors.New("text is not valid UTF-8")
	}
	for char, hidden := range letters.Characters(text, false) {
		r, _ := utf8.DecodeRuneInString(char)
		if hidden && letters.Invisible(r) && !strings.ContainsRune(harmless, r) {
			return fmt.Errorf("text contains the control character %U; remove the character", r)
		}
	}
	flat := strings.Join(textWords(text), " ")
	for line := range strings.Lines(text + "\n" + flat) {
		if IsInjectedHeader(strings.TrimSpace(line)) {
			return errors.New("text contains a block of injected memory; remove the block")
		}
	}
	return nil
}

// harmless are the invisible characters that a person may write: carriage returns, and the marks
// of the direction of a word, which affect only the characters beside them.
const harmless = "\r\u200e\u200f\u061c"

// lineOf returns client-supplied text as one line of Markdown. Line breaks become
// spaces. The line is escaped so that it can only begin a paragraph, and does not
// end with a block id.
func lineOf(text string) string {
	return escapeEnd(escapeStart(strings.Join(textWords(text), " ")))
}

// headingText returns client-supplied text as the text of a heading. It escapes
// a closing sequence of hashes, which would not be part of the text.
func headingText(text string) string {
	words := textWords(text)
	if n := len(words) - 1; n >= 0 && strings.Trim(words[n], "#") == "" {
		words[n] = `\` + words[n]
	}
	return strings.Join(words, " ")
}

// ListItem returns client-supplied text as one list item. Its lines, without
// blank ones, form one paragraph in the item.
func ListItem(text string) string {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\r", "\n")) {
		line = lineOf(line)
		if line != "" {
			lines = append(lines, line)
		}
	}
	return "- " + strings.Join(lines, "\n  ")
}

// blockRE matches the start of a line that would begin, or continue, a block other than a
// paragraph, or a task. Group 1 is the number of an item.
var blockRE = lazyregexp.New(`(?s)^(?:([0-9]{1,9})[.)](?: |$)|#+(?: |$)|[-+*_=](?: |$)|(?:- *)+$|(?:\+ *)+$|(?:\* *)+$|` +
	`(?:_ *)+$|(?:= *)+$|[-:][-:| ]*$|~~~|` + "```" + `|\[[[:ascii:]]\](?: |$)|\[.*\]:|%%|[>|<])`)

// escapeStart escapes text that would begin a block or a task at the start of a
// line.
func escapeStart(s string) string {
	m := blockRE().FindStringSubmatchIndex(s)
	if m == nil {
		return s
	}
	at := max(m[3], 0)
	return s[:at] + `\` + s[at:]
}

// escapeEnd escapes text that would be a block id at the end of a line.
func escapeEnd(s string) string {
	id, _ := splitAnchor(s)
	if id == "" {
		return s
	}
	at := strings.LastIndexByte(s, '^')
	return s[:at] + `\` + s[at:]
}

// CleanLine converts any text to a line that [CheckText] accepts. It is for
// texts whose author cannot correct them. It replaces structural text with text
// that looks the same and has no effect, and removes invisible characters that
// change the look of others.
func CleanLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	text = letters.DropInvisible(text, true)
	text = strings.Join(textWords(text), " ")
	text = strings.ReplaceAll(text, "-->", "--&gt;")
	text = strings.ReplaceAll(text, "<!--", "&lt;!--")
	text = strings.ReplaceAll(text, markerWord, "memwatchd: generated")
	var b strings.Builder
	if IsInjectedHeader(strings.TrimSpace(text)) {
		b.WriteByte('\\')
	}
	for at := range len(text) {
		if text[at] == '<' {
			if privateStartRE().MatchString(text[at:] + " >") { // as in CheckText
				b.WriteString("&lt;")
				continue
			}
		}
		b.WriteByte(text[at])
	}
	return escapePercent(b.String())
}

// escapePercent escapes the comments of Obsidian in a text, so that they are found.
func escapePercent(text string) string {
	if !hasPercentComment(text) {
		return text
	}
	return strings.ReplaceAll(text, "%%", "%&#37;")
}

// indentBelow indents the lines of a text below the first one, except empty ones.
func indentBelow(text, indent string) string {
	return belowRE().ReplaceAllString(text, "\n"+indent+"$1")
}

var belowRE = lazyregexp.New(`\n([^\n])`)

// TrimText returns text with unix line endings and without blank lines at its ends
// and white space at its end. Text of one line has no white space at its start
// either.
func TrimText(text string) string {
	lines := trimBlank(strings.Split(strings.TrimRight(unixLines(text), " \t\n"), "\n"))
	if len(lines) == 1 {
		return strings.TrimSpace(lines[0])
	}
	return strings.Join(lines, "\n")
}

// Content returns the text of the entry without list marker, indentation and
// the escapes of a [Put]: the text from which the block was made.
func (e *Entry) Content() string {
	if e.Block != Item {
		return unescapeLine(e.Text)
	}
	lines := strings.Split(e.Text, "\n")
	head := strings.TrimLeft(lines[0], " ")
	marker := listMarker(head)
	width := len(lines[0]) - len(head) + len(marker) + 1 // of the indentation below
	first, ok := strings.CutPrefix(head, marker+" ")
	for i, line := range lines[1:] {
		n := len(line) - len(strings.TrimLeft(line, " "))
		lines[i+1] = line[min(n, width):]
	}
	switch {
	case ok && (len(lines) == 1 || strings.HasPrefix(first, `\[`)):
		lines[0] = unescapeLine(first)
	case ok:
		lines[0] = first
	case head == marker:
		lines = lines[1:]
	}
	return strings.Join(lines, "\n")
}

// Remembered returns the text of an entry of long-term memory, as [Entry.Content] does,
// without the date on which it was added. One line keeps its title.
func (e *Entry) Remembered() string {
	text := cutAdded(e.Content(), e.Added)
	first, below, several := strings.Cut(text, "\n")
	if _, rest := splitTitle(first); several && e.Title != "" && rest == "" &&
		strings.HasPrefix(trimMarkers(e.Text), first) { // not below an empty marker
		return strings.TrimPrefix(below, "\n")
	}
	return text
}

// cutAdded cuts the date on which a text was added from its end.
func cutAdded(text, day string) string {
	for _, gap := range []string{"\n\n", "\n", " "} {
		if before, ok := strings.CutSuffix(text, gap+"(added "+day+")"); ok {
			return before
		}
	}
	return text
}

// unescapeLine returns the text from which escapeStart and escapeEnd make line, or
// line itself.
func unescapeLine(line string) string {
	text := line
	if at := strings.LastIndex(text, `\^`); at >= 0 {
		if plain := text[:at] + text[at+1:]; escapeEnd(plain) == text {
			text = plain
		}
	}
	n := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if n < len(text) && text[n] == '\\' {
		if plain := text[:n] + text[n+1:]; escapeStart(plain) == text {
			text = plain
		}
	}
	return text
}

// NewTask returns client-supplied text as the text of a task with a due date, which may be
// empty. It returns an error if the text is not that of one task, or if a due date is
// given and the text contains another one.
func NewTask(text, due string) (string, error) {
	line := escapeEnd(strings.Join(textWords(text), " "))
	_, fields := cutTaskFields(line)
	switch found := fields.due; {
	case due != "" && found != "" && found != due:
		return "", fmt.Errorf("text contains another due date, %s", found)
	case due != "" && found == "":
		line += " 📅 " + due
	}
	if TaskNorm(line) == "" {
		return "", errors.New("text has no words")
	}
	return line, nil
}

// hasPercentComment reports whether a text contains a comment of Obsidian outside
// code, as written or on one line.
func hasPercentComment(text string) bool {
	if !strings.Contains(text, string(percentMark)) {
		return false
	}
	return slices.ContainsFunc([]string{"\n" + text, strings.Join(textWords(text), " ")},
		func(s string) bool { return new(Layout).Parse("a.md", []byte(s), Meta{}).percent })
}
