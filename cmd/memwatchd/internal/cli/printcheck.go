package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/memory"
)

// printCheck shows each finding on a line that editors can open, and then hints for
// fixing them.
func (p *Printer) printCheck(a *api.CheckAnswer) {
	for _, s := range a.Repaired {
		p.printFinding(s.Path, 0, s.Reason, "mended")
	}
	for _, s := range a.Refused {
		p.printFinding(s.Path, 0, s.Reason, "not corrected")
	}
	for _, d := range a.Differing {
		p.printFinding(d.Path, 0, d.Reason, "differs")
	}
	for _, f := range a.Problems {
		p.printProblem(f)
	}
	for _, s := range a.Skipped {
		p.printFinding(s.Path, 0, s.Reason, "skipped")
	}
	p.printf("%s compared, %d differ from the index, %s, %d skipped\n",
		term.Plural(a.Files, "file"), len(a.Differing), term.Plural(len(a.Problems), "problem"), len(a.Skipped))
	// Hints for findings that do not contain their own remedy.
	wrong := slices.ContainsFunc(a.Problems, func(f api.FileProblem) bool { return f.Code == memory.CounterWrong })
	switch {
	case len(a.Refused) > 0:
		p.addHint(term.AsMuted, "run `memwatchd status` for the reason")
	case wrong || len(a.Differing) > 0:
		p.addHint(term.AsMuted, "check --fix corrects counters and the index, and changes nothing else")
	}
	if slices.ContainsFunc(a.Skipped, func(s api.Skipped) bool { return strings.Contains(s.Reason, "file too large") }) {
		p.addHint(term.AsMuted, "split a file that is too large, or raise watch.max_file_size")
	}
}

// printProblem shows a problem of a file or of the daemon.
func (p *Printer) printProblem(f api.FileProblem) {
	p.printFinding(f.Path, f.Line, f.Message, f.Code)
}

// printFinding shows a place, a message and its sort in the format of compilers. If
// the place leaves too little room, the message goes to the next line.
func (p *Printer) printFinding(path string, line int, message, sort string) {
	t, show := p.placeText(path, line), p.printWrapped
	if path == "" {
		t.add(term.AsPath, "memwatchd")
	}
	t.add(term.AsText, ": ")
	if p.width > 0 && uniseg.StringWidth(t.s)+minTextWidth > p.width-len(indent) {
		p.println(strings.TrimRight(p.paintText(t, 0, len(t.s)), " "))
		t, show = text{}, func(t text) { p.printIndented(0, t) }
	}
	t.add(term.AsText, message+" ")
	t.add(term.AsMuted, "["+sort+"]")
	show(t)
}

// printConflicts shows each conflict copy with the effect of its merge.
func (p *Printer) printConflicts(a *api.ConflictsAnswer) {
	merged := 0
	for i, c := range a.Copies {
		if i > 0 && len(c.Diff)+len(c.Both) > 0 {
			p.println("")
		}
		p.printFinding(c.Path, 0, effectOf(&c), mergeState(&c, a.DryRun))
		if c.Merged {
			merged++
		}
		for _, both := range c.Both {
			for _, version := range []struct{ name, text string }{{"was", both.Base}, {"file", both.File}, {"copy", both.Copy}} {
				for line := range strings.Lines(version.text) {
					p.printIndented(0, plainText(term.AsText, fmt.Sprintf("%-5s %s", version.name, strings.TrimRight(line, "\n"))))
				}
			}
		}
		if len(c.Diff) > 0 {
			p.printDiff(c.File, c.File, c.Diff)
		}
		if c.Problem != "" {
			problem := strings.Replace(c.Problem, "set keep to file", "merge the copy with --keep file", 1)
			p.addHint(term.AsBad, "%s: %s", c.Path, problem)
		}
	}
	if len(a.Copies) == 0 {
		p.addHint(term.AsMuted, "no conflict copies")
	}
	if merged > 0 {
		p.printf("%s merged\n", term.Plural(merged, "conflict copy"))
	}
}

// effectOf describes the merge of a copy in words.
func effectOf(c *api.ConflictCopy) string {
	counts := andSome(c.Added, "added") + andSome(c.Changed, "changed") + andSome(c.Removed, "removed") +
		andSome(c.Conflicts, "changed by both")
	effect := strings.TrimPrefix(cmp.Or(counts, textIf(c.Problem != "", "not merged"), "nothing new"), ", ")
	return effect + textIf(!c.Base && (counts != "" || c.Problem == ""), "; no common version: entries of both are kept")
}

func mergeState(c *api.ConflictCopy, dryRun bool) string {
	switch {
	case c.Merged:
		return "merged"
	case c.Problem != "":
		return "stays"
	case dryRun:
		return "would be merged"
	}
	return "conflict copy"
}
