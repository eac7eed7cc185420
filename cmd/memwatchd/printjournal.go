package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// journal shows what was written, newest first, as differences.
func (p *printer) journal(b *strings.Builder, a *api.JournalAnswer) {
	for i, w := range a.Writes {
		if i > 0 {
			b.WriteByte('\n')
		}
		state := ""
		if w.State != "done" {
			state = "[" + w.State + "]"
		}
		p.wrote(b, w, asBad, state)
	}
	if len(a.Writes) == 0 {
		p.say(asMuted, "nothing was written")
	}
}

// undo shows what was taken back, as the differences that this makes: of what was
// not, only where it is.
func (p *printer) undo(b *strings.Builder, a *api.UndoAnswer) {
	by := "" // what the first of it was taken back by
	for _, u := range a.Undone {
		switch {
		case u.Refusal != "":
			p.change(b, u.Wrote, asBad, "not undone: "+u.Refusal)
			fmt.Fprintf(b, "%s%s\n", indent, p.paintedPlace(cmp.Or(u.To, u.Path), 0))
		case a.DryRun:
			p.wrote(b, backwards(u.Wrote), asText, "would be undone")
		default:
			by = u.By
			p.wrote(b, backwards(u.Wrote), asText, "undone")
		}
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
	b.WriteByte('\n')
	if by != "" {
		p.say(asMuted, "memwatchd undo %s makes them again", by)
	}
}

// backwards is a change as it is taken back: its hunks are told so already.
func backwards(w api.Wrote) api.Wrote {
	switch w.What {
	case "created":
		w.What = "removed"
	case "removed":
		w.What = "created"
	case "moved":
		w.Path, w.To = w.To, w.Path
	}
	return w
}

// wrote shows one change: what it was, what became of it, and the lines that it
// took and put.
func (p *printer) wrote(b *strings.Builder, w api.Wrote, as style, state string) {
	p.change(b, w, as, state)
	before, after := w.Path, cmp.Or(w.To, w.Path)
	switch w.What {
	case "created":
		before = ""
	case "removed":
		after = ""
	case "moved":
		from, to := diffName("a/"+w.Path), diffName("b/"+w.To)
		fmt.Fprintln(b, p.style(asTitle, "diff --git "+strings.TrimSuffix(from, "\t")+" "+strings.TrimSuffix(to, "\t")))
		fmt.Fprintf(b, "rename from %s\nrename to %s\n", strings.TrimSuffix(diffName(w.Path), "\t"), strings.TrimSuffix(diffName(w.To), "\t"))
	}
	if len(w.Hunks) == 0 && w.What != "changed" && w.What != "moved" {
		fmt.Fprintf(b, "%s%s %s\n", indent, p.paintedPlace(w.Path, 0), escapeLine(w.What))
	}
	p.diff(b, before, after, w.Hunks)
	if w.Forgotten {
		p.lines(b, 0, plainText(asMuted, "(what it wrote was to be forgotten, and is not kept)"))
	}
	if w.Truncated {
		p.lines(b, 0, plainText(asMuted, "(more was changed than is shown)"))
	}
	if w.Problem != "" {
		p.lines(b, 0, plainText(asBad, w.Problem))
	}
}

// change is the line of a change: what it was, and what became of it.
func (p *printer) change(b *strings.Builder, w api.Wrote, as style, state string) {
	var t text
	t.add(asText, w.Time.In(p.zone()).Format(time.DateTime)+"  "+w.Cause)
	if w.Reason != "" {
		t.add(asText, ": "+w.Reason)
	}
	if w.Group != w.ID {
		t.add(asMuted, "  with "+w.Group)
	}
	if state != "" {
		t.add(asText, "  ")
		t.add(as, state)
	}
	p.hanging(b, "", p.style(asTitle, escapeLine(w.ID))+"  ", 0, t)
}
