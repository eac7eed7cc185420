package memory

import (
	"slices"
	"strings"
)

// WriteForms returns ways to write client-supplied text as one block, best
// first, without the lines that are blank at its ends. Text of one line becomes a
// paragraph, or a list item if item is set. Text of several lines becomes a list
// item with the other lines indented below the first. Whether a form parses to
// one entry with this text depends on the text: [Entry.Content] returns it.
func WriteForms(text string, item bool) []string {
	text = TrimText(text)
	lines := strings.Split(text, "\n")
	for i := range lines {
		if i > 0 && lines[i] != "" {
			lines[i] = "  " + lines[i]
		}
	}
	first := escapeStart(lines[0])
	if len(lines) > 1 && !strings.HasPrefix(lines[0], "[") {
		first = lines[0] // blocks may begin here, but not a task
	}
	below := "-\n  " + strings.Join(lines, "\n")
	lines[0] = "- " + first
	forms := []string{strings.Join(lines, "\n"), below}
	if len(lines) > 1 {
		return forms
	}
	forms[0] = escapeEnd(forms[0])
	if !item {
		forms = slices.Insert(forms, 0, escapeEnd(first))
	}
	return forms
}

// TrimText returns text with unix line endings and without blank lines at its ends
// and white space at its end. Text of one line has no white space at its start
// either.
func TrimText(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	text = strings.TrimRight(text, " \t\n")
	for {
		line, rest, more := strings.Cut(text, "\n")
		if !more {
			return strings.TrimSpace(text)
		}
		if strings.TrimSpace(line) != "" {
			return text
		}
		text = rest
	}
}

// Content returns the text of the entry without list marker, indentation and
// the escapes of [WriteForms]: the text from which WriteForms made the block.
func (e *Entry) Content() string {
	if e.Block != Item {
		return unescapeLine(e.Text)
	}
	lines := strings.Split(e.Text, "\n")
	head := strings.TrimLeft(lines[0], " ")
	first, ok := strings.CutPrefix(head, "- ")
	for i, line := range lines[1:] {
		n := len(line) - len(strings.TrimLeft(line, " "))
		lines[i+1] = line[min(n, 2):]
	}
	switch {
	case ok && (len(lines) == 1 || strings.HasPrefix(first, `\[`)):
		lines[0] = unescapeLine(first)
	case ok:
		lines[0] = first
	case head == "-":
		lines = lines[1:]
	}
	return strings.Join(lines, "\n")
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
