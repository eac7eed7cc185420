package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/ipc"
)

// todos shows tasks by the day since which they stand, with how many of that day
// are done, and below each the places of its copies, the newest first.
func (p *printer) todos(b *strings.Builder, a *ipc.TodosAnswer) {
	days := map[string]ipc.TodoDay{}
	for _, d := range a.Days {
		days[d.Day] = d
	}
	for i, t := range a.Todos {
		if i == 0 || t.Since != a.Todos[i-1].Since {
			if i > 0 {
				b.WriteByte('\n')
			}
			d := days[t.Since]
			fmt.Fprintf(b, "%s%s\n", p.style(asTitle, or(escapeLine(t.Since), "no day")),
				p.style(asMuted, joined("  ", p.away(t.Since), fmt.Sprintf("%d of %d done", d.Done, d.Done+d.Open))))
		}
		p.hanging(b, "  ", p.box(t.State)+" ", maxSnippet, plainText(asText, t.Text))
		places := t.Places
		if p.width > 0 && len(places) > maxAlso+1 {
			places = places[:maxAlso]
		}
		for _, c := range places {
			fmt.Fprintf(b, "      %s\n", p.paintedPlace(c.Path, c.Line))
		}
		if n := len(t.Places) - len(places); n > 0 {
			fmt.Fprintf(b, "      %s\n", p.style(asMuted, fmt.Sprintf("and at %s more", plural(n, "place"))))
		}
	}
	if len(a.Todos) == 0 {
		p.say(asMuted, "no tasks")
	}
	p.note("", a.Index)
}

// away is how far a day is from today, for somebody who looks at it now.
func (p *printer) away(day string) string {
	then, err := time.Parse(time.DateOnly, day)
	if err != nil || p.width == 0 {
		return ""
	}
	year, month, today := p.now.In(p.zone()).Date()
	switch days := int(time.Date(year, month, today, 0, 0, 0, 0, time.UTC).Sub(then) / (24 * time.Hour)); days {
	case 0:
		return "today"
	case 1:
		return "yesterday"
	case -1:
		return "tomorrow"
	default:
		if 1 < days && days < 7 {
			return then.Weekday().String()
		}
		return p.age(then)
	}
}

// todo shows where a task was changed, or would be.
func (p *printer) todo(b *strings.Builder, a *ipc.TodoAnswer) {
	if a.Plan != nil {
		p.todoPlan(b, a.Plan)
		return
	}
	if a.Disabled {
		p.say(asText, unwritten)
		return
	}
	p.hanging(b, "", p.box(a.State)+" ", 0, plainText(asText, a.Text))
	for _, c := range a.Changed {
		fmt.Fprintf(b, "    %s\n", p.paintedPlace(c.Path, c.Line))
	}
	for _, l := range a.Left {
		p.say(asBad, "left as it is: %s", l.Reason)
	}
	switch {
	case len(a.Changed)+len(a.Left) == 0:
		p.say(asMuted, "it is so already")
	case a.DryRun:
		p.say(asMuted, "nothing was written: this is what would be changed")
	}
}

// box is that of a task.
func (p *printer) box(state string) string {
	if state == "done" {
		return p.style(asGood, "[x]")
	}
	return "[ ]"
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
