package cli

import (
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// compress shows the summary of each file with its destination, and the
// unchanged files with their reasons.
func (p *Printer) compress(a *api.CompressAnswer) {
	for _, f := range a.Plan.Files {
		t := plainText(term.AsPath, f.From)
		t.add(term.AsText, " -> ")
		t.add(term.AsPath, f.To)
		if f.Part {
			t.add(term.AsMuted, "  (but for open tasks)")
		}
		p.long(t)
		for _, l := range f.Lines {
			p.hanging("  ", p.Style(term.AsAdded, "+")+" ", 0, plainText(term.AsText, l.Path+": "+l.Text))
			whose := ""
			if l.Model {
				whose = ", in the words of the model"
			}
			p.lines(0, plainText(term.AsMuted, l.Visibility+", from "+strings.Join(l.Evidence, ", ")+whose))
		}
	}
	for _, s := range append(a.Plan.Stay[:len(a.Plan.Stay):len(a.Plan.Stay)], a.Left...) {
		p.finding(s.Path, 0, s.Reason, "stays")
	}
	switch {
	case len(a.Plan.Files)+len(a.Plan.Stay) == 0:
		p.say(term.AsMuted, "nothing is as old")
	case a.DryRun:
		p.printf("%s would be summed up and archived\n", term.Plural(len(a.Plan.Files), "file"))
	default:
		p.printf("%s summed up and archived\n", term.Plural(a.Applied, "file"))
	}
}
