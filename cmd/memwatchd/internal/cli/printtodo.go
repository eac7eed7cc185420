package cli

import (
	"cmp"
	"fmt"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// todos shows open tasks grouped by the day since which they exist, with the
// progress of each day. Below each task it shows the places of its copies,
// newest first.
func (p *Printer) todos(a *api.TodosAnswer) {
	days := map[string]api.TodoDay{}
	for _, d := range a.Days {
		days[d.Day] = d
	}
	for i, t := range a.Todos {
		if i == 0 || t.Since != a.Todos[i-1].Since {
			if i > 0 {
				p.println("")
			}
			progress := ""
			if d, ok := days[t.Since]; ok {
				progress = fmt.Sprintf("%d of %d done", d.Done, d.Done+d.Open)
			}
			p.printf("%s%s\n", p.Style(term.AsTitle, cmp.Or(term.EscapeLine(t.Since), "no day")),
				p.Style(term.AsMuted, joined(p.away(t.Since), progress)))
		}
		p.hanging("  ", p.box(t.State)+" ", maxSnippet, plainText(term.AsText, t.Text))
		places := firstOf(t.Places, maxAlso, p.width == 0)
		for _, c := range places {
			p.printf("      %s\n", p.paintedPlace(c.Path, c.Line))
		}
		if n := len(t.Places) - len(places); n > 0 {
			p.printf("      %s\n", p.Style(term.AsMuted, fmt.Sprintf("and at %s more", term.Plural(n, "place"))))
		}
	}
	if len(a.Todos) == 0 {
		p.say(term.AsMuted, "no tasks in sessions and notes of days; memwatchd search --state open finds those of other files, too")
	}
	p.note("", a.Index)
}

// away returns the distance of a day from today, or "" if the output is not a
// terminal.
func (p *Printer) away(day string) string {
	then, err := time.Parse(time.DateOnly, day)
	if err != nil || p.width == 0 {
		return ""
	}
	year, month, today := p.now.In(p.location).Date()
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

// todo shows the places where a task was changed or would be changed.
func (p *Printer) todo(a *api.TodoAnswer) {
	if a.Plan != nil {
		p.todoPlan(a.Plan)
		return
	}
	p.hanging("", p.box(a.State)+" ", 0, plainText(term.AsText, a.Text))
	for _, c := range a.Changed {
		p.printf("    %s\n", p.paintedPlace(c.Path, c.Line))
	}
	for _, l := range a.Left {
		p.say(term.AsBad, "left as it is: %s", l.Reason)
	}
	switch {
	case len(a.Changed)+len(a.Left) == 0:
		p.say(term.AsMuted, "it is so already")
	case a.DryRun:
		p.say(term.AsMuted, "nothing was written: this is what would be changed")
	}
}

// box returns the checkbox of a task.
func (p *Printer) box(state string) string {
	if state == "done" {
		return p.Style(term.AsGood, "[x]")
	}
	return "[ ]"
}

// todoPlan shows the boxes to be ticked, and the boxes left alone with the
// reason.
func (p *Printer) todoPlan(plan *api.TodoPlan) {
	if plan.Off {
		p.say(term.AsText, "todosync is turned off: nothing is ticked by itself")
	}
	if plan.Problem != "" {
		p.say(term.AsBad, "%s", plan.Problem)
	}
	p.ticks("to be ticked", plan.Waiting)
	for _, f := range plan.Diff {
		p.diff(f.Path, f.Path, f.Hunks)
	}
	if len(plan.Diff) > 0 && len(plan.Unclear)+len(plan.Offered)+len(plan.Known) > 0 {
		p.println("")
	}
	p.ticks("left alone, more than one box fits", plan.Unclear)
	p.ticks("left alone, done by another author: tick them with todo done", plan.Offered)
	p.ticks("left alone, done before memwatchd looked or decided by hand since", plan.Known)
	if len(plan.Waiting)+len(plan.Unclear)+len(plan.Offered)+len(plan.Known) == 0 {
		p.say(term.AsMuted, "nothing to be ticked")
	}
}

// ticks lists boxes of tasks that are done in another file.
func (p *Printer) ticks(title string, ticks []api.TodoTick) {
	if len(ticks) > 0 {
		p.println(p.Style(term.AsTitle, title+":"))
	}
	for _, t := range ticks {
		for _, place := range t.Places {
			var line text
			line.add(term.AsText, t.Text)
			line.add(term.AsMuted, "  done in "+p.place(t.Done.Path, t.Done.Line))
			if t.Reason != "" {
				line.add(term.AsMuted, "; waits: "+t.Reason)
			}
			head := fmt.Sprintf("%s [ ] ", p.paintedPlace(place.Path, place.Line))
			if p.width == 0 {
				p.hanging("  ", head, 0, line)
				continue
			}
			p.printf("  %s\n", p.paintedPlace(place.Path, place.Line))
			p.hanging("      ", "[ ] ", maxSnippet, line)
		}
	}
}
