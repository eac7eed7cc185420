package cli

import (
	"strings"

	"github.com/rivo/uniseg"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// printRelated shows links in both directions: the place, the target or "<-", and
// the text.
func (p *Printer) printRelated(a *api.RelatedAnswer) {
	var paths []string
	for _, l := range a.To {
		target := l.Target
		if l.Path != "" {
			target = p.locate(l.Path)
		}
		if l.Anchor != "" {
			target += "#" + l.Anchor
		}
		paths = append(paths, l.Path)
		p.printLink(a.Path, l.Line, "-> "+target, strings.Join(strings.Fields(l.Text), " "))
	}
	for _, l := range a.From {
		first, _, _ := strings.Cut(strings.TrimSpace(l.Text), "\n")
		paths = append(paths, l.Path)
		p.printLink(l.Path, l.Line, "<-", first)
	}
	if p.output.files {
		p.printFiles(paths)
	}
	if len(a.To)+len(a.From) == 0 {
		p.addHint(term.AsMuted, "no links")
	}
	p.addIndexHints("", a.Index)
}

// printLink shows one link, on one line if it fits.
func (p *Printer) printLink(path string, line int, arrow, words string) {
	switch {
	case p.output.files:
		return
	case p.forPrograms():
		p.printPlaces([]listed{{path: path, line: line, text: strings.TrimSpace(arrow + "  " + words)}})
		return
	}
	arrow = term.EscapeLine(arrow)
	p.out.WriteString(p.paintPlace(path, line) + " " + arrow)
	if t := term.EscapeLine(words); uniseg.StringWidth(p.formatPlace(path, line)+arrow+t)+3 <= p.width {
		p.println(p.Style(term.AsMuted, joinNonEmpty(t)))
		return
	}
	p.println("")
	p.printIndented(maxSnippet, plainText(term.AsMuted, words))
}
