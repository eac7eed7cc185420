package brief

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/memwatchd/memwatchd/memory"
)

// Mark stands before text that was written by others than its subject, in every
// line of it. Where text has it itself, a backslash is put before it, so that it
// is nobody's word but memwatchd's.
const Mark = "[untrusted]"

// structural matches lines that mean something in a block, if only nearly:
// headers, titles of files, and the marks of cuts.
var structural = regexp.MustCompile(`^(?:\[Memory:|\[…|#{1,6}\s*\[(?:` + tagIdentity + `|` + tagRecent + `|` + tagMain + `|` + tagSession + `)\]|` +
	regexp.QuoteMeta(memory.GeneratedOpen) + `|` + regexp.QuoteMeta(memory.GeneratedClose) + `|` + regexp.QuoteMeta(memory.FilteredHeader) + `)`)

// plain is a line of memory as it may stand in a line of its own: what would
// mean something there has a backslash before it, as Markdown has it.
func plain(line string) string {
	line = unforged(line)
	rest := strings.TrimLeft(line, " \t")
	if structural.MatchString(rest) {
		return line[:len(line)-len(rest)] + `\` + rest
	}
	return line
}

// unforged is a text on one line, without a mark of its own.
func unforged(line string) string {
	if strings.ContainsFunc(line, breaks) {
		line = strings.Map(func(r rune) rune {
			if breaks(r) {
				return ' '
			}
			return r
		}, line)
	}
	return disarmed(line)
}

// promptTag begins what programs that make prompts put around their own words,
// such as <system-reminder> or <|im_end|>: HTML has no such names.
var promptTag = regexp.MustCompile(`(?i)<(/?[a-z][a-z:]*(?:[-_][a-z]+)+|\|)`)

// disarmed is a text that neither says what only memwatchd may say, nor ends what
// a program has put around it: before either there is a backslash.
func disarmed(text string) string {
	return promptTag.ReplaceAllString(strings.ReplaceAll(text, Mark, `\`+Mark), `\<$1`)
}

// Quote is a text of memory in lines of its own, outside a block: the mark stands
// in each of them if it is untrusted, and nowhere if it is not.
func Quote(text string, untrusted bool) string {
	if !untrusted {
		return strings.ReplaceAll(text, Mark, `\`+Mark)
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = marked(unforged(line))
	}
	return strings.Join(lines, "\n")
}

// breaks reports whether a character ends a line for somebody.
func breaks(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// marked is a line with the mark before its text: behind the indentation, and
// behind the marker of a heading, a list or a quote.
func marked(line string) string {
	if line == "" {
		return ""
	}
	at := leadRE.FindString(line)
	return at + Mark + " " + line[len(at):]
}

var leadRE = regexp.MustCompile(`^\s*(?:(?:[-*+>]|#{1,6}|\d{1,9}[.)])\s+)*(?:\[[ xX]\]\s+)?`)

// oneLine is a text with its white space, line breaks among it, as single
// spaces, and without a mark of its own.
func oneLine(s string) string {
	return disarmed(strings.Join(strings.FieldsFunc(s, unicode.IsSpace), " "))
}
