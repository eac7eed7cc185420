package main

import (
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/ipc"
)

// event shows one thing that happened.
func (p *printer) event(b *strings.Builder, e *ipc.Event) {
	detail := escapeLine(e.Message)
	switch e.Event {
	case "indexed":
		detail = plural(e.Entries, "entry")
	case "write":
		detail = escapeLine(e.Cause) + " " + p.style(asMuted, escapeLine(e.ID))
	}
	where := ""
	if e.Path != "" {
		where = p.place(e.Path, 0)
	}
	fmt.Fprintf(b, "%s %s%s\n", e.Time.In(p.zone()).Format("15:04:05"), p.style(asTitle, escapeLine(e.Event)), joined("  ", where, detail))
}
