package cli

import (
	"fmt"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// printNotePlaces shows the places of new notes. Without a path, the caller may not see
// them and a hint reports that.
func (p *Printer) printNotePlaces(path string, lines []int) {
	if path == "" {
		p.addHint(term.AsMuted, "noted; readable in private contexts only")
	}
	for _, line := range lines {
		if line > 0 {
			p.println(p.paintPlace(path, line))
		}
	}
}

// printCapture shows the places of noted bullets and the number of bullets that
// were noted before.
func (p *Printer) printCapture(a *api.CaptureAnswer) {
	switch {
	case a.Queued:
		p.addHint(term.AsMuted, "a model will summarize the text; the note follows")
	case a.Note != "":
		p.addHint(term.AsMuted, "nothing noted: %s", a.Note)
	default:
		p.printNotePlaces(a.Path, a.Lines)
	}
	if a.Already > 0 {
		p.addHint(term.AsMuted, "%s noted earlier", term.Plural(a.Already, "bullet"))
	}
}

// printSummary shows the place of a summary.
func (p *Printer) printSummary(a *api.SummaryAnswer) {
	if a.Path == "" {
		p.addHint(term.AsMuted, "written; readable in private contexts only")
		return
	}
	p.printTitle("", a.Path, a.Line, "", textIf(a.Replaced, "replaced"))
}

// printSession shows the result of a draft: + is new, ~ changed, = already present
// and - left out.
func (p *Printer) printSession(a *api.SessionAnswer) {
	if a.Path != "" {
		p.println(p.paintPlace(a.Path, 0))
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
			if i.Similar != "" {
				t.add(term.AsMuted, ", similar to: "+i.Similar)
			}
			p.printHanging("  ", p.Style(list.as, list.sign)+" ", 0, t)
		}
	}
	for _, l := range a.LeftOut {
		p.printHanging("  ", p.Style(term.AsRemoved, "-")+" ", 0,
			plainText(term.AsText, l.Item+": left out, "+l.Reason))
	}
	for _, t := range a.Todos {
		p.printf("  %s %s\n", p.formatCheckbox(t.State), p.paintPlace(t.Path, t.Line))
	}
	if a.Promoted != nil && a.Promoted.Path != "" {
		p.printf("  saved permanently: %s\n", p.paintPlace(a.Promoted.Path, a.Promoted.Line))
	}
	p.printDiff(pathBefore(a.Path, a.Diff), a.Path, a.Diff)
	if a.DryRun && a.Path != "" {
		p.addHint(term.AsMuted, "dry run: nothing was written")
	}
	for _, hint := range a.Hints {
		p.addHint(term.AsMuted, "%s", hint)
	}
}
