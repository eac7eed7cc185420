package main

import (
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/api"
)

// remember shows where something is kept.
func (p *printer) remember(b *strings.Builder, a *api.RememberAnswer) {
	if a.Disabled {
		p.say(asText, unwritten)
		return
	}
	note := "under " + a.Section
	if a.Replaced {
		note += ", in the place of what was there"
	}
	p.titled(b, "", a.Path, a.Line, "", note)
	for _, hint := range a.Hints {
		p.say(asMuted, "%s", hint)
	}
}

// forget shows what has a text, or what of it is gone.
func (p *printer) forget(b *strings.Builder, a *api.ForgetAnswer) {
	if a.Disabled {
		p.say(asText, unwritten)
		return
	}
	for _, id := range a.Removed {
		fmt.Fprintf(b, "forgotten: %s\n", escapeLine(id))
	}
	for _, f := range a.Failed {
		p.long(b, plainText(asBad, "still there: "+f.ID+": "+f.Reason))
	}
	if a.Problem != "" {
		p.long(b, plainText(asBad, a.Problem))
	}
	switch {
	case a.Token != "" && a.Total == 0:
		p.say(asMuted, "nothing that you may read has this text")
	case a.Token == "" && a.Total > 0:
		fmt.Fprintln(b, "the text is still in:")
	}
	for _, e := range a.Entries {
		p.trace(b, &e)
	}
	if more := a.Total - len(a.Entries); more > 0 {
		p.say(asMuted, "and %d more", more)
	}
	if a.Token == "" && a.Beyond != "" {
		p.say(asMuted, "%s", a.Beyond)
	}
}

// trace shows all of what would be removed: nobody can agree to less.
func (p *printer) trace(b *strings.Builder, e *api.Trace) {
	note := ""
	if e.ID == "" {
		note = "cannot be removed from here: edit the file (" + e.What + ")"
	} else if e.What != "entry" {
		note = e.What
	}
	p.titled(b, "", e.Path, e.Line, "", note)
	for line := range strings.Lines(e.Text) {
		p.lines(b, 0, plainText(asText, strings.TrimSuffix(line, "\n")))
	}
}

// wipe shows what is gone of a subject.
func (p *printer) wipe(b *strings.Builder, a *api.WipeAnswer) {
	if a.Disabled {
		p.say(asText, unwritten)
		return
	}
	fmt.Fprintf(b, "%s of %s deleted\n", plural(len(a.Deleted), "file"), escapeLine(strings.Join(a.Subjects, ", ")))
	for _, path := range a.Deleted {
		fmt.Fprintf(b, "%s%s\n", indent, p.style(asMuted, escapeLine(path)))
	}
	for _, key := range a.Unlinked {
		fmt.Fprintf(b, "unlinked: %s\n", escapeLine(key))
	}
	for _, path := range a.Failed {
		fmt.Fprintf(b, "%s%s\n", p.style(asBad, "still there: "), p.paintedPlace(path, 0))
	}
	if a.Problem != "" {
		p.long(b, plainText(asBad, a.Problem))
	}
	for _, path := range a.Left {
		fmt.Fprintf(b, "left, as it is no memory: %s\n", p.paintedPlace(path, 0))
	}
	if a.Beyond != "" {
		p.say(asMuted, "%s", a.Beyond)
	}
}
