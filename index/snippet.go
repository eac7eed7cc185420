package index

import (
	"strings"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// snippetLength bounds the code points of an entry in a snippet.
const snippetLength = 240

// A match is a term of the query in a line.
type match struct {
	line       int
	start, end int // bytes
	weight     float64
	term       string
}

// maxAnalyzed bounds the bytes of an entry that are analyzed for an answer, because
// a file can be one line of megabytes.
const maxAnalyzed = 16 << 10

// excerptOf returns the part of a long text in which the rarest of the terms that
// occurs as written begins, or the beginning.
func excerptOf(text string, terms []qterm, idfs []float64) string {
	if len(text) <= maxAnalyzed {
		return text
	}
	at, best := 0, 0.0
	for i, t := range terms {
		if i >= len(idfs) || idfs[i] <= best {
			continue
		}
		title := strings.ToUpper(t.term[:1]) + t.term[1:]
		if found := max(strings.Index(text, t.term), strings.Index(text, title)); found >= 0 {
			at, best = found, idfs[i]
		}
	}
	at = max(0, at-maxAnalyzed/4)
	end := min(len(text), at+maxAnalyzed)
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[at:end]
}

// addTerms adds the terms of the query in an entry to has, from the index.
func (s *request) addTerms(k entryKey, has map[string]bool) {
	for _, t := range s.words.terms {
		if !has[t.term] {
			s.eachEntry(termKey(kindWord, t.term), func(found entryKey) {
				if found == k {
					has[t.term] = true
				}
			})
		}
	}
}

// buildSnippet returns the section of a text that shows the most of the query, and
// the matching ranges in code points. Code, lists and tables are shown as lines,
// with the language of the code, and other text on one line. The terms of the
// query in the text are added to has.
func (a *analyzer) buildSnippet(text string, terms []qterm, has map[string]bool) (snippet string, marks [][2]int,
	language string) {
	weight := make(map[string]float64, len(terms))
	for _, t := range terms {
		if !t.person {
			weight[t.term] += t.weight
		}
	}
	lines, language := structuredLines(text)
	if len(lines) < 2 {
		text = quoteMarkRE().ReplaceAllString(text, "\n")
		lines, language = []string{strings.Join(strings.Fields(text), " ")}, ""
	}
	snippet, marks = a.snippetOfLines(lines, weight, has)
	return snippet, marks, language
}

// quoteMarkRE matches the marks of a quote from its second line on.
var quoteMarkRE = lazyregexp.New(`\n(?:[ \t]*>)+`)

const snippetLines = 6

// structuredLines returns the lines of a text that contains code, a table or
// several list items, without fences, and the language of the code. It returns
// no lines for other text.
func structuredLines(text string) (lines []string, language string) {
	structured, code := false, false
	for i, line := range strings.Split(text, "\n") {
		line = strings.ReplaceAll(strings.TrimRight(line, " \t\r"), "\t", "    ")
		start := strings.TrimLeft(line, " \t>-*+0123456789.")
		if strings.HasPrefix(start, "```") || strings.HasPrefix(start, "~~~") {
			if language == "" && !code {
				language, _, _ = strings.Cut(strings.Trim(start, "`~ "), " ")
			}
			structured, code = true, !code
			continue
		}
		if line == "" && !code {
			continue
		}
		structured = structured || strings.HasPrefix(start, "|") || i > 0 && listMarker().MatchString(line)
		lines = append(lines, line)
	}
	if !structured {
		return nil, ""
	}
	return lines, language
}

var listMarker = lazyregexp.New(`^\s*([-*+]|\d+[.)])\s`)

// snippetOfLines returns the successive lines that show the most of the query, with
// their matches.
func (a *analyzer) snippetOfLines(lines []string, weight map[string]float64, has map[string]bool) (string, [][2]int) {
	var found []match
	a.only = new(initials)
	defer func() { a.only = nil }()
	for term := range weight {
		if term != "" && term[0] < utf8.RuneSelf {
			a.only[term[0]] = true
		}
	}
	for i, line := range lines {
		var inLine []match
		a.eachToken(line, func(t token) {
			if w, ok := weight[t.term]; ok {
				has[t.term] = true
				inLine = append(inLine, match{line: i, start: t.start, end: t.end, weight: w, term: t.term})
			}
		})
		lines[i], inLine = cutText(line, inLine)
		found = append(found, inLine...)
	}
	first, last := bestWindow(found, func(first, m match) bool { return m.line < first.line+snippetLines })
	at := first.line - (snippetLines-1-(last.line-first.line))/2 // the matches are in the middle
	at = max(0, min(at, len(lines)-snippetLines))
	lines = lines[at:min(at+snippetLines, len(lines))]
	var marks [][2]int
	runes := 0 // before the line
	for i, line := range lines {
		for _, m := range found {
			if m.line == at+i {
				marks = addMark(marks, runes, line, m)
			}
		}
		runes += utf8.RuneCountInString(line) + 1 // with the line break
	}
	return strings.Join(lines, "\n"), marks
}

// maxWindows bounds the windows that are compared: in a text with many matches, an
// early window suffices.
const maxWindows = 1001

// bestWindow returns the first and the last match of the window that contains the highest
// weight of distinct terms. A window consists of a match and those that fit behind it.
func bestWindow(found []match, fits func(first, m match) bool) (first, last match) {
	seen := make(map[string]int) // last window with the term, plus one
	best, next := 0.0, 0         // next follows the last window
	for i := range found[:min(len(found), maxWindows)] {
		before := next
		for next = max(next, i); next < len(found) && fits(found[i], found[next]); next++ {
		}
		if i > 0 && next == before {
			continue // a part of the last window
		}
		sum, end := 0.0, i
		for k := i; k < next; k++ {
			if m := &found[k]; seen[m.term] != i+1 {
				seen[m.term], end = i+1, k
				sum += m.weight
			}
		}
		if sum > best {
			best, first, last = sum, found[i], found[end]
		}
	}
	return first, last
}

// addMark adds the range of a match in a text, which begins after a number of code
// points, to ascending ranges. It joins ranges that touch.
func addMark(marks [][2]int, before int, text string, m match) [][2]int {
	start := before + utf8.RuneCountInString(text[:m.start])
	end := start + utf8.RuneCountInString(text[m.start:m.end])
	if n := len(marks); n > 0 && start <= marks[n-1][1] {
		marks[n-1][0] = min(marks[n-1][0], start)
		marks[n-1][1] = max(marks[n-1][1], end)
		return marks
	}
	return append(marks, [2]int{start, end})
}

// cutText returns the section of a line that shows the most of the query, with its
// matches.
func cutText(text string, found []match) (section string, shown []match) {
	at, end := 0, len(text)
	if utf8.RuneCountInString(text) > snippetLength {
		start, limit := -1, 0 // of the last window
		first, _ := bestWindow(found, func(first, m match) bool {
			if first.start != start {
				start, limit = first.start, advance(text, first.start, snippetLength*4/5)
			}
			return m.end <= limit
		})
		at = retreat(text, first.start, snippetLength/8)
		end = advance(text, at, snippetLength)
		at = retreat(text, at, snippetLength-utf8.RuneCountInString(text[at:end]))
	}
	prefix, suffix := "", ""
	if at > 0 {
		prefix = "…"
	}
	if end < len(text) {
		suffix = "…"
	}
	for _, m := range found {
		if m.start >= at && m.end <= end {
			m.start, m.end = m.start-at+len(prefix), m.end-at+len(prefix)
			shown = append(shown, m)
		}
	}
	return prefix + text[at:end] + suffix, shown
}

// advance returns the byte offset n code points after at, or the last space in the last
// quarter before it, to avoid cutting a word.
func advance(s string, at, n int) int {
	section, cut := FirstRunes(s[at:], n)
	end := at + len(section)
	if from := at + len(section)*3/4 + 1; cut {
		if i := strings.LastIndexByte(s[min(from, end):end], ' '); i >= 0 {
			return from + i
		}
	}
	return end
}

// retreat returns the byte offset n code points before at, or the start of the first
// word in between.
func retreat(s string, at, n int) int {
	start := at
	for ; n > 0 && start > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:start])
		start -= size
	}
	if i := strings.IndexByte(s[start:at], ' '); i >= 0 && start > 0 {
		return start + i + 1
	}
	return start
}
