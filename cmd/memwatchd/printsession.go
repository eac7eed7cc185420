package main

import (
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/api"
)

// session shows what became of a draft: a plus is new, a tilde changed, an equals
// sign was there, and a minus is left out.
func (p *printer) session(b *strings.Builder, a *api.SessionAnswer) {
	if a.Disabled {
		p.say(asText, unwritten)
		return
	}
	if a.Path != "" {
		fmt.Fprintln(b, p.paintedPlace(a.Path, 0))
	}
	for _, list := range []struct {
		sign  string
		as    style
		items []api.SessionItem
	}{{"+", asAdded, a.Added}, {"~", asChanged, a.Updated}, {"=", asMuted, a.Merged}} {
		for _, i := range list.items {
			var t text
			t.add(asText, i.Section+": "+i.Text)
			t.add(asMuted, fmt.Sprintf("  line %d", i.Line))
			p.hanging(b, "  ", p.style(list.as, list.sign)+" ", 0, t)
		}
	}
	for _, l := range a.LeftOut {
		p.hanging(b, "  ", p.style(asRemoved, "-")+" ", 0, plainText(asText, l.Item+": left out, "+l.Reason))
	}
	for _, t := range a.Todos {
		fmt.Fprintf(b, "  %s %s\n", p.box(t.State), p.paintedPlace(t.Path, t.Line))
	}
	if a.Promoted != nil && a.Promoted.Path != "" {
		fmt.Fprintf(b, "  kept for long: %s\n", p.paintedPlace(a.Promoted.Path, a.Promoted.Line))
	}
	p.diff(b, createdBy(a.Path, a.Diff), a.Path, a.Diff)
	if a.DryRun && a.Path != "" {
		p.say(asMuted, "nothing was written: this is what would change")
	}
	for _, hint := range a.Hints {
		p.say(asMuted, "%s", hint)
	}
}
