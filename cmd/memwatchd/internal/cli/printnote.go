package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// printNotePlaces shows the places of new notes. Without a path, the caller may not see
// them and a hint reports that.
func (p *Printer) printNotePlaces(path string, lines []int) {
	if path == "" {
		p.addHint(term.AsMuted, "noted; readable in private contexts only")
	}
	for _, line := range lines {
		if line > 0 {
			p.println(p.paintPlace(path, line))
		}
	}
}

// printCapture shows the places of noted bullets and the number of bullets that
// were noted before.
func (p *Printer) printCapture(a *api.CaptureAnswer) {
	switch {
	case a.Queued:
		p.addHint(term.AsMuted, "a model will summarize the text; the note follows")
	case a.Note != "":
		p.addHint(term.AsMuted, "nothing noted: %s", a.Note)
	default:
		p.printNotePlaces(a.Path, a.Lines)
	}
	if a.Already > 0 {
		p.addHint(term.AsMuted, "%s noted earlier", term.Plural(a.Already, "bullet"))
	}
}

// printSummary shows the place of a summary.
func (p *Printer) printSummary(a *api.SummaryAnswer) {
	if a.Path == "" {
		p.addHint(term.AsMuted, "written; readable in private contexts only")
		return
	}
	p.printTitle("", a.Path, a.Line, "", textIf(a.Replaced, "replaced"))
}

// printSession shows the result of a draft: + is new, ~ changed, = already present
// and - left out.
func (p *Printer) printSession(a *api.SessionAnswer) {
	if a.Path != "" {
		p.println(p.paintPlace(a.Path, 0))
	}
	for _, list := range []struct {
		sign  string
		as    term.Style
		items []api.SessionItem
	}{{"+", term.AsAdded, a.Added}, {"~", term.AsChanged, a.Updated}, {"=", term.AsMuted, a.Merged}} {
		for _, i := range list.items {
			var t text
			t.add(term.AsText, i.Section+": "+i.Text)
			t.add(term.AsMuted, fmt.Sprintf("  line %d", i.Line))
			t.add(term.AsMuted, textIf(i.Similar != "", ", similar to: "+i.Similar))
			p.printHanging("  ", p.Style(list.as, list.sign)+" ", 0, t)
		}
	}
	for _, l := range a.LeftOut {
		p.printHanging("  ", p.Style(term.AsRemoved, "-")+" ", 0,
			plainText(term.AsText, l.Item+": left out, "+l.Reason))
	}
	for _, t := range a.Todos {
		p.printf("  %s %s\n", p.formatCheckbox(t.State), p.paintPlace(t.Path, t.Line))
	}
	if a.Promoted != nil && a.Promoted.Path != "" {
		p.printf("  saved permanently: %s\n", p.paintPlace(a.Promoted.Path, a.Promoted.Line))
	}
	p.printDiff(pathBefore(a.Path, a.Diff), a.Path, a.Diff)
	if a.DryRun && a.Path != "" {
		p.addHint(term.AsMuted, "dry run: nothing was written")
	}
	for _, hint := range a.Hints {
		p.addHint(term.AsMuted, "%s", hint)
	}
}

// printRemember shows the place of the saved fact.
func (p *Printer) printRemember(a *api.RememberAnswer) {
	p.printTitle("", a.Path, a.Line, "", "under "+a.Section+textIf(a.Replaced, ", replacing the previous value"))
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
		p.addHint(term.AsMuted, "no readable entry contains these words")
	case a.Token == "" && a.Total > 0:
		p.println("the text remains in:")
	}
	for _, e := range a.Entries {
		p.printOccurrence(&e)
	}
	if more := a.Total - len(a.Entries); more > 0 {
		p.addHint(term.AsMuted, "and %d more", more)
	}
	if a.Token == "" {
		p.addHint(term.AsMuted, "%s", a.Beyond)
	}
}

// printOccurrence shows the complete text that would be removed, because the user must
// see it all to consent. Without a terminal, it also shows the id.
func (p *Printer) printOccurrence(e *api.Occurrence) {
	number, writer, id, what := "", "", "", e.What
	switch {
	case e.ID == "":
		what = "cannot be removed from here: edit the file (" + what + ")"
	case what == "entry":
		what = ""
	}
	if e.ID != "" {
		number = fmt.Sprintf("%d. ", e.Number)
	}
	if e.Writer == api.WrittenElsewhere {
		writer = "not written by memwatchd"
	}
	if p.width == 0 {
		id = e.ID
	}
	p.printTitle(number, e.Path, e.Line, "", what, writer, id)
	var marks [][2]int // with the guillemets, which show the matches without colors
	for i, h := range e.Highlights {
		marks = append(marks, [2]int{h[0] + 2*i, h[1] + 2*i + 2})
	}
	p.printMarked(0, e.Marked(), marks)
}

// printWipe shows the deleted files of a subject.
func (p *Printer) printWipe(a *api.WipeAnswer) {
	p.printf("%s of %s %sdeleted\n", term.Plural(len(a.Deleted), "file"),
		term.EscapeLine(strings.Join(a.Subjects, ", ")), textIf(a.DryRun, "would be "))
	for _, path := range a.Deleted {
		p.printf("%s%s\n", indent, p.Style(term.AsMuted, term.EscapeLine(path)))
	}
	for _, key := range a.Unlinked {
		p.printf("%s %s\n", cmp.Or(textIf(a.DryRun, "would be unlinked:"), "unlinked:"), term.EscapeLine(key))
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
	p.addHint(term.AsMuted, "%s", a.Beyond)
}
