package index

import (
	"strings"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// snippetLength bounds the code points of an entry in a snippet.
const snippetLength = 240

// A match is a term of the query in a text.
type match struct {
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
func (s *search) addTerms(k entryKey, has map[string]bool) {
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
		if !t.person && !t.isType {
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
	found := make([][]match, len(lines))
	for i, line := range lines {
		a.eachToken(line, func(t token) {
			if w, ok := weight[t.term]; ok {
				has[t.term] = true
				found[i] = append(found[i], match{t.start, t.end, w, t.term})
			}
		})
		lines[i], found[i] = cutText(line, found[i], weight)
	}
	best, at, last := 0.0, 0, 0
	for i := range lines {
		if len(found[i]) == 0 || len(lines) <= snippetLines {
			continue
		}
		sum, end := 0.0, i
		seen := make(map[string]bool)
		for k := i; k < min(i+snippetLines, len(lines)); k++ {
			for _, m := range found[k] {
				if !seen[m.term] {
					seen[m.term], end = true, k
					sum += m.weight
				}
			}
		}
		if sum > best {
			best, at, last = sum, i, end
		}
	}
	at -= (snippetLines - 1 - (last - at)) / 2 // the matches are in the middle
	at = max(0, min(at, len(lines)-snippetLines))
	lines, found = lines[at:min(at+snippetLines, len(lines))], found[at:]
	var marks [][2]int
	runes := 0 // before the line
	for i, line := range lines {
		for _, m := range found[i] {
			marks = addMark(marks, runes, line, m)
		}
		runes += utf8.RuneCountInString(line) + 1 // with the line break
	}
	return strings.Join(lines, "\n"), marks
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
func cutText(text string, found []match, weight map[string]float64) (section string, shown []match) {
	at := 0
	if utf8.RuneCountInString(text) > snippetLength {
		at = retreat(text, startOfBest(text, found, len(weight)), snippetLength/8)
	}
	end := advance(text, at)
	if rest := utf8.RuneCountInString(text[at:end]); rest < snippetLength && at > 0 {
		at = retreat(text, at, snippetLength-rest)
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

// startOfBest returns the start of the first match from which a window contains the
// highest weight of distinct terms. The query has the given number of terms.
func startOfBest(text string, found []match, terms int) (at int) {
	seen := make(map[string]int, terms) // last window with the term, plus one
	best := 0.0
	for i := range found[:min(len(found), maxWindows)] {
		start := found[i].start
		window, _ := FirstRunes(text[start:], snippetLength*4/5)
		limit := cutAtSpace(text, start, start+len(window))
		sum, n := 0.0, 0
		for k := i; k < len(found) && found[k].end <= limit && n < terms; k++ {
			if t := found[k].term; seen[t] != i+1 {
				seen[t] = i + 1
				sum += found[k].weight
				n++
			}
		}
		if sum > best {
			best, at = sum, found[i].start
		}
	}
	return at
}

// maxWindows bounds the windows that are compared: in a text with many matches, an
// early window suffices.
const maxWindows = 1001

// advance returns the byte offset one snippet after at. If a word ends shortly
// before, advance returns its end, to avoid cutting a word.
func advance(s string, at int) int {
	section, _ := FirstRunes(s[at:], snippetLength)
	return cutAtSpace(s, at, at+len(section))
}

// cutAtSpace returns end, or the last space in the last quarter of the range, if
// the text continues.
func cutAtSpace(s string, at, end int) int {
	if end < len(s) {
		from := at + (end-at)*3/4 + 1
		if i := strings.LastIndexByte(s[min(from, end):end], ' '); i >= 0 {
			return from + i
		}
	}
	return end
}

// retreat returns the byte offset n code points before at, or the start of the
// first word in between.
func retreat(s string, at, n int) int {
	start := at
	for range n {
		if start == 0 {
			return 0
		}
		_, size := utf8.DecodeLastRuneInString(s[:start])
		start -= size
	}
	if i := strings.IndexByte(s[start:at], ' '); i >= 0 {
		return start + i + 1
	}
	return start
}
