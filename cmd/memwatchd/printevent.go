package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/memwatchd/memwatchd/api"
)

// event shows one thing that happened, on one line: when, what, where, and what
// there is to say of it. On a terminal the first two make columns.
func (p *printer) event(b *strings.Builder, e *api.Event) {
	detail := e.Message
	switch e.Event {
	case "indexed":
		detail = plural(e.Entries, "entry")
	case "write":
		detail = e.Cause + " " + e.ID
	}
	as := asTitle
	if e.Event == "problem" || e.Event == "lost" {
		as = asBad
	}
	when, what := e.Time.In(p.zone()).Format(time.DateTime), escapeLine(e.Event)
	if p.width > 0 {
		when, what = e.Time.In(p.zone()).Format(time.TimeOnly), fmt.Sprintf("%-9s", what)
	}
	line, where := when+" "+what, ""
	if e.Path != "" {
		where = p.place(e.Path, 0)
		line += "  " + where
	}
	detail = escapeLine(detail)
	if room := p.width - uniseg.StringWidth(line) - 2; p.width > 0 && detail != "" {
		detail = cutEnd(detail, max(room, roomy))
	}
	fmt.Fprintf(b, "%s %s%s%s\n", p.style(asMuted, when), p.style(as, what), joined("  ", p.style(asPath, where)), joined("  ", detail))
}
