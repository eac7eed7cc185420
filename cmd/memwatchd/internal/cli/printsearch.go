package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// A page is the requested part of all hits.
type page struct {
	offset int
	next   string // parameter that selects more hits; empty for none
	byFile bool   // each hit stands for its file
	notes  bool   // a list of tasks includes those of ordinary notes
}

// Limits of the lines of text and of the other places of a hit on a terminal.
const (
	maxSnippet     = 3
	maxOtherPlaces = 3
)

// printHits shows search results on a terminal: for each a place with section and
// age, and below it the indented match. For other programs it prints places.
func (p *Printer) printHits(a *api.SearchAnswer) {
	var paths []string
	for i := range a.Hits {
		h := &a.Hits[i]
		switch {
		case p.output.files && h.Host != "": // not a file of this machine
		case p.output.files:
			for _, place := range hitPlaces(h) {
				paths = append(paths, place.path)
			}
		case p.forPrograms():
			p.printPlaces(hitPlaces(h))
			if h.Stale {
				p.addHint(term.AsBad, "stale: %s is unreadable", h.Path)
			}
			p.printWhy(h)
		default:
			if i > 0 {
				p.println("")
			}
			p.printHit(h)
		}
	}
	p.printFiles(paths)
	if p.addMoreHint(a) && p.width > 0 {
		p.println("")
	}
	if len(a.Absent) > 0 && len(a.Hits) > 0 {
		p.addHint(term.AsMuted, "no entry contains %s", strings.Join(a.Absent, ", "))
	}
	for _, c := range a.Corrected {
		p.addHint(term.AsMuted, "%s", correctionText(c, p.notice))
	}
	p.addHint(term.AsMuted, "%s", a.Note)
}

// correctionText returns a correction in words. If the answer may be incomplete, an exact
// match may exist.
func correctionText(c api.Correction, notice string) string {
	return textIf(notice == "", "no exact match for "+c.Word+"; ") + "showing " + strings.Join(c.To, ", ")
}

// printHit shows a hit on a terminal.
func (p *Printer) printHit(h *api.Hit) {
	p.printTitle("", h.Path, h.Line, h.Section, h.Task, p.formatAge(h.Time), h.Language,
		textIf(h.Untrusted && h.Host == "", "written by others"), textIf(h.Conflict != "", "conflict copy"),
		textIf(h.Stale, "stale: the file is unreadable"))
	if h.Snippet == "" {
		first, _, _ := strings.Cut(strings.TrimSpace(h.Text), "\n")
		p.printIndented(maxSnippet, plainText(term.AsText, first))
	} else {
		p.printSnippet(h)
	}
	also := firstOf(h.AlsoAt, maxOtherPlaces, p.width == 0)
	for _, place := range also {
		p.printf("%s%s%s\n", indent, p.Style(term.AsMuted, "also at "), p.paintPlace(place.Path, place.Line))
	}
	if n := len(h.AlsoAt) - len(also); n > 0 {
		p.printf("%s%s\n", indent, p.Style(term.AsMuted, fmt.Sprintf("and at %s more", term.Plural(n, "place"))))
	}
	if s := h.SupersededBy; s != nil {
		p.printf("%s%s%s\n", indent, p.Style(term.AsMuted, "superseded by "), p.paintPlace(s.Path, s.Line))
	}
	if h.More > 0 {
		p.printf("%s%s\n", indent, p.Style(term.AsMuted, fmt.Sprintf("and %d more in this file", h.More)))
	}
	p.printWhy(h)
}

// printWhy shows the parts of the score of a hit, if the answer contains them.
func (p *Printer) printWhy(h *api.Hit) {
	if h.Why == nil || p.output.vimgrep {
		return
	}
	if len(h.Missing) > 0 {
		p.printIndented(0, plainText(term.AsMuted, "lacks "+strings.Join(h.Missing, ", ")))
	}
	p.printIndented(0, plainText(term.AsMuted, explainScore(h)))
}

// printSnippet shows a snippet of one line or several.
func (p *Printer) printSnippet(h *api.Hit) {
	most := maxSnippet
	if strings.Contains(h.Snippet, "\n") {
		most = 1
	}
	p.printMarked(most, h.Snippet, h.Highlights)
}

// printMarked shows the lines of a text with highlighted matches, which count characters.
func (p *Printer) printMarked(most int, text string, highlights [][2]int) {
	at := 0 // characters before the line
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		var ranges [][2]int
		for _, r := range highlights {
			ranges = append(ranges, [2]int{max(r[0]-at, 0), r[1] - at})
		}
		p.printIndented(most, markedText(line, ranges))
		at += utf8.RuneCountInString(line) + 1
	}
}

// firstOf returns the first most items of a list, or the whole list if all is
// set or if only one item would be left out.
func firstOf[T any](list []T, most int, all bool) []T {
	if all || len(list) <= most+1 {
		return list
	}
	return list[:most]
}

// addMoreHint reports whether there are further hits. If so, it adds a hint with their
// number and the flag that shows them.
func (p *Printer) addMoreHint(a *api.SearchAnswer) bool {
	if a.Next == 0 {
		return false
	}
	text := fmt.Sprintf("%d of %s", p.page.offset+len(a.Hits), term.Plural(a.Files, "file"))
	if !p.page.byFile {
		shown := p.page.offset // in entries: those with equal text are one hit
		for _, h := range a.Hits {
			shown += 1 + len(h.AlsoAt)
		}
		text = fmt.Sprintf("%d of %s", shown, term.Plural(a.Total, "entry"))
	}
	if p.page.next == "offset" {
		text += fmt.Sprintf("; --offset %d shows more", a.Next)
	} else if p.page.next != "" {
		text += fmt.Sprintf("; a higher --%s shows more", p.page.next)
	}
	p.addHint(term.AsMuted, "%s", text)
	return true
}

// explainScore returns the components of a score on one line.
func explainScore(h *api.Hit) string {
	w := h.Why
	var parts []string
	for _, part := range []struct {
		name  string
		value float64
	}{
		{"own", w.Own}, {"near", w.Near}, {"file", w.File}, {"date", w.Date}, {"text", w.Text}, {"recency", w.Recency},
		{"superseded", w.Superseded}, {"importance", w.Importance},
	} {
		if part.value != 0 {
			parts = append(parts, fmt.Sprintf("%s %.4g", part.name, part.value))
		}
	}
	if w.WordsRank != 0 {
		parts = append(parts, fmt.Sprintf("rank by words %d", w.WordsRank))
	}
	if w.MeaningRank != 0 {
		parts = append(parts, fmt.Sprintf("rank by meaning %d", w.MeaningRank), fmt.Sprintf("cosine %.2f", w.Cosine))
	}
	var terms []string
	for _, t := range w.Terms {
		if w.Own != 0 { // the terms are components of the own score
			terms = append(terms, fmt.Sprintf("%s %.3g", t.Term, t.Score))
		}
	}
	return fmt.Sprintf("score %.4g: %s", h.Score, strings.Join(parts, ", ")) +
		textIf(len(terms) > 0, " (own: "+strings.Join(terms, ", ")+")")
}

// joinNonEmpty returns the nonempty parts, each preceded by two spaces.
func joinNonEmpty(parts ...string) string {
	var b strings.Builder
	for _, s := range parts {
		if s != "" {
			b.WriteString("  " + s)
		}
	}
	return b.String()
}
