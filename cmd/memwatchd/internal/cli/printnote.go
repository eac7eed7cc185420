package cli

import (
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
	replaced := ""
	if a.Replaced {
		replaced = "replaced"
	}
	if a.Path == "" {
		p.addHint(term.AsMuted, "written; readable in private contexts only")
		return
	}
	p.printTitle("", a.Path, a.Line, "", replaced)
}
