package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// printCompact shows the items to archive with their reasons and, for a dry run, the
// resulting differences.
func (p *Printer) printCompact(a *api.CompactAnswer) {
	planned, files := 0, 0
	for _, plan := range a.Plan {
		i := slices.IndexFunc(a.Diff, func(f api.FileDiff) bool { return f.Path == plan.Path })
		p.printPlan(&plan, a.Since, i >= 0)
		if i >= 0 {
			p.printDiff(plan.Path, plan.Path, a.Diff[i].Hunks)
		}
		p.println("")
		if n := len(plan.Steps); n > 0 {
			planned, files = planned+n, files+1
		}
	}
	switch {
	case a.DryRun && planned > 0:
		p.printf("%s would be moved from %s to the archive\n", term.Plural(planned, "item"), term.Plural(files, "file"))
	case a.Applied > 0:
		p.printf("%s archived\n", term.Plural(a.Applied, "item"))
		p.addHint(term.AsMuted, "run `memwatchd journal` to list the change, `memwatchd undo` to revert it")
	default:
		p.println("nothing to archive")
	}
}

// compactStates describe the states of files that need attention.
var compactStates = map[string]string{
	api.Near:      "nearly full",
	api.More:      "still over its limit; the next run continues",
	api.OverLimit: "over its limit, and all remaining items are protected: shorten the file by hand",
	api.LeftAlone: "skipped",
}

// printPlan shows the items to archive from one file with their reasons. If short is
// set, a difference shows their text.
func (p *Printer) printPlan(plan *api.CompactPlan, since time.Time, short bool) {
	state := compactStates[plan.State]
	if plan.State == api.Waiting {
		state = "over its limit; usage statistics are complete two weeks after counting began"
		if !since.IsZero() {
			state += ", on " + since.AddDate(0, 0, 14).In(p.location).Format(time.DateOnly)
		}
	}
	p.printTitle("", plan.Path, 0, "", formatSizes(plan), state)
	if plan.Problem != "" {
		p.printIndented(0, plainText(term.AsBad, plan.Problem))
	}
	if plan.Archive != "" {
		p.printf("%sto %s\n", indent, p.paintPlace(plan.Archive, 0))
	}
	for _, s := range plan.Steps {
		p.printStep(plan.Path, s, short)
	}
	if len(plan.Kept) > 0 {
		p.printIndented(0, plainText(term.AsMuted, "remaining items, the next to archive first:"))
	}
	for _, s := range plan.Kept {
		p.printStep(plan.Path, s, false)
	}
}

// printStep shows the result for one item.
func (p *Printer) printStep(path string, s api.CompactStep, short bool) {
	p.printTitle(indent, path, s.Line, strings.Join(s.Section, sectionMark), s.Reason)
	if s.Score != nil {
		p.printHanging(indent+"  ", "", 0,
			plainText(term.AsMuted, fmt.Sprintf("score %.3f = use %.3f (%.2f uses, %s) + recency %.3f (%.0f days old)",
				s.Score.Total, s.Score.Use, s.Score.Uses, term.Plural(s.Score.Links, "link"), s.Score.Recency,
				s.Score.AgeDays)))
	}
	if short {
		return
	}
	mark, as := "- ", term.AsRemoved
	if s.Action == api.Keep {
		mark, as = "  ", term.AsText
	}
	for line := range strings.SplitSeq(s.Text, "\n") {
		p.printHanging(indent, p.Style(as, mark), maxSnippet, plainText(as, line))
	}
}

// formatSizes returns the size of a file before and after, with its limits.
func formatSizes(plan *api.CompactPlan) string {
	of := func(before, after, limit int, unit string) string {
		return fmt.Sprint(before) + textIf(after != before, fmt.Sprintf(" -> %d", after)) +
			textIf(limit > 0, fmt.Sprintf(" of %d", limit)) + " " + unit
	}
	return of(plan.Before.Items, plan.After.Items, plan.Limit.Items, "items") + ", " +
		of(plan.Before.Characters, plan.After.Characters, plan.Limit.Characters, "characters")
}

// printCompress shows the summary of each file with its destination, and the
// unchanged files with their reasons.
func (p *Printer) printCompress(a *api.CompressAnswer) {
	for _, f := range a.Plan.Files {
		t := plainText(term.AsPath, f.From)
		t.add(term.AsText, " -> ")
		t.add(term.AsPath, f.To)
		t.add(term.AsMuted, textIf(f.Partial, "  (except open tasks)"))
		p.printWrapped(t)
		for _, l := range f.Lines {
			p.printHanging("  ", p.Style(term.AsAdded, "+")+" ", 0, plainText(term.AsText, l.Path+": "+l.Text))
			p.printIndented(0, plainText(term.AsMuted, l.Visibility+", from "+strings.Join(l.Evidence, ", ")+
				textIf(l.Model, ", summarized by the model")))
		}
	}
	for _, s := range append(a.Plan.Stay[:len(a.Plan.Stay):len(a.Plan.Stay)], a.Left...) {
		p.printFinding(s.Path, 0, s.Reason, "stays")
	}
	switch {
	case len(a.Plan.Files)+len(a.Plan.Stay) == 0:
		p.addHint(term.AsMuted, "no sessions are old enough")
	case a.DryRun:
		p.printf("%s would be summarized and archived\n", term.Plural(len(a.Plan.Files), "file"))
	default:
		p.printf("%s summarized and archived\n", term.Plural(a.Applied, "file"))
	}
}
