package main

import (
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/api"
)

// compress shows what is summed up of each file, where that is written, and what
// stays as it is.
func (p *printer) compress(b *strings.Builder, a *api.CompressAnswer) {
	for _, f := range a.Plan.Files {
		t := plainText(asPath, f.From)
		t.add(asText, " -> ")
		t.add(asPath, f.To)
		if f.Part {
			t.add(asMuted, "  (but for open tasks)")
		}
		p.long(b, t)
		for _, l := range f.Lines {
			p.hanging(b, "  ", p.style(asAdded, "+")+" ", 0, plainText(asText, l.Path+": "+l.Text))
			whose := ""
			if l.Model {
				whose = ", in the words of the model"
			}
			p.lines(b, 0, plainText(asMuted, l.Visibility+", from "+strings.Join(l.Evidence, ", ")+whose))
		}
	}
	for _, s := range append(a.Plan.Stay[:len(a.Plan.Stay):len(a.Plan.Stay)], a.Left...) {
		p.finding(b, s.Path, 0, s.Reason, "stays")
	}
	switch {
	case len(a.Plan.Files)+len(a.Plan.Stay) == 0:
		p.say(asMuted, "nothing is as old")
	case a.DryRun:
		fmt.Fprintf(b, "%s would be summed up and archived\n", plural(len(a.Plan.Files), "file"))
	default:
		fmt.Fprintf(b, "%s summed up and archived\n", plural(a.Applied, "file"))
	}
}
