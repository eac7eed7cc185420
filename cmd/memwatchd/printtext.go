package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

// A text is one line of somebody's, for a terminal: nothing in it does anything
// but stand there.
type text struct {
	s     string
	as    style
	marks [][2]int // what matched: in bytes, in order, none within another
}

// plainText is a line in which nothing is marked.
func plainText(as style, s string) text { return text{s: escapeLine(s), as: as} }

// markedText is a line with what matched in it. The ranges count characters.
func markedText(s string, ranges [][2]int) text {
	runes := []rune(s)
	ranges = slices.SortedFunc(slices.Values(ranges), func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	var b strings.Builder
	var t text
	at := 0
	for _, r := range ranges {
		from, to := max(r[0], at), min(r[1], len(runes))
		if from >= to {
			continue
		}
		b.WriteString(escapeLine(string(runes[at:from])))
		begin := b.Len()
		b.WriteString(escapeLine(string(runes[from:to])))
		t.marks = append(t.marks, [2]int{begin, b.Len()})
		at = to
	}
	b.WriteString(escapeLine(string(runes[at:])))
	t.s = b.String()
	return t
}

// lines shows a text indented; see hanging.
func (p *printer) lines(b *strings.Builder, most int, t text) { p.hanging(b, indent, "", most, t) }

// hanging shows a text behind an indent and something short; on a terminal in so
// many lines at most, unless that is zero: those of them that have the most of
// what matched. Each begins below the first.
func (p *printer) hanging(b *strings.Builder, before, head string, most int, t text) {
	b.WriteString(before + head)
	if p.width == 0 {
		b.WriteString(p.painted(t, 0, len(t.s)) + "\n")
		return
	}
	column := len(before) + uniseg.StringWidth(styles.ReplaceAllString(head, ""))
	width := max(p.width-column, roomy)
	parts := fold(t.s, width)
	left, right := "", ""
	if most > 0 && len(parts) > most {
		parts = fold(t.s, width-2) // with room for a mark on both sides
		from := t.best(parts, most)
		if from > 0 {
			left = "…"
		}
		if from+most < len(parts) {
			right = "…"
		}
		parts = parts[from:min(from+most, len(parts))]
	}
	for i, part := range parts {
		if i > 0 {
			b.WriteString("\n" + strings.Repeat(" ", column))
		}
		b.WriteString(left + p.painted(t, part[0], part[1]))
		left = ""
	}
	b.WriteString(right + "\n")
}

// best is the first of so many parts that together have the most marks.
func (t *text) best(parts [][2]int, most int) int {
	best, marks := 0, -1
	for from := 0; from+most <= len(parts); from++ {
		n := 0
		for _, mark := range t.marks {
			if parts[from][0] <= mark[0] && mark[0] < parts[from+most-1][1] {
				n++
			}
		}
		if n > marks {
			best, marks = from, n
		}
	}
	return best
}

// painted is a part of a text with what matched made visible.
func (p *printer) painted(t text, from, to int) string {
	var b strings.Builder
	for _, mark := range t.marks {
		if begin, end := max(mark[0], from), min(mark[1], to); begin < end {
			b.WriteString(p.style(t.as, t.s[from:begin]) + p.style(asMatch, t.s[begin:end]))
			from = end
		}
	}
	return b.String() + p.style(t.as, t.s[from:to])
}
