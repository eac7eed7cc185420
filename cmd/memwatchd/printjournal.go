package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/ipc"
)

// journal shows what was written, newest first, as differences.
func (p *printer) journal(b *strings.Builder, a *ipc.JournalAnswer) {
	for i, w := range a.Writes {
		if i > 0 {
			b.WriteByte('\n')
		}
		state := ""
		if w.State != "done" {
			state = p.style(asBad, "["+escapeLine(w.State)+"]")
		}
		p.wrote(b, w, w.Group, state)
	}
	if len(a.Writes) == 0 {
		fmt.Fprintln(b, p.style(asMuted, "(nothing was written)"))
	}
}

// undo shows what was taken back, as it was written.
func (p *printer) undo(b *strings.Builder, a *ipc.UndoAnswer) {
	by := "" // what the first of it was taken back by
	for _, u := range a.Undone {
		state := "undone"
		switch {
		case u.Refusal != "":
			state = p.style(asBad, "not undone: "+escapeLine(u.Refusal))
		case a.DryRun:
			state = "would be undone"
		default:
			by = u.By
		}
		p.wrote(b, u.Wrote, u.Group, state)
		b.WriteByte('\n')
	}
	done := "undone"
	if a.DryRun {
		done = "would be undone"
	}
	fmt.Fprintf(b, "%s %s", plural(len(a.Undone)-a.Refused, "change"), done)
	if a.Refused > 0 {
		fmt.Fprintf(b, ", %d not", a.Refused)
	}
	if by != "" {
		b.WriteString(p.style(asMuted, "  (memwatchd undo "+escapeLine(by)+" makes them again)"))
	}
	b.WriteByte('\n')
}

// wrote shows one change: what it was, and the lines that it took and put.
func (p *printer) wrote(b *strings.Builder, w ipc.Wrote, group, state string) {
	what := w.Cause
	if w.Reason != "" {
		what += ": " + w.Reason
	}
	together := ""
	if group != w.ID {
		together = "with " + group
	}
	fmt.Fprintf(b, "%s  %s  %s%s\n", p.style(asTitle, escapeLine(w.ID)), w.Time.In(p.location).Format(time.DateTime),
		escapeLine(what), joined("  ", p.style(asMuted, escapeLine(together)), state))
	path := w.Path
	if w.To != "" {
		path = w.To
		fmt.Fprintf(b, "    %s -> %s\n", escapeLine(w.Path), p.place(w.To, 0))
	} else if w.What != "changed" {
		fmt.Fprintf(b, "    %s %s\n", p.place(w.Path, 0), escapeLine(w.What))
	}
	for _, h := range w.Hunks {
		fmt.Fprintf(b, "    %s\n", p.place(path, h.Line))
		p.diff(b, h.Diff)
	}
	if w.Forgotten {
		fmt.Fprintf(b, "    %s\n", p.style(asMuted, "(what it wrote was to be forgotten, and is not kept)"))
	}
	if w.Truncated {
		fmt.Fprintf(b, "    %s\n", p.style(asMuted, "(more was changed than is shown)"))
	}
	if w.Problem != "" {
		fmt.Fprintf(b, "    %s\n", p.style(asBad, escapeLine(w.Problem)))
	}
}

// diff shows the lines that were taken away and put in, without those around
// them: the place says where they are.
func (p *printer) diff(b *strings.Builder, diff string) {
	_, diff, _ = strings.Cut(diff, "\n") // the head
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		as := asText
		switch {
		case line == "":
			continue
		case line[0] == '-':
			as = asRemoved
		case line[0] == '+':
			as = asAdded
		case line[0] == '\\':
			as = asMuted
		default:
			continue
		}
		text := line[:1] + " " + escapeLine(line[1:])
		if line[0] == '\\' {
			text = escapeLine(line)
		}
		fmt.Fprintf(b, "    %s\n", p.style(as, text))
	}
}
