package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/rivo/uniseg"
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
	from := len(t.s)
	t.s += term.EscapeLine(s)
	if as != term.AsText && from < len(t.s) {
		t.spans = append(t.spans, span{from, len(t.s), as})
	}
}

// markedText returns a line with highlighted matches. The ranges count
// characters.
func markedText(s string, ranges [][2]int) text {
	runes := []rune(s)
	ranges = slices.SortedFunc(slices.Values(ranges), func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	var t text
	at := 0
	for _, r := range ranges {
		if from, to := max(r[0], at), min(r[1], len(runes)); from < to {
			t.add(term.AsText, string(runes[at:from]))
			t.add(term.AsMatch, string(runes[from:to]))
			at = to
		}
	}
	t.add(term.AsText, string(runes[at:]))
	return t
}

// printIndented shows an indented text; see hanging.
func (p *Printer) printIndented(most int, t text) { p.printHanging(indent, "", most, t) }

// printHanging shows a text after an indent and a short head. Continuation lines
// start in the column of the text. On a terminal it shows at most the given
// number of lines, those with the most matches; zero is no limit.
func (p *Printer) printHanging(before, head string, most int, t text) {
	if head == "" && t.s == "" {
		p.println("")
		return
	}
	p.out.WriteString(before + head)
	if p.width == 0 {
		p.println(p.paintText(t, 0, len(t.s)))
		return
	}
	column := len(before) + uniseg.StringWidth(term.StyleSequence().ReplaceAllString(head, ""))
	width := max(p.width-column, minTextWidth)
	parts := term.Fold(t.s, width)
	left, right := "", ""
	if most > 0 && len(parts) > most {
		parts = term.Fold(t.s, width-2) // leaves room for a mark on both sides
		from := t.bestWindow(parts, most)
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
			p.out.WriteString("\n" + strings.Repeat(" ", column))
		}
		p.out.WriteString(left + p.paintText(t, part[0], part[1]))
		left = ""
	}
	p.println(right)
}

// printWrapped shows a whole text on a line of its own. On a terminal it wraps the text
// and indents continuation lines.
func (p *Printer) printWrapped(t text) {
	if p.width == 0 || uniseg.StringWidth(t.s) <= p.width {
		p.println(p.paintText(t, 0, len(t.s)))
		return
	}
	for i, part := range term.Fold(t.s, p.width-len(indent)) {
		if i > 0 {
			p.out.WriteString(indent)
		}
		p.println(p.paintText(t, part[0], part[1]))
	}
}

// bestWindow returns the index of the first of most consecutive parts with the most
// matches.
func (t *text) bestWindow(parts [][2]int, most int) int {
	best, marks := 0, -1
	for from := 0; from+most <= len(parts); from++ {
		n := 0
		for _, s := range t.spans {
			if s.as == term.AsMatch && parts[from][0] <= s.from && s.from < parts[from+most-1][1] {
				n++
			}
		}
		if n > marks {
			best, marks = from, n
		}
	}
	return best
}

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

// printContext shows a block unchanged, because it is piped into prompts. Hints
// about omitted entries go to standard error.
func (p *Printer) printContext(a *api.ContextAnswer) {
	if p.width > 0 {
		p.out.WriteString(term.EscapeText(a.Text))
	} else {
		p.out.WriteString(a.Text)
	}
	if omitted := formatOmitted(a.LeftOut); omitted != "" {
		p.addHint(term.AsMuted, "omitted: %s", omitted)
	}
	for _, hint := range a.Hints {
		p.addHint(term.AsText, "hint: %s", hint)
	}
}

// formatOmitted returns the numbers of omitted entries by kind.
func formatOmitted(l api.Omitted) string {
	var parts []string
	for _, c := range []struct {
		n   int
		one string
	}{
		{l.LongTerm, "long-term line"}, {l.Recent, "recent summary"}, {l.Files, "file"}, {l.Items, "item"},
		{l.Tasks, "task"}, {l.Entries, "entry"}, {l.Characters, "character"}, {l.Untrusted, "untrusted text"},
	} {
		if c.n > 0 {
			parts = append(parts, term.Plural(c.n, c.one))
		}
	}
	return strings.Join(parts, ", ")
}

func lineRanges(ranges [][2]int) string {
	var list []string
	for _, r := range ranges {
		if r[0] == r[1] {
			list = append(list, strconv.Itoa(r[0]))
		} else {
			list = append(list, fmt.Sprintf("%d-%d", r[0], r[1]))
		}
	}
	return strings.Join(list, ", ")
}
