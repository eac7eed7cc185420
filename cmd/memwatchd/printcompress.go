package main

import (
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/ipc"
)

// compress shows what is summed up of each file, where that is written, and what
// stays as it is.
func (p *printer) compress(b *strings.Builder, a *ipc.CompressAnswer) {
	for _, f := range a.Plan.Files {
		part := ""
		if f.Part {
			part = "  " + p.style(asMuted, "(but for open tasks)")
		}
		fmt.Fprintf(b, "%s → %s%s\n", p.style(asTitle, escapeLine(f.From)), escapeLine(f.To), part)
		for _, l := range f.Lines {
			fmt.Fprintf(b, "  %s %s: %s\n", p.style(asAdded, "+"), escapeLine(l.Path), escapeLine(l.Text))
			whose := ""
			if l.Model {
				whose = ", in the words of the model"
			}
			fmt.Fprintf(b, "    %s\n", p.style(asMuted, escapeLine(l.Visibility+", from "+strings.Join(l.Evidence, ", ")+whose)))
		}
	}
	for _, s := range append(a.Plan.Stay[:len(a.Plan.Stay):len(a.Plan.Stay)], a.Left...) {
		fmt.Fprintf(b, "%s stays: %s\n", p.place(s.Path, 0), escapeLine(s.Reason))
	}
	switch {
	case len(a.Plan.Files)+len(a.Plan.Stay) == 0:
		fmt.Fprintln(b, p.style(asMuted, "(nothing is as old)"))
	case a.DryRun:
		fmt.Fprintf(b, "%s would be summed up and archived\n", plural(len(a.Plan.Files), "file"))
	default:
		fmt.Fprintf(b, "%s summed up and archived\n", plural(a.Applied, "file"))
	}
}

// summary shows where a summary stands.
func (p *printer) summary(b *strings.Builder, a *ipc.SummaryAnswer) {
	switch {
	case a.Disabled:
		fmt.Fprintln(b, p.style(asMuted, "("+unwritten+")"))
	case a.Replaced:
		fmt.Fprintf(b, "%s  %s\n", p.place(a.Path, a.Line), p.style(asMuted, "replaced"))
	default:
		fmt.Fprintln(b, p.place(a.Path, a.Line))
	}
}
