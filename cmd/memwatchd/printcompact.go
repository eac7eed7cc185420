package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/ipc"
)

// compact shows what goes to the archive, as differences, and why.
func (p *printer) compact(b *strings.Builder, a *ipc.CompactAnswer) {
	planned, files := 0, 0
	for _, plan := range a.Plan {
		p.plan(b, plan, a.Since)
		b.WriteByte('\n')
		if n := len(plan.Steps); n > 0 {
			planned, files = planned+n, files+1
		}
	}
	switch {
	case a.DryRun && planned > 0:
		fmt.Fprintf(b, "%s would go from %s to the archive\n", plural(planned, "item"), plural(files, "file"))
	case a.Applied > 0:
		fmt.Fprintf(b, "%s gone to the archive%s\n", plural(a.Applied, "item"), p.style(asMuted, "  (memwatchd journal lists it, undo takes it back)"))
	default:
		fmt.Fprintln(b, p.style(asMuted, "nothing is to go"))
	}
}

// states say how a file is doing, as far as that is worth a word.
var states = map[compactor.State]string{
	compactor.Near:      "nearly full",
	compactor.More:      "still over its limit: the next run goes on",
	compactor.OverLimit: "over its limit, and all that is left is protected: tidy it up",
	compactor.LeftAlone: "left alone",
}

// plan shows what goes from one file: each item with its reason above it.
func (p *printer) plan(b *strings.Builder, plan *compactor.Plan, since time.Time) {
	state := states[plan.State]
	if plan.State == compactor.Waiting {
		state = "over its limit; what is used is known two weeks after counting began"
		if !since.IsZero() {
			state += ", on " + since.AddDate(0, 0, 14).In(p.location).Format(time.DateOnly)
		}
	}
	fmt.Fprintf(b, "%s  %s%s\n", p.style(asTitle, p.place(plan.Path, 0)), sizes(plan), p.style(asMuted, joined("  ", state)))
	if plan.Problem != "" {
		fmt.Fprintf(b, "    %s\n", p.style(asBad, escapeLine(plan.Problem)))
	}
	if plan.Archive != "" {
		fmt.Fprintf(b, "    to %s\n", p.place(plan.Archive, 0))
	}
	for _, s := range plan.Steps {
		p.step(b, plan.Path, s)
	}
	if len(plan.Kept) > 0 {
		fmt.Fprintf(b, "    %s\n", p.style(asMuted, "what stays, beginning with what would go next:"))
	}
	for _, s := range plan.Kept {
		p.step(b, plan.Path, s)
	}
}

// step shows what becomes of one item.
func (p *printer) step(b *strings.Builder, path string, s compactor.Step) {
	fmt.Fprintf(b, "    %s%s\n", p.place(path, s.Line), p.style(asMuted, joined("  ", escapeLine(strings.Join(s.Section, " > ")), escapeLine(s.Reason))))
	if s.Score != nil {
		fmt.Fprintf(b, "      %s\n", p.style(asMuted, fmt.Sprintf("score %.3f = use %.3f (%.2f uses, %s) + recency %.3f (%.0f days old)",
			s.Score.Total, s.Score.Use, s.Score.Uses, plural(s.Score.Links, "link"), s.Score.Recency, s.Score.AgeDays)))
	}
	mark, as := "- ", asRemoved
	if s.Action == compactor.Keep {
		mark, as = "  ", asText
	}
	for line := range strings.SplitSeq(s.Text, "\n") {
		fmt.Fprintf(b, "    %s\n", p.style(as, mark+escapeLine(line)))
	}
}

// sizes are how much a file holds before and after, of how much it may.
func sizes(plan *compactor.Plan) string {
	of := func(before, after, limit int, what string) string {
		s := fmt.Sprint(before)
		if after != before {
			s += fmt.Sprintf(" -> %d", after)
		}
		if limit > 0 {
			s += fmt.Sprintf(" of %d", limit)
		}
		return s + " " + what
	}
	return of(plan.Before.Items, plan.After.Items, plan.Limit.Items, "items") + ", " +
		of(plan.Before.Characters, plan.After.Characters, plan.Limit.Characters, "characters")
}
