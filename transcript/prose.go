package transcript

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Prose is the lines of a message that are sentences somebody may have said,
// without the marks of lists before them. Left out are code, tables, headings,
// quotations, what stands in tags as programs put them into prompts, and blocks
// of injected memory.
func Prose(text string) (lines []string) {
	blank := true
	for _, line := range speech(text) {
		said := strings.TrimSpace(line)
		was := blank
		blank = said == ""
		mark := listMark.FindString(said)
		switch {
		case said == "", strings.ContainsAny(said[:1], "#|>"):
		case mark == "" && was && strings.TrimLeft(line, " ") != line && strings.HasPrefix(strings.ReplaceAll(line, "\t", "    "), "    "):
			blank = true // code by indentation goes on
		default:
			if said = strings.TrimSpace(said[len(mark):]); strings.ContainsFunc(said, unicode.IsLetter) {
				lines = append(lines, said)
			}
		}
	}
	return lines
}

// listMark is the mark of an item, with its box.
var listMark = regexp.MustCompile(`^(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?`)

// Question is the part of a prompt that says what it is about, in so many
// characters at most: its beginning and its end, without code and what programs
// have put there. What is pasted mostly stands in between.
func Question(prompt string, most int) string {
	var lines []string
	for _, line := range speech(prompt) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "\n")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	head := strings.TrimRightFunc(string(runes[:most/2]), isWord)
	tail := strings.TrimLeftFunc(string(runes[len(runes)-most/2:]), isWord)
	return strings.TrimSpace(head) + "\n" + strings.TrimSpace(tail)
}

// isWord is true of what is cut off with the word that it is in: in scripts
// without spaces, a text of a thousand characters can be a word.
func isWord(r rune) bool { return r < 0x2e80 && !unicode.IsSpace(r) }

// speech is the lines of a text but for fenced code, tags with what is in them,
// and blocks of injected memory. Each is a stretch of a line of the text.
func speech(text string) (lines []string) {
	fence, injected := "", false
	for line := range strings.Lines(strings.ReplaceAll(untagged(text), "\r", "\n")) {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		said := strings.TrimSpace(line)
		if fence != "" {
			if strings.HasPrefix(said, fence) && strings.Trim(said, fence[:1]) == "" {
				fence = ""
			}
			continue
		}
		if injected && (strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "  ")) {
			continue
		}
		injected = strings.HasPrefix(said, "[Memory:")
		if strings.HasPrefix(said, "```") || strings.HasPrefix(said, "~~~") {
			fence = said[:len(said)-len(strings.TrimLeft(said, said[:1]))]
		}
		if fence == "" && !injected {
			lines = append(lines, line)
		}
	}
	return lines
}

// tag opens what a program puts into a prompt, such as <system-reminder>: HTML
// has no such names.
var tag = regexp.MustCompile(`<([a-z]+(?:[-_][a-z]+)+)(?:\s[^<>]*)?>`)

// others is true of tags in which stands what programs, pages and other agents say.
// Who writes that can write what closes the tag, too, and then words of the person:
// it goes on to the last that closes it.
var others = regexp.MustCompile(`[-_](?:stdout|stderr|output|results?|notification|message|content)$`)

// untagged is a text without tags and what is in them, to the end of the text if
// they are not closed. A line break stands where one was.
func untagged(text string) string {
	var b strings.Builder
	for {
		at := tag.FindStringSubmatchIndex(text)
		if at == nil {
			return b.String() + text
		}
		b.WriteString(text[:at[0]] + "\n")
		name := text[at[2]:at[3]]
		closing, find := "</"+name+">", strings.Index
		if others.MatchString(name) {
			find = strings.LastIndex
		}
		end := find(text[at[1]:], closing)
		if end < 0 {
			return b.String()
		}
		text = text[at[1]+end+len(closing):]
	}
}
