package main

import (
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/brief"
	"github.com/memwatchd/memwatchd/ipc"
)

// context shows a block as it is, since it is made to be piped into a prompt;
// and, aside, what is not in it, and what its owner should know.
func (p *printer) context(b *strings.Builder, a *ipc.ContextAnswer) {
	if p.terminal {
		b.WriteString(escapeText(a.Text))
	} else {
		b.WriteString(a.Text)
	}
	if p.aside == nil {
		return
	}
	if left := leftOut(a.LeftOut); left != "" {
		fmt.Fprintln(p.aside, "left out: "+left)
	}
	for _, hint := range a.Hints {
		fmt.Fprintln(p.aside, "hint: "+escapeLine(hint))
	}
}

// leftOut says how much of what was left out.
func leftOut(l brief.Left) string {
	var parts []string
	for _, c := range []struct {
		n   int
		one string
	}{
		{l.LongTerm, "long-term line"}, {l.Recent, "recent summary"}, {l.Files, "file"}, {l.Items, "item"},
		{l.Entries, "entry"}, {l.Characters, "character"}, {l.Untrusted, "untrusted text"},
	} {
		if c.n > 0 {
			parts = append(parts, plural(c.n, c.one))
		}
	}
	return strings.Join(parts, ", ")
}
