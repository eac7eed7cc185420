package main

import (
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/ipc"
	"github.com/memwatchd/memwatchd/todosync"
)

// todo shows where a task was changed.
func (p *printer) todo(b *strings.Builder, a *ipc.TodoAnswer) {
	if a.Plan != nil {
		p.todoPlan(b, a.Plan)
		return
	}
	fmt.Fprintf(b, "%s %s%s\n", box(a.State), escapeLine(a.Text), p.style(asMuted, joined("  ", todoNote(a))))
	for _, c := range a.Changed {
		fmt.Fprintf(b, "    %s\n", p.style(asMuted, p.place(c.Path, c.Line)))
	}
	for _, l := range a.Left {
		fmt.Fprintf(b, "    %s\n", p.style(asBad, escapeLine(l.Reason)))
	}
}

func box(state string) string {
	if state == "done" {
		return "[x]"
	}
	return "[ ]"
}

func todoNote(a *ipc.TodoAnswer) string {
	switch {
	case len(a.Changed)+len(a.Left) == 0:
		return "it is so already"
	case a.DryRun:
		return "would be changed, nothing was written"
	}
	return ""
}

// todoPlan shows which boxes are going to be ticked, which are not, and why.
func (p *printer) todoPlan(b *strings.Builder, plan *ipc.TodoPlan) {
	if plan.Off {
		fmt.Fprintln(b, "todosync is turned off: nothing is ticked by itself")
	}
	if plan.Problem != "" {
		fmt.Fprintf(b, "%s\n", p.style(asBad, escapeLine(plan.Problem)))
	}
	list := func(title string, ticks []ipc.TodoTick) {
		if len(ticks) > 0 {
			fmt.Fprintf(b, "%s:\n", title)
		}
		for _, t := range ticks {
			note := "done in " + p.place(t.Done.Path, t.Done.Line)
			if t.Reason != "" {
				note += "; waits: " + escapeLine(t.Reason)
			}
			for _, place := range t.Places {
				fmt.Fprintf(b, "  %s [ ] %s%s\n", p.place(place.Path, place.Line), escapeLine(t.Text), p.style(asMuted, joined("  ", note)))
			}
		}
	}
	list("to be ticked", plan.Waiting)
	list("left alone, more than one box fits", plan.Unclear)
	list("left alone, done before memwatchd looked or decided by hand since", plan.Known)
	if len(plan.Waiting)+len(plan.Unclear)+len(plan.Known) == 0 {
		fmt.Fprintln(b, "nothing to be ticked")
	}
}

// todosync shows how reconciliation is doing.
func (p *printer) todosync(b *strings.Builder, s *todosync.Status) {
	if s.Off {
		p.row(b, "tasks", "turned off")
		return
	}
	p.row(b, "tasks", "%d to be ticked, %d left alone as unclear, %d as known before", s.Planned, s.Unclear, s.Known)
	for _, w := range s.Waiting {
		p.row(b, "", "%s: waits: %s", w.Path, w.Reason)
	}
	if s.Problem != "" {
		p.row(b, "", "%s", s.Problem)
	}
}
