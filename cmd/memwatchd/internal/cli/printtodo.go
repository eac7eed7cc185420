package cli

import (
	"cmp"
	"fmt"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// printTodos shows overdue tasks, then the others grouped by the day since which they
// exist, with the progress of each day. Each task has a short id. Below each task it
// shows the places of its copies, newest first.
func (p *Printer) printTodos(a *api.TodosAnswer) {
	days := map[string]api.TodoDay{}
	for _, d := range a.Days {
		days[d.Day] = d
	}
	ids := shortTaskIDs(a.Todos)
	for i, t := range a.Todos {
		switch {
		case i > 0 && t.Overdue == a.Todos[i-1].Overdue && (t.Overdue || t.Since == a.Todos[i-1].Since):
		case t.Overdue:
			p.println(p.Style(term.AsBad, "overdue"))
		default:
			if i > 0 {
				p.println("")
			}
			progress := ""
			if d, ok := days[t.Since]; ok {
				progress = fmt.Sprintf("%d of %d done", d.Done, d.Done+d.Open)
			}
			p.printf("%s%s\n", p.Style(term.AsTitle, cmp.Or(term.EscapeLine(t.Since), "undated")),
				p.Style(term.AsMuted, joinNonEmpty(p.formatDayDistance(t.Since), progress)))
		}
		p.printHanging("  ", p.formatCheckbox(t.State)+" ", maxSnippet, plainText(term.AsText, t.Text))
		note := "  " + p.Style(term.AsMuted, term.EscapeLine(ids[i]))
		if t.Due != "" {
			style := term.AsMuted
			if t.Overdue {
				style = term.AsBad
			}
			note += "  " + p.Style(style, "due "+term.EscapeLine(t.Due))
		}
		places := firstOf(t.Places, maxOtherPlaces, p.width == 0)
		for _, c := range places {
			p.printf("      %s%s\n", p.paintPlace(c.Path, c.Line), note)
			note = ""
		}
		if n := len(t.Places) - len(places); n > 0 {
			p.printf("      %s\n", p.Style(term.AsMuted, fmt.Sprintf("and at %s more", term.Plural(n, "place"))))
		}
	}
	switch {
	case len(a.Todos) > 0:
	case p.page.notes:
		p.addEmptyHint("no tasks")
	default:
		p.addEmptyHint("no tasks in sessions and daily notes; run `memwatchd todo list --all` to include other notes")
	}
}

// printTodoAdd shows the place and the short id of a new task.
func (p *Printer) printTodoAdd(a *api.TodoAddAnswer) {
	switch {
	case a.Path == "":
		p.addHint(term.AsMuted, "added; readable in private contexts only")
	case a.Already:
		p.addHint(term.AsMuted, "the task was in the log already")
	}
	if a.Path != "" {
		p.printTitle("", a.Path, a.Line, "", shortTaskID(a.ID))
	}
}

// formatDayDistance returns the distance of a day from today, or "" if the output is not a
// terminal.
func (p *Printer) formatDayDistance(day string) string {
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
		return p.formatAge(then)
	}
}

// printTodo shows the places where a task was changed or would be changed.
func (p *Printer) printTodo(a *api.TodoAnswer) {
	if a.Plan != nil {
		p.printTodoPlan(a.Plan)
		return
	}
	p.printHanging("", p.formatCheckbox(a.State)+" ", 0, plainText(term.AsText, a.Text))
	for _, c := range a.Changed {
		place := "    " + p.paintPlace(c.Path, c.Line)
		if c.Text == "" {
			p.println(place)
			continue
		}
		p.printHanging("", place+"  ", 0, plainText(term.AsText, c.Text))
	}
	for _, l := range a.Left {
		p.addHint(term.AsBad, "unchanged: %s", l.Reason)
	}
	switch {
	case len(a.Changed)+len(a.Left) == 0:
		p.addHint(term.AsMuted, "already in this state")
	case a.DryRun:
		p.addHint(term.AsMuted, "dry run: nothing was written")
	}
}

func (p *Printer) formatCheckbox(state string) string {
	if state == "done" {
		return p.Style(term.AsGood, "[x]")
	}
	return "[ ]"
}

// printTodoPlan shows the boxes to be ticked, and the boxes left alone with the
// reason.
func (p *Printer) printTodoPlan(plan *api.TodoPlan) {
	if plan.Off {
		p.addHint(term.AsText, "todosync is disabled: no task is ticked automatically")
	}
	p.addHint(term.AsBad, "%s", plan.Problem)
	p.printTicks("to tick", plan.Waiting)
	for _, f := range plan.Diff {
		p.printDiff(f.Path, f.Path, f.Hunks)
	}
	if len(plan.Diff) > 0 && len(plan.Unclear)+len(plan.Proposed)+len(plan.Known) > 0 {
		p.println("")
	}
	p.printTicks("skipped: several boxes match", plan.Unclear)
	p.printTicks("left alone, done by another author: tick them with todo done", plan.Proposed)
	p.printTicks("skipped: done before memwatchd started, or changed by hand", plan.Known)
	if len(plan.Waiting)+len(plan.Unclear)+len(plan.Proposed)+len(plan.Known) == 0 {
		p.addHint(term.AsMuted, "nothing to tick")
	}
}

// printTicks lists boxes of tasks that are done in another file.
func (p *Printer) printTicks(title string, ticks []api.TodoTick) {
	if len(ticks) > 0 {
		p.println(p.Style(term.AsTitle, title+":"))
	}
	for _, t := range ticks {
		for _, place := range t.Places {
			var line text
			line.add(term.AsText, t.Text)
			line.add(term.AsMuted, "  done in "+p.formatPlace(t.Done.Path, t.Done.Line))
			line.add(term.AsMuted, textIf(t.Reason != "", "; waits: "+t.Reason))
			head := fmt.Sprintf("%s [ ] ", p.paintPlace(place.Path, place.Line))
			if p.width == 0 {
				p.printHanging("  ", head, 0, line)
				continue
			}
			p.printf("  %s\n", p.paintPlace(place.Path, place.Line))
			p.printHanging("      ", "[ ] ", maxSnippet, line)
		}
	}
}
