package main

import (
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/ipc"
)

// session shows what became of a draft: a plus is new, a tilde changed, an equals
// sign was there, and a minus is left out.
func (p *printer) session(b *strings.Builder, a *ipc.SessionAnswer) {
	switch {
	case a.Disabled:
		fmt.Fprintln(b, unwritten)
		return
	case a.Path != "" && a.DryRun:
		fmt.Fprintf(b, "%s%s\n", p.place(a.Path, 0), p.style(asMuted, "  nothing was written"))
	case a.Path != "":
		fmt.Fprintf(b, "%s\n", p.place(a.Path, 0))
	}
	for _, list := range []struct {
		sign  string
		as    style
		items []ipc.SessionItem
	}{{"+", asAdded, a.Added}, {"~", asChanged, a.Updated}, {"=", asMuted, a.Merged}} {
		for _, i := range list.items {
			fmt.Fprintf(b, "  %s %s: %s%s\n", p.style(list.as, list.sign), escapeLine(i.Section), escapeLine(i.Text), p.style(asMuted, fmt.Sprintf("  line %d", i.Line)))
		}
	}
	for _, l := range a.LeftOut {
		fmt.Fprintf(b, "  %s %s: left out, %s\n", p.style(asRemoved, "-"), escapeLine(l.Item), escapeLine(l.Reason))
	}
	for _, t := range a.Todos {
		fmt.Fprintf(b, "  %s %s\n", p.box(t.State), p.paintedPlace(t.Path, t.Line))
	}
	if a.Promoted != nil && a.Promoted.Path != "" {
		fmt.Fprintf(b, "  kept for long: %s\n", p.place(a.Promoted.Path, a.Promoted.Line))
	}
	for _, h := range a.Diff {
		fmt.Fprintf(b, "    %s\n", p.place(a.Path, h.Line))
		p.diff(b, h.Diff)
	}
	for _, hint := range a.Hints {
		fmt.Fprintln(b, p.style(asMuted, escapeLine(hint)))
	}
}
