package main

import (
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/ipc"
)

// remember shows where something is kept.
func (p *printer) remember(b *strings.Builder, a *ipc.RememberAnswer) {
	if a.Disabled {
		fmt.Fprintln(b, unwritten)
		return
	}
	note := "under " + escapeLine(a.Section)
	if a.Replaced {
		note += ", in the place of what was there"
	}
	fmt.Fprintf(b, "%s%s\n", p.place(a.Path, a.Line), p.style(asMuted, "  "+note))
	for _, hint := range a.Hints {
		fmt.Fprintf(b, "    %s\n", p.style(asMuted, escapeLine(hint)))
	}
}

// forget shows what has a text, or what of it is gone.
func (p *printer) forget(b *strings.Builder, a *ipc.ForgetAnswer) {
	if a.Disabled {
		fmt.Fprintln(b, unwritten)
		return
	}
	for _, id := range a.Removed {
		fmt.Fprintf(b, "forgotten: %s\n", escapeLine(id))
	}
	for _, f := range a.Failed {
		fmt.Fprintf(b, "%s\n", p.style(asBad, escapeLine("still there: "+f.ID+": "+f.Reason)))
	}
	if a.Problem != "" {
		fmt.Fprintf(b, "%s\n", p.style(asBad, escapeLine(a.Problem)))
	}
	switch {
	case a.Token != "" && a.Total == 0:
		fmt.Fprintln(b, "nothing that you may read has this text")
	case a.Token == "" && a.Total > 0:
		fmt.Fprintln(b, "the text is still in:")
	}
	for _, e := range a.Entries {
		note := ""
		if e.ID == "" {
			note = "  cannot be removed from here: edit the file (" + e.What + ")"
		} else if e.What != "entry" {
			note = "  " + e.What
		}
		fmt.Fprintf(b, "%s%s\n", p.place(e.Path, e.Line), p.style(asMuted, note))
		for line := range strings.Lines(e.Text) {
			fmt.Fprintf(b, "    %s\n", escapeLine(strings.TrimSuffix(line, "\n")))
		}
	}
	if more := a.Total - len(a.Entries); more > 0 {
		fmt.Fprintf(b, "and %d more\n", more)
	}
	if a.Token == "" && a.Beyond != "" {
		fmt.Fprintf(b, "%s\n", p.style(asMuted, escapeLine(a.Beyond)))
	}
}

// wipe shows what is gone of a subject.
func (p *printer) wipe(b *strings.Builder, a *ipc.WipeAnswer) {
	if a.Disabled {
		fmt.Fprintln(b, unwritten)
		return
	}
	fmt.Fprintf(b, "%s of %s deleted\n", plural(len(a.Deleted), "file"), escapeLine(strings.Join(a.Subjects, ", ")))
	for _, path := range a.Deleted {
		fmt.Fprintf(b, "    %s\n", p.style(asMuted, escapeLine(path)))
	}
	for _, key := range a.Unlinked {
		fmt.Fprintf(b, "unlinked: %s\n", escapeLine(key))
	}
	for _, path := range a.Failed {
		fmt.Fprintf(b, "%s\n", p.style(asBad, escapeLine("still there: "+path)))
	}
	if a.Problem != "" {
		fmt.Fprintf(b, "%s\n", p.style(asBad, escapeLine(a.Problem)))
	}
	for _, path := range a.Left {
		fmt.Fprintf(b, "left, as it is no memory: %s\n", p.place(path, 0))
	}
	fmt.Fprintf(b, "%s\n", p.style(asMuted, escapeLine(a.Beyond)))
}
