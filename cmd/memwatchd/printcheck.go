package main

import (
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/ipc"
)

// check shows what is wrong, a line each.
func (p *printer) check(b *strings.Builder, a *ipc.CheckAnswer) {
	for _, s := range a.Mended {
		fmt.Fprintf(b, "%s: %s %s\n", p.place(s.Path, 0), escapeLine(s.Reason), p.style(asMuted, "[mended]"))
	}
	for _, s := range a.Refused {
		fmt.Fprintf(b, "%s: %s %s\n", p.place(s.Path, 0), escapeLine(s.Reason), p.style(asMuted, "[not mended]"))
	}
	for _, d := range a.Differing {
		fmt.Fprintf(b, "%s: %s %s\n", p.place(d.Path, 0), escapeLine(d.Reason), p.style(asMuted, "[differs]"))
	}
	for _, f := range a.Problems {
		p.problem(b, f)
	}
	for _, s := range a.Skipped {
		fmt.Fprintf(b, "%s: %s %s\n", p.place(s.Path, 0), escapeLine(s.Reason), p.style(asMuted, "[skipped]"))
	}
	fmt.Fprintf(b, "%s compared, %d differ from the index, %s, %d skipped\n",
		plural(a.Files, "file"), len(a.Differing), plural(len(a.Problems), "problem"), len(a.Skipped))
}
