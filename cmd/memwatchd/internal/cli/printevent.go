package cli

import (
	"fmt"
	"time"

	"github.com/rivo/uniseg"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// printEvent shows one event on one line: time, kind, place and details. On a
// terminal time and kind form columns.
func (p *Printer) printEvent(e *api.Event) {
	detail := e.Message
	switch e.Event {
	case "indexed":
		detail = term.Plural(e.Entries, "entry")
	case "write":
		detail = e.Cause + " " + e.ID
	}
	as := term.AsTitle
	if e.Event == "problem" || e.Event == "lost" {
		as = term.AsBad
	}
	when, name := e.Time.In(p.location).Format(time.DateTime), term.EscapeLine(e.Event)
	if p.width > 0 {
		when, name = e.Time.In(p.location).Format(time.TimeOnly), fmt.Sprintf("%-9s", name)
	}
	line, where := when+" "+name, ""
	if e.Path != "" {
		where = p.formatPlace(e.Path, 0)
		line += "  " + where
	}
	detail = term.EscapeLine(detail)
	if room := p.width - uniseg.StringWidth(line) - 2; p.width > 0 && detail != "" {
		detail = term.CutEnd(detail, max(room, minTextWidth))
	}
	p.printf("%s %s%s%s\n", p.Style(term.AsMuted, when), p.Style(as, name),
		joinNonEmpty(p.Style(term.AsPath, where)), joinNonEmpty(detail))
}
