package index

import (
	"strings"
	"unicode/utf8"
)

// snippetLength bounds the code points of an entry in a snippet.
const snippetLength = 240

// buildSnippet returns the section of a text that shows the most of the query, on
// one line, and the matching ranges in code points.
func (a *analyzer) buildSnippet(text string, terms []qterm) (string, [][2]int) {
	text = strings.Join(strings.Fields(text), " ") // on one line
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
	a.eachToken(text, func(t token) {
		if w, ok := weight[t.term]; ok {
			found = append(found, match{t.start, t.end, w, t.term})
		}
	})
	// The window begins at the first match from which it contains the highest
	// weight of distinct words.
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
			if i >= 1000 { // in a text with many matches, an earlier window suffices
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
	// position returns the code points before byte b of the cut; it is fast for
	// ascending values of b.
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

// advance returns the byte offset n code points after at. If a word ends
// shortly before, advance returns its end, to avoid cutting a word.
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
