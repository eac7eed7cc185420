package cli

import (
	"strings"

	"github.com/rivo/uniseg"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// related shows links in both directions: the place, the target or "<-", and
// the text.
func (p *Printer) related(a *api.RelatedAnswer) {
	for _, l := range a.To {
		target := l.Target
		if l.Path != "" {
			target = p.locate(l.Path)
		}
		if l.Anchor != "" {
			target += "#" + l.Anchor
		}
		p.linked(a.Path, l.Line, " -> "+term.EscapeLine(target), strings.Join(strings.Fields(l.Text), " "))
	}
	for _, l := range a.From {
		first, _, _ := strings.Cut(strings.TrimSpace(l.Text), "\n")
		p.linked(l.Path, l.Line, " <-", first)
	}
	if len(a.To)+len(a.From) == 0 {
		p.say(term.AsMuted, "no links")
	}
	p.note("", a.Index)
}

// linked shows one link, on one line if it fits.
func (p *Printer) linked(path string, line int, arrow, words string) {
	p.out.WriteString(p.paintedPlace(path, line) + arrow)
	if t := term.EscapeLine(words); p.width == 0 || uniseg.StringWidth(p.place(path, line)+arrow+t)+2 <= p.width {
		p.println(p.Style(term.AsMuted, joined(t)))
		return
	}
	p.println("")
	p.lines(maxSnippet, plainText(term.AsMuted, words))
}
