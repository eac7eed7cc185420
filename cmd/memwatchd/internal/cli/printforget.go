package cli

import (
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// printRemember shows the place of the saved fact.
func (p *Printer) printRemember(a *api.RememberAnswer) {
	note := "under " + a.Section
	if a.Replaced {
		note += ", replacing the previous value"
	}
	p.printTitle("", a.Path, a.Line, "", note)
	for _, hint := range a.Hints {
		p.addHint(term.AsMuted, "%s", hint)
	}
}

// printForget shows the entries with a text, or the result of their removal.
func (p *Printer) printForget(a *api.ForgetAnswer) {
	for _, id := range a.Removed {
		p.printf("forgotten: %s\n", term.EscapeLine(id))
	}
	for _, f := range a.Failed {
		p.printWrapped(plainText(term.AsBad, "still there: "+f.ID+": "+f.Reason))
	}
	if a.Problem != "" {
		p.printWrapped(plainText(term.AsBad, a.Problem))
	}
	switch {
	case a.Token != "" && a.Total == 0:
		p.addHint(term.AsMuted, "no readable entry contains this text")
	case a.Token == "" && a.Total > 0:
		p.println("the text remains in:")
	}
	for _, e := range a.Entries {
		p.printOccurrence(&e)
	}
	if more := a.Total - len(a.Entries); more > 0 {
		p.addHint(term.AsMuted, "and %d more", more)
	}
	if a.Token == "" && a.Beyond != "" {
		p.addHint(term.AsMuted, "%s", a.Beyond)
	}
}

// printOccurrence shows the complete text that would be removed, because the user must
// see it all to consent.
func (p *Printer) printOccurrence(e *api.Occurrence) {
	note := ""
	if e.ID == "" {
		note = "cannot be removed from here: edit the file (" + e.What + ")"
	} else if e.What != "entry" {
		note = e.What
	}
	p.printTitle("", e.Path, e.Line, "", note)
	for line := range strings.Lines(e.Text) {
		p.printIndented(0, plainText(term.AsText, strings.TrimSuffix(line, "\n")))
	}
}

// printWipe shows the deleted files of a subject.
func (p *Printer) printWipe(a *api.WipeAnswer) {
	p.printf("%s of %s deleted\n", term.Plural(len(a.Deleted), "file"),
		term.EscapeLine(strings.Join(a.Subjects, ", ")))
	for _, path := range a.Deleted {
		p.printf("%s%s\n", indent, p.Style(term.AsMuted, term.EscapeLine(path)))
	}
	for _, key := range a.Unlinked {
		p.printf("unlinked: %s\n", term.EscapeLine(key))
	}
	for _, path := range a.Failed {
		p.printf("%s%s\n", p.Style(term.AsBad, "still there: "), p.paintPlace(path, 0))
	}
	if a.Problem != "" {
		p.printWrapped(plainText(term.AsBad, a.Problem))
	}
	for _, path := range a.Left {
		p.printf("kept, not part of memory: %s\n", p.paintPlace(path, 0))
	}
	if a.Beyond != "" {
		p.addHint(term.AsMuted, "%s", a.Beyond)
	}
}
