package index

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// snippetLength is how many code points of an entry a hit shows.
const snippetLength = 240

// snippet cuts the stretch of a text that shows the most of the query, on one
// line, with the ranges that match in code points.
func (a *analyzer) snippet(text string, terms []qterm) (string, [][2]int) {
	text = oneLine(text)
	weight := make(map[string]float64, len(terms))
	for _, t := range terms {
		weight[t.term] = t.weight
	}
	type match struct {
		start, end int // bytes
		weight     float64
		term       string
	}
	var found []match
	a.tokens(text, func(t token) {
		if w, ok := weight[t.term]; ok {
			found = append(found, match{t.start, t.end, w, t.term})
		}
	})
	// The window begins at the match from which it shows the most different
	// words; the first of equals.
	at := 0
	best := 0.0
	if utf8.RuneCountInString(text) > snippetLength {
		for i := range found {
			sum := 0.0
			seen := make(map[string]bool)
			limit := advance(text, found[i].start, snippetLength*4/5)
			for _, m := range found[i:] {
				if m.end > limit || len(seen) == len(weight) {
					break
				}
				if !seen[m.term] {
					seen[m.term] = true
					sum += m.weight
				}
			}
			if sum > best {
				best, at = sum, found[i].start
			}
			if i >= 1000 { // a text full of matches has a good window by then
				break
			}
		}
		at = retreat(text, at, snippetLength/8)
	}
	end := advance(text, at, snippetLength)
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
	cut := text[at:end]
	// Code points before each byte of the cut, asked for in rising order.
	runes, seen := len([]rune(prefix)), 0
	position := func(b int) int {
		if b < seen {
			runes, seen = len([]rune(prefix)), 0
		}
		runes += utf8.RuneCountInString(cut[seen:b])
		seen = b
		return runes
	}
	var marks [][2]int
	for _, m := range found {
		if m.start < at || m.end > end {
			continue
		}
		s, e := position(m.start-at), position(m.end-at)
		if n := len(marks); n > 0 && s <= marks[n-1][1] {
			marks[n-1][0] = min(marks[n-1][0], s)
			marks[n-1][1] = max(marks[n-1][1], e)
			continue
		}
		marks = append(marks, [2]int{s, e})
	}
	return prefix + cut + suffix, marks
}

// oneLine makes every run of white space one space.
func oneLine(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	space := true
	for _, r := range s {
		if unicode.IsSpace(r) {
			if !space {
				b.WriteByte(' ')
				space = true
			}
			continue
		}
		b.WriteRune(r)
		space = false
	}
	return strings.TrimSuffix(b.String(), " ")
}

// advance is the byte n code points after at, not inside a word if one ends a
// little earlier.
func advance(s string, at, n int) int {
	end := at
	for range n {
		if end >= len(s) {
			return len(s)
		}
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	if end < len(s) {
		if i := strings.LastIndexByte(s[at:end], ' '); i > (end-at)*3/4 {
			return at + i
		}
	}
	return end
}

// retreat is the byte at most n code points before at, at the start of a word
// if one starts in between.
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
