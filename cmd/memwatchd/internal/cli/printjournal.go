package cli

import (
	"cmp"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// printJournal shows the changes, newest first, as differences or on a line each.
func (p *Printer) printJournal(a *api.JournalAnswer) {
	if p.output.files {
		var paths []string
		for _, w := range a.Writes {
			paths = append(paths, cmp.Or(w.To, w.Path))
		}
		p.printFiles(paths)
		return
	}
	for i, w := range a.Writes {
		state := textIf(w.State != "done", "["+w.State+"]")
		if p.oneline {
			what := term.EscapeLine(strings.Join(strings.Fields(w.What+" "+state), " "))
			p.printf("%s  %s  %s  %s  %s\n", p.Style(term.AsTitle, term.EscapeLine(w.ID)),
				w.Time.In(p.location).Format(time.DateTime), p.paintPlace(cmp.Or(w.To, w.Path), 0), what,
				p.Style(term.AsMuted, term.EscapeLine(w.Cause+byProgram(&w))))
			continue
		}
		if i > 0 {
			p.println("")
		}
		p.printWrite(w, term.AsBad, state)
	}
	if len(a.Writes) == 0 {
		p.addHint(term.AsMuted, "nothing was written")
	}
}

// byProgram returns the program that requested a change, if known, for the end of
// its line.
func byProgram(w *api.WriteRecord) string { return textIf(w.Program != "", "  by "+w.Program) }

// printUndo shows undone changes as the resulting differences, and refused ones with
// their place only.
func (p *Printer) printUndo(a *api.UndoAnswer) {
	by, made := "", "undone" // id of a change that undid another
	shown := reverseChange
	if a.Again {
		made, shown = "made again", func(w api.WriteRecord) api.WriteRecord { return w }
	}
	for _, u := range a.Undone {
		switch {
		case u.Refusal != "":
			p.printChangeHeader(u.WriteRecord, term.AsBad, "not "+made+": "+u.Refusal)
			p.printf("%s%s\n", indent, p.paintPlace(cmp.Or(u.To, u.Path), 0))
		case a.DryRun:
			p.printWrite(shown(u.WriteRecord), term.AsText, "would be "+made)
		default:
			by = u.By
			p.printWrite(shown(u.WriteRecord), term.AsText, made)
		}
		p.println("")
	}
	p.printf("%s %s%s%s\n", term.Plural(len(a.Undone)-a.Refused, "change"), textIf(a.DryRun, "would be "), made,
		andSome(a.Refused, "not"))
	if by != "" && !a.Again {
		p.addHint(term.AsMuted, "run `memwatchd undo %s` to redo them", by)
	}
}

// reverseChange returns an undone change in the reverse direction. Its hunks are
// already reversed.
func reverseChange(w api.WriteRecord) api.WriteRecord {
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

// printWrite shows one change: its header, its state and its difference.
func (p *Printer) printWrite(w api.WriteRecord, as term.Style, state string) {
	p.printChangeHeader(w, as, state)
	before, after := w.Path, cmp.Or(w.To, w.Path)
	switch w.What {
	case "created":
		before = ""
	case "removed":
		after = ""
	case "moved":
		from, to := quoteDiffName("a/"+w.Path), quoteDiffName("b/"+w.To)
		p.println(p.Style(term.AsTitle,
			"diff --git "+strings.TrimSuffix(from, "\t")+" "+strings.TrimSuffix(to, "\t")))
		p.printf("rename from %s\nrename to %s\n", strings.TrimSuffix(quoteDiffName(w.Path), "\t"),
			strings.TrimSuffix(quoteDiffName(w.To), "\t"))
	}
	if len(w.Hunks) == 0 && w.What != "changed" && w.What != "moved" {
		p.printf("%s%s %s\n", indent, p.paintPlace(w.Path, 0), term.EscapeLine(w.What))
	}
	p.printDiff(before, after, w.Hunks)
	if w.Forgotten {
		p.printIndented(0, plainText(term.AsMuted, "(its text was forgotten)"))
	}
	if w.Truncated {
		p.printIndented(0, plainText(term.AsMuted, "(more changes than shown)"))
	}
	if w.Problem != "" {
		p.printIndented(0, plainText(term.AsBad, w.Problem))
	}
}

// printChangeHeader shows the header line of a change with its state.
func (p *Printer) printChangeHeader(w api.WriteRecord, as term.Style, state string) {
	var t text
	t.add(term.AsText, w.Time.In(p.location).Format(time.DateTime)+"  "+w.Cause+textIf(w.Reason != "", ": "+w.Reason))
	t.add(term.AsMuted, textIf(w.Group != w.ID, "  with "+w.Group))
	t.add(term.AsMuted, byProgram(&w))
	if state != "" {
		t.add(term.AsText, "  ")
		t.add(as, state)
	}
	p.printHanging("", p.Style(term.AsTitle, term.EscapeLine(w.ID))+"  ", 0, t)
}
