package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// A text is one escaped line for a terminal. The zero text is empty.
type text struct {
	s     string
	spans []span
}

// A span is a styled part of a text, as byte offsets.
type span struct {
	from, to int
	as       term.Style
}

func plainText(as term.Style, s string) text {
	var t text
	t.add(as, s)
	return t
}

// add appends s, escaped because it may come from a file.
func (t *text) add(as term.Style, s string) {
	s = term.EscapeLine(s)
	t.append(text{s, []span{{0, len(s), as}}})
}

func (t *text) append(other text) {
	for _, s := range other.spans {
		last := len(t.spans) - 1
		switch from := len(t.s) + s.from; {
		case s.as == term.AsText || s.from == s.to:
		case last >= 0 && t.spans[last].as == s.as && t.spans[last].to == from:
			t.spans[last].to = len(t.s) + s.to
		default:
			t.spans = append(t.spans, span{from, len(t.s) + s.to, s.as})
		}
	}
	t.s += other.s
}

// addMarked appends s with highlighted matches. The ranges count characters.
func (t *text) addMarked(as term.Style, s string, ranges [][2]int) {
	runes := []rune(s)
	ranges = slices.SortedFunc(slices.Values(ranges), func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	at := 0
	for _, r := range ranges {
		if from, to := max(r[0], at), min(r[1], len(runes)); from < to {
			t.add(as, string(runes[at:from]))
			t.add(term.AsMatch, string(runes[from:to]))
			at = to
		}
	}
	t.add(as, string(runes[at:]))
}

// paint returns a whole text in its styles.
func (p *Printer) paint(t text) string { return p.paintText(t, 0, len(t.s)) }

// paintText returns a part of a text in its styles.
func (p *Printer) paintText(t text, from, to int) string {
	var b strings.Builder
	for _, s := range t.spans {
		if begin, end := max(s.from, from), min(s.to, to); begin < end {
			b.WriteString(t.s[from:begin] + p.Style(s.as, t.s[begin:end]))
			from = end
		}
	}
	return b.String() + t.s[from:to]
}
