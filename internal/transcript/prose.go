package transcript

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// quotationRE matches a line of a quotation, as in Markdown, mail and terminals.
var quotationRE = lazyregexp.New(`^(?:>|＞|&gt;|»|│|┃|▌)`)

// reportRE matches an introduction of the words of others.
var reportRE = compilePattern(`\b(?:says?|said|reads?|states?|wrote|writes|quot(?:e|es|ed|ing)|according to|contents? of)\b` +
	`[^.!?:：]*[:：]|\b(?:this|that|the(?: following)?|following|from (?:the|a|an|my|our|his|her|their|this)) ` +
	`(?:\S+ ){0,2}(?:(?:e-?)?mails?|messages?|letter|page|website|article|post|document|docs?|readme|text|ticket|issue|` +
	`thread|comments?|chat|output|log)(?: (?:below|from \S+))?\s*[:：]\s*$` +
	`|(?:写道|写着|说道?|提到|原文|引用|内容|邮件|网页|文章|文档)(?:如下|是)?\s*[:：]`)

// ProseLines returns the lines of a message that may be its author's own
// sentences, without list markers. It omits code, tables, headings, the tags that
// programs insert into prompts with their content, and blocks of injected memory. The
// message ends before a quotation and an introduction of the words of others, such as
// "the page says:".
func ProseLines(text string) (lines []string) {
	blank := true
	for _, line := range messageLines(strings.ReplaceAll(text, "\r", "\n"), openingTagRE(), false) {
		said, isItem := CutMarker(strings.TrimSpace(line))
		if quotationRE().MatchString(said) || reportRE().MatchString(said) {
			break
		}
		said = strings.TrimSpace(said)
		indented := strings.HasPrefix(strings.ReplaceAll(line, "\t", "    "), "    ")
		code := blank && indented && !isItem
		blank = said == "" || code // indented code continues
		if !code && said != "" && !strings.ContainsAny(said[:1], "#|") && strings.ContainsFunc(said, unicode.IsLetter) {
			lines = append(lines, said)
		}
	}
	return lines
}

// listMarkerRE matches the marker of a list item with its checkbox.
var listMarkerRE = lazyregexp.New(`^(?:[-*+•]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?`)

// CutMarker removes the marker of a list item with its checkbox from a line, and reports
// whether there was one.
func CutMarker(line string) (rest string, ok bool) {
	mark := listMarkerRE().FindString(line)
	return line[len(mark):], mark != ""
}

// CondensePrompt returns the part of a prompt that identifies its topic, in at most
// most+1 characters: the beginning and the end, without code and without text
// inserted by programs.
func CondensePrompt(prompt string, most int) string {
	var lines []string
	for _, line := range messageLines(strings.ReplaceAll(prompt, "\r", "\n"), openingTagRE(), false) {
		line = strings.TrimSpace(line)
		if line != "" {
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

// isWord reports whether a character belongs to a word that is removed at a
// cut. It excludes scripts without spaces, in which a text of a thousand
// characters can be one word.
func isWord(r rune) bool { return r < 0x2e80 && !unicode.IsSpace(r) }

// messageLines returns the lines of a text without the tags that opening matches and
// their content, and without blocks of injected memory. It omits fenced code unless code is
// set. Each result is a part of one line of the text.
func messageLines(text string, opening *regexp.Regexp, code bool) (lines []string) {
	fence, injected := "", false
	for line := range strings.Lines(removeTags(text, opening)) {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		said := strings.TrimSpace(line)
		closes := fence != "" && strings.HasPrefix(said, fence) && strings.Trim(said, fence[:1]) == ""
		if injected && !closes && (strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "  ")) {
			continue
		}
		injected = strings.HasPrefix(said, "[Memory:")
		opens := fence == "" && (strings.HasPrefix(said, "```") || strings.HasPrefix(said, "~~~"))
		if !injected && (code || fence == "" && !opens) {
			lines = append(lines, line)
		}
		switch {
		case opens:
			fence = said[:len(said)-len(strings.TrimLeft(said, said[:1]))]
		case closes:
			fence = ""
		}
	}
	return lines
}

// openingTagRE matches the opening tag of text that a program inserts into a prompt,
// such as <system-reminder>. HTML has no such names.
var openingTagRE = lazyregexp.New(`<([a-z]+(?:[-_][a-z]+)+)(?:\s[^<>]*)?>`)

// enclosingTagRE matches names of tags that enclose text of programs, pages and other
// agents. Such text can contain the closing tag and then imitate the person, so
// the enclosed text extends to the last closing tag.
var enclosingTagRE = lazyregexp.New(`[-_](?:stdout|stderr|output|results?|notification|message|content)$`)

// programTagRE matches the opening tags that programs are known to insert into messages of
// the person.
var programTagRE = lazyregexp.New(`<((?:system|local|command|bash|task|ide|user|session|environment|turn)[-_][a-z_-]+)` +
	`(?:\s[^<>]*)?>`)

// TypedText returns a message of the person without the text that programs are known to
// insert: tags with their content, and blocks of injected memory. Other tags are text of
// the person.
func TypedText(text string) string {
	return strings.TrimSpace(strings.Join(messageLines(text, programTagRE(), true), "\n"))
}

// removeTags returns a text without the tags that opening matches and their content. A line
// break replaces each tag. An unclosed tag extends to the end of the text.
func removeTags(text string, opening *regexp.Regexp) string {
	var b strings.Builder
	for {
		at := opening.FindStringSubmatchIndex(text)
		if at == nil {
			return b.String() + text
		}
		b.WriteString(text[:at[0]] + "\n")
		name := text[at[2]:at[3]]
		closing, find := "</"+name+">", strings.Index
		if enclosingTagRE().MatchString(name) {
			find = strings.LastIndex
		}
		end := find(text[at[1]:], closing)
		if end < 0 {
			return b.String()
		}
		text = text[at[1]+end+len(closing):]
	}
}
