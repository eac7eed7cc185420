package cli

import (
	"fmt"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// session shows the result of a draft: + is new, ~ changed, = already present
// and - left out.
func (p *Printer) session(a *api.SessionAnswer) {
	if a.Path != "" {
		p.println(p.paintedPlace(a.Path, 0))
	}
	for _, list := range []struct {
		sign  string
		as    term.Style
		items []api.SessionItem
	}{{"+", term.AsAdded, a.Added}, {"~", term.AsChanged, a.Updated}, {"=", term.AsMuted, a.Merged}} {
		for _, i := range list.items {
			var t text
			t.add(term.AsText, i.Section+": "+i.Text)
			t.add(term.AsMuted, fmt.Sprintf("  line %d", i.Line))
			p.hanging("  ", p.Style(list.as, list.sign)+" ", 0, t)
		}
	}
	for _, l := range a.LeftOut {
		p.hanging("  ", p.Style(term.AsRemoved, "-")+" ", 0, plainText(term.AsText, l.Item+": left out, "+l.Reason))
	}
	for _, t := range a.Todos {
		p.printf("  %s %s\n", p.box(t.State), p.paintedPlace(t.Path, t.Line))
	}
	if a.Promoted != nil && a.Promoted.Path != "" {
		p.printf("  kept for long: %s\n", p.paintedPlace(a.Promoted.Path, a.Promoted.Line))
	}
	p.diff(createdBy(a.Path, a.Diff), a.Path, a.Diff)
	if a.DryRun && a.Path != "" {
		p.say(term.AsMuted, "nothing was written: this is what would change")
	}
	for _, hint := range a.Hints {
		p.say(term.AsMuted, "%s", hint)
	}
}
