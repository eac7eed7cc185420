package cli

import (
	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// noted shows the places of new notes. Without a path, the caller may not see
// them and a hint reports that.
func (p *Printer) noted(path string, lines []int) {
	if path == "" {
		p.say(term.AsMuted, "noted, for private contexts only")
	}
	for _, line := range lines {
		if line > 0 {
			p.println(p.paintedPlace(path, line))
		}
	}
}

// captured shows the places of noted bullets and the number of bullets that
// were noted before.
func (p *Printer) captured(a *api.CaptureAnswer) {
	switch {
	case a.Queued:
		p.say(term.AsMuted, "a model is asked what it comes to, and that is noted later")
	case a.Note != "":
		p.say(term.AsMuted, "nothing is noted: %s", a.Note)
	default:
		p.noted(a.Path, a.Lines)
	}
	if a.Already > 0 {
		p.say(term.AsMuted, "%s noted before", term.Plural(a.Already, "bullet"))
	}
}

// summary shows the place of a summary.
func (p *Printer) summary(a *api.SummaryAnswer) {
	replaced := ""
	if a.Replaced {
		replaced = "replaced"
	}
	if a.Path == "" {
		p.say(term.AsMuted, "written, for private contexts only")
		return
	}
	p.titled("", a.Path, a.Line, "", replaced)
}
