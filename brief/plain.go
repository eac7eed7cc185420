package brief

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/memory"
)

// Mark precedes every line of text written by others than its subject. If the
// text itself contains the mark, a backslash is inserted before it, so that
// only memwatchd can write an unescaped mark.
const Mark = "[untrusted]"

// structureRE matches lines that are, or resemble, the structure of a block:
// headers, titles of files, and the marks of cuts.
var structureRE = lazyregexp.New(`^(?:\[Memory:|\[…|#{1,6}\s*\[(?:` + tagIdentity + `|` + tagRecent + `|` +
	tagMain +
	`|` + tagSession + `)\]|` +
	regexp.QuoteMeta(memory.GeneratedOpen) + `|` + regexp.QuoteMeta(memory.GeneratedClose) + `|` +
	regexp.QuoteMeta(memory.FilteredHeader) + `)`)

// escapeStructure returns a line of memory in a form that can stand on a line of its own:
// a line that resembles structure gets a backslash before it, as in Markdown.
func escapeStructure(line string) string {
	line = escapeLine(line)
	rest := strings.TrimLeft(line, " \t")
	if structureRE().MatchString(rest) {
		return line[:len(line)-len(rest)] + `\` + rest
	}
	return line
}

// escapeLine joins a text to one line and escapes marks and prompt tags.
func escapeLine(line string) string {
	return escapeMarks(strings.Map(func(r rune) rune {
		if isLineBreak(r) {
			return ' '
		}
		return r
	}, line))
}

// promptTagRE matches the beginning of the tags that programs put around their
// own words in prompts, such as <system-reminder> or <|im_end|>. HTML has no
// such names.
var promptTagRE = lazyregexp.New(`(?i)<(/?[a-z][a-z:]*(?:[-_][a-z]+)+|\|)`)

// escapeMarks removes invisible characters and escapes marks and prompt tags with a
// backslash, so that a text can
// neither imitate memwatchd nor close a tag that a program has put around it.
func escapeMarks(text string) string {
	return promptTagRE().ReplaceAllString(strings.ReplaceAll(dropInvisible(text), Mark, `\`+Mark), `\<$1`)
}

// dropInvisible removes the invisible characters of a text for a model, which
// reads them although a person does not see them.
func dropInvisible(text string) string {
	return strings.Map(func(r rune) rune {
		if memory.Invisible(r) {
			return -1
		}
		return r
	}, text)
}

// Quote returns a text of memory for use on lines of its own, outside a block.
// Every line of an untrusted text has the mark. A trusted text has no unescaped
// mark. Invisible characters are removed.
func Quote(text string, untrusted bool) string {
	if !untrusted {
		return strings.ReplaceAll(dropInvisible(text), Mark, `\`+Mark)
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = insertMark(escapeLine(line))
	}
	return strings.Join(lines, "\n")
}

// isLineBreak reports whether any common program treats a character as a line break.
func isLineBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// insertMark inserts the mark before the text of a line: after the indentation and
// after the marker of a heading, a list or a quote.
func insertMark(line string) string {
	if line == "" {
		return ""
	}
	at := leadRE().FindString(line)
	return at + Mark + " " + line[len(at):]
}

var leadRE = lazyregexp.New(`^\s*(?:(?:[-*+>]|#{1,6}|\d{1,9}[.)])\s+)*(?:\[[ xX]\]\s+)?`)

// oneLine replaces each run of white space, including line breaks, by a space,
// and escapes marks and prompt tags.
func oneLine(s string) string {
	return escapeMarks(strings.Join(strings.FieldsFunc(s, unicode.IsSpace), " "))
}
