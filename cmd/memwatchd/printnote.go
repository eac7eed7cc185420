package main

import (
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/ipc"
)

// noted shows where something was noted, or that whoever asked may not see it
// there.
func (p *printer) noted(b *strings.Builder, path string, lines []int, disabled bool) {
	switch {
	case disabled:
		fmt.Fprintln(b, unwritten)
	case path == "":
		fmt.Fprintln(b, "noted, for private contexts only")
	}
	for _, line := range lines {
		if line > 0 {
			fmt.Fprintf(b, "%s\n", p.place(path, line))
		}
	}
}

// captured shows where bullets were noted, and how many were there before.
func (p *printer) captured(b *strings.Builder, a *ipc.CaptureAnswer) {
	switch {
	case a.Queued:
		fmt.Fprintln(b, "a model is asked what it comes to, and that is noted later")
	case a.Note != "":
		fmt.Fprintln(b, "nothing is noted: "+a.Note)
	default:
		p.noted(b, a.Path, a.Lines, a.Disabled)
	}
	if a.Already > 0 {
		fmt.Fprintf(b, "%s\n", p.style(asMuted, plural(a.Already, "bullet")+" noted before"))
	}
}
