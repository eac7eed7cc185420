package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/memwatchd/memwatchd/ipc"
)

// hits shows what was found, each with its place on a line of its own.
func (p *printer) hits(b *strings.Builder, a *ipc.SearchAnswer) {
	shown := 0 // entries: those of equal text stand for each other
	for i, h := range a.Hits {
		shown += 1 + len(h.AlsoAt)
		if i > 0 {
			b.WriteByte('\n')
		}
		facts := []string{escapeLine(h.Section)}
		if h.Task != "" {
			facts = append(facts, h.Task)
		}
		facts = append(facts, p.age(h.Time))
		if h.Stale {
			facts = append(facts, "stale: the file cannot be read")
		}
		fmt.Fprintf(b, "%s%s\n", p.style(bold, p.place(h.Path, h.Line)), p.style(dim, joined("  ", facts...)))
		text := p.highlighted(h.Snippet, h.Highlights)
		if h.Snippet == "" {
			text, _, _ = strings.Cut(strings.TrimSpace(h.Text), "\n")
			text = escapeLine(text)
		}
		fmt.Fprintf(b, "    %s\n", wrap(text, p.width, "    "))
		for _, also := range h.AlsoAt {
			fmt.Fprintf(b, "    %s\n", p.style(dim, "also at "+p.place(also.Path, also.Line)))
		}
		if h.Why != nil {
			fmt.Fprintf(b, "    %s\n", p.style(dim, why(&h)))
		}
	}
	if shown < a.Total {
		fmt.Fprintf(b, "%s\n", p.style(dim, fmt.Sprintf("(%d of %d)", shown, a.Total)))
	}
	p.note(b, a.Note, a.Index)
}

// why is a score taken apart, on one line.
func why(h *ipc.Hit) string {
	w := h.Why
	var parts []string
	for _, part := range []struct {
		name  string
		value float64
	}{{"own", w.Own}, {"near", w.Near}, {"file", w.File}, {"text", w.Text}, {"recency", w.Recency}, {"importance", w.Importance}} {
		if part.value != 0 {
			parts = append(parts, fmt.Sprintf("%s %.4g", part.name, part.value))
		}
	}
	var terms []string
	for _, t := range w.Terms {
		if w.Own != 0 { // the terms are what it is made of
			terms = append(terms, fmt.Sprintf("%s %.3g", escapeLine(t.Term), t.Score))
		}
	}
	s := fmt.Sprintf("score %.4g: %s", h.Score, strings.Join(parts, ", "))
	if len(terms) > 0 {
		s += " (own: " + strings.Join(terms, ", ") + ")"
	}
	return s
}

// highlighted is a snippet with what matched made visible. The ranges count
// characters.
func (p *printer) highlighted(snippet string, ranges [][2]int) string {
	if !p.color || len(ranges) == 0 {
		return escapeLine(snippet)
	}
	runes := []rune(snippet)
	sort.Slice(ranges, func(i, j int) bool { return ranges[i][0] < ranges[j][0] })
	var b strings.Builder
	at := 0
	for _, r := range ranges {
		from, to := max(r[0], at), min(r[1], len(runes))
		if from >= to {
			continue
		}
		b.WriteString(escapeLine(string(runes[at:from])))
		b.WriteString(p.style(hit, escapeLine(string(runes[from:to]))))
		at = to
	}
	b.WriteString(escapeLine(string(runes[at:])))
	return b.String()
}

// note tells what a person should know of an answer.
func (p *printer) note(b *strings.Builder, note string, state ipc.IndexState) {
	if note != "" {
		fmt.Fprintln(b, p.style(dim, escapeLine(note)))
	}
	if state.Degraded {
		fmt.Fprintln(b, p.style(bad, "the index is not whole: the answer may not be either"))
	}
	if state.Problem != "" {
		fmt.Fprintln(b, p.style(bad, escapeLine(state.Problem)))
	}
}

// joined is what there is of the parts, each after the separator.
func joined(separator string, parts ...string) string {
	var b strings.Builder
	for _, s := range parts {
		if s != "" {
			b.WriteString(separator + s)
		}
	}
	return b.String()
}
