package main

import (
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/api"
)

// noted shows where something was noted, or that whoever asked may not see it
// there.
func (p *printer) noted(b *strings.Builder, path string, lines []int, disabled bool) {
	switch {
	case disabled:
		p.say(asText, unwritten)
	case path == "":
		p.say(asMuted, "noted, for private contexts only")
	}
	for _, line := range lines {
		if line > 0 {
			fmt.Fprintf(b, "%s\n", p.paintedPlace(path, line))
		}
	}
}

// captured shows where bullets were noted, and how many were there before.
func (p *printer) captured(b *strings.Builder, a *api.CaptureAnswer) {
	switch {
	case a.Queued:
		p.say(asMuted, "a model is asked what it comes to, and that is noted later")
	case a.Note != "":
		p.say(asMuted, "nothing is noted: %s", a.Note)
	default:
		p.noted(b, a.Path, a.Lines, a.Disabled)
	}
	if a.Already > 0 {
		p.say(asMuted, "%s noted before", plural(a.Already, "bullet"))
	}
}

// summary shows where a summary stands.
func (p *printer) summary(b *strings.Builder, a *api.SummaryAnswer) {
	replaced := ""
	if a.Replaced {
		replaced = "replaced"
	}
	switch {
	case a.Disabled:
		p.say(asText, unwritten)
	case a.Path == "":
		p.say(asMuted, "written, for private contexts only")
	default:
		p.titled(b, "", a.Path, a.Line, "", replaced)
	}
}
