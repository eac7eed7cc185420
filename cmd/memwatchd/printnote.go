package main

import (
	"fmt"
	"strings"
)

// noted shows where something was noted, or that whoever asked may not see it
// there.
func (p *printer) noted(b *strings.Builder, path string, lines []int, already int, disabled bool) {
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
	if already > 0 {
		fmt.Fprintf(b, "%s\n", p.style(asMuted, plural(already, "bullet")+" noted before"))
	}
}
