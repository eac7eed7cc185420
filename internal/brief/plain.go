package brief

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/memory"
)

// Mark precedes every line of text written by others than its subject. If the
// text itself contains the mark, a backslash is inserted before it, so that
// only memwatchd can write an unescaped mark.
const Mark = api.UntrustedMark

// structureRE matches lines that are, or resemble, the structure of a block:
// headers, titles of files, and the marks of cuts.
var structureRE = lazyregexp.New(`^(?:\[Memory:|\[…|#{1,6}\s*\[(?:` + tagIdentity + `|` + tagRecent + `|` +
	tagMain +
	`|` + tagSession + `)\]|` +
	regexp.QuoteMeta(memory.GeneratedOpen) + `|` + regexp.QuoteMeta(memory.GeneratedClose) + `|` +
	regexp.QuoteMeta(memory.FilteredHeader) + `)`)

// Quoted is text of memory in its form for a model. Only [Quote], [Line]
// and the blocks of this package make it of text that is not constant.
type Quoted string

// Quote returns a text of memory for use on lines of its own, outside a block.
// Every line of an untrusted text has the mark. A trusted text has no unescaped
// mark. Invisible characters are removed.
func Quote(text string, untrusted bool) Quoted {
	if !untrusted {
		return Quoted(strings.ReplaceAll(letters.DropInvisible(text, false), Mark, `\`+Mark))
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = insertMark(escapeLine(line, true))
	}
	return Quoted(strings.Join(lines, "\n"))
}

// Line returns the nonempty fields of an entry, such as its place and its text, as one line.
// If the entry is untrusted, or a field names a file in an inbox, the mark comes first: the
// writer of an untrusted entry has also chosen its key, its headings and the name of its file.
func Line(untrusted bool, fields ...string) Quoted {
	line := strings.Join(slices.DeleteFunc(fields, func(f string) bool { return f == "" }), " | ")
	return Quoted(markLine(escapeLine(line, untrusted), untrusted || memory.NamesInbox(line)))
}

// markLine returns a line with the mark before it if it is untrusted.
func markLine(line string, untrusted bool) string {
	if untrusted && line != "" {
		return Mark + " " + line
	}
	return line
}

// quoteLine returns a line of a file in the form that it has in a block: a line that
// resembles structure gets a backslash before it, as in Markdown.
func quoteLine(line string, untrusted bool) string {
	line = escapeLine(line, untrusted)
	rest := strings.TrimLeft(line, " \t")
	if structureRE().MatchString(rest) {
		line = line[:len(line)-len(rest)] + `\` + rest
	}
	if untrusted {
		return insertMark(line)
	}
	return line
}

// escapeLine joins a text to one line and escapes marks and prompt tags.
func escapeLine(line string, untrusted bool) string {
	return escapeMarks(strings.Map(func(r rune) rune {
		if isLineBreak(r) {
			return ' '
		}
		return r
	}, line), untrusted)
}

// promptTagRE matches the beginning of the tags that programs put around their
// own words in prompts, such as <system-reminder> or <|im_end|>. HTML has no
// such names.
var promptTagRE = lazyregexp.New(`(?i)<(/?[a-z][a-z:]*(?:[-_][a-z]+)+|\|)`)

// escapeMarks removes invisible characters and escapes marks and prompt tags with a
// backslash, so that a text can
// neither imitate memwatchd nor close a tag that a program has put around it.
func escapeMarks(text string, untrusted bool) string {
	text = letters.DropInvisible(text, untrusted)
	return promptTagRE().ReplaceAllString(strings.ReplaceAll(text, Mark, `\`+Mark), `\<$1`)
}

// isLineBreak reports whether any common program treats a character as a line break.
func isLineBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// Marks before the text of an entry that another one of its file replaces, and of that
// one.
const (
	replacedMark    = "[replaced]"
	replacementMark = "[replacement]"
)

func insertMark(line string) string { return insertText(line, Mark) }

// insertText inserts a mark before the text of a line: after the indentation and after
// the marker of a heading, a list or a quote.
func insertText(line, mark string) string {
	if line == "" {
		return ""
	}
	at := leadRE().FindString(line)
	return at + mark + " " + line[len(at):]
}

var leadRE = lazyregexp.New(`^\s*(?:(?:[-*+>]|#{1,6}|\d{1,9}[.)])\s+)*(?:\[[ xX]\]\s+)?`)

// oneLine replaces each run of white space, including line breaks, by a space,
// and escapes marks and prompt tags.
func oneLine(s string, untrusted bool) string { return escapeMarks(joinWords(s), untrusted) }

// joinWords replaces each run of white space by a space.
func joinWords(s string) string { return strings.Join(strings.FieldsFunc(s, unicode.IsSpace), " ") }
