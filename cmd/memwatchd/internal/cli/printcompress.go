package cli

import (
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// printCompress shows the summary of each file with its destination, and the
// unchanged files with their reasons.
func (p *Printer) printCompress(a *api.CompressAnswer) {
	for _, f := range a.Plan.Files {
		t := plainText(term.AsPath, f.From)
		t.add(term.AsText, " -> ")
		t.add(term.AsPath, f.To)
		if f.Partial {
			t.add(term.AsMuted, "  (except open tasks)")
		}
		p.printWrapped(t)
		for _, l := range f.Lines {
			p.printHanging("  ", p.Style(term.AsAdded, "+")+" ", 0, plainText(term.AsText, l.Path+": "+l.Text))
			whose := ""
			if l.Model {
				whose = ", summarized by the model"
			}
			p.printIndented(0, plainText(term.AsMuted, l.Visibility+", from "+strings.Join(l.Evidence, ", ")+whose))
		}
	}
	for _, s := range append(a.Plan.Stay[:len(a.Plan.Stay):len(a.Plan.Stay)], a.Left...) {
		p.printFinding(s.Path, 0, s.Reason, "stays")
	}
	switch {
	case len(a.Plan.Files)+len(a.Plan.Stay) == 0:
		p.addHint(term.AsMuted, "no sessions are old enough")
	case a.DryRun:
		p.printf("%s would be summarized and archived\n", term.Plural(len(a.Plan.Files), "file"))
	default:
		p.printf("%s summarized and archived\n", term.Plural(a.Applied, "file"))
	}
}
