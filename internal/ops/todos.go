package ops

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
)

// A taskCopy is a copy of a task that the caller can read.
type taskCopy struct {
	todosync.Copy
	task      *memory.Task
	entry     *memory.Entry
	session   string // session of its file
	untrusted bool   // written by others than its subject
	partial   bool   // the caller can read only a part of its file
	place     api.TodoPlace
}

func (m readOps) todos(ctx context.Context, c Call, r *api.TodosRequest) (*api.TodosAnswer, error) {
	answer := &api.TodosAnswer{Todos: []api.Todo{}, Index: m.indexState(c)}
	var all []api.Todo // in any state
	for _, copies := range m.taskCopies(c, r) {
		t := m.todoOf(copies)
		all = append(all, t)
		if r.State == "all" || t.State == r.State {
			answer.Todos = append(answer.Todos, t)
		}
	}
	answer.Days = todoDays(all)
	slices.SortFunc(answer.Todos, compareTodos)
	return answer, nil
}

// taskCopies returns the copies of each requested task, in any state.
func (m readOps) taskCopies(c Call, r *api.TodosRequest) [][]taskCopy {
	oldest, newest := "", m.day(1)
	if r.Days > 0 {
		oldest = m.day(1 - r.Days)
	}
	var copies []taskCopy
	hasTasks := func(f *index.FileInfo) bool {
		return f.Tasks && (todosync.Concerns(f.Kind) || r.Notes && f.Kind == memory.Note) &&
			(f.Day == "" || oldest <= f.Day && f.Day <= newest)
	}
	for doc, shown := range m.readableFiles(c, hasTasks) {
		copies = append(copies, tasksOf(c, doc, shown, r.Section)...)
	}
	return groupTasks(c, copies)
}

// openTasks returns the open tasks of the given number of days: those of the
// reader's project first, of these the overdue ones, then the newest. With hide,
// tasks of other projects are omitted.
func (m readOps) openTasks(c Call, days int, order projectOrder, hide bool) (open []api.Todo) {
	ranks := map[string]int{} // by id of the first place
	for _, copies := range m.taskCopies(c, &api.TodosRequest{Days: days}) {
		t := m.todoOf(copies)
		if t.State != memory.Open.String() {
			continue
		}
		rank := otherProject
		for _, copied := range copies {
			rank = min(rank, order(copied.place.Path, copied.entry.Tags))
		}
		if hide && rank == otherProject {
			continue
		}
		open = append(open, t)
		ranks[t.Places[0].ID+t.Text] = rank
	}
	slices.SortFunc(open, func(a, b api.Todo) int {
		return cmp.Or(ranks[a.Places[0].ID+a.Text]-ranks[b.Places[0].ID+b.Text], compareOverdue(a, b),
			strings.Compare(b.Since, a.Since), compareTodos(a, b))
	})
	return open
}

// compareOverdue orders overdue tasks, by due date, before others.
func compareOverdue(a, b api.Todo) int {
	switch {
	case a.Overdue && b.Overdue:
		return strings.Compare(a.Due, b.Due)
	case a.Overdue:
		return -1
	case b.Overdue:
		return 1
	}
	return 0
}

// compareTodos orders tasks: overdue ones first, then by day, oldest first, then by
// place.
func compareTodos(a, b api.Todo) int {
	return cmp.Or(compareOverdue(a, b), strings.Compare(a.Since, b.Since),
		strings.Compare(a.Places[0].Path, b.Places[0].Path), cmp.Compare(a.Places[0].Line, b.Places[0].Line),
		strings.Compare(a.Text, b.Text))
}

// todoDays counts tasks by the day of their Since field.
func todoDays(todos []api.Todo) []api.TodoDay {
	days := []api.TodoDay{}
	for _, t := range todos {
		i, ok := slices.BinarySearchFunc(days, t.Since,
			func(d api.TodoDay, day string) int { return strings.Compare(d.Day, day) })
		if !ok {
			days = slices.Insert(days, i, api.TodoDay{Day: t.Since})
		}
		if t.State == memory.Done.String() {
			days[i].Done++
		} else {
			days[i].Open++
		}
	}
	return days
}

// tasksOf lists the tasks of a file that the caller can read.
func tasksOf(c Call, doc *memory.Document, shown memory.Shown, section string) []taskCopy {
	var list []taskCopy
	f := todosync.BoxesOf(doc)
	if !c.View.Readable(doc.Own) {
		f.Contact = ""
	}
	for i, b := range f.Boxes {
		e := &doc.Entries[b.Entry]
		if !e.Readable(c.View) ||
			section != "" && !slices.ContainsFunc(e.Sections,
				func(s string) bool { return memory.SameSection(s, section) }) {
			continue
		}
		t := &e.Tasks[b.Task]
		place := api.TodoPlace{
			Place: api.Place{ID: doc.Place.Path + "#" + e.ID, Path: doc.Place.Path, Line: shown.Line(t.Line)},
			State: t.State.String(), Day: cmp.Or(doc.Place.Day, e.Added),
		}
		if id := doc.Place.Path + "#" + e.TaskID(b.Task); id != place.ID {
			place.TaskID = id
		}
		list = append(list, taskCopy{f.Copy(i), t, e, f.Session, e.Author().Untrusted(c.View), isPartial(doc), place})
	}
	return list
}

// taskRules returns the rules for equal tasks, with the subjects of the
// caller's view.
func taskRules(c Call) *todosync.Rules {
	return &todosync.Rules{Subject: func(owner string) string { return c.View.SubjectOf(memory.Partition{Owner: owner}) }}
}

// groupTasks groups copies by task, newest first.
func groupTasks(c Call, copies []taskCopy) [][]taskCopy {
	slices.SortStableFunc(copies, taskCopy.compare)
	boxes := make([]todosync.Copy, len(copies))
	for i := range copies {
		boxes[i] = copies[i].Copy
	}
	var groups [][]taskCopy
	for _, members := range taskRules(c).Group(boxes) {
		var group []taskCopy
		for _, i := range members {
			group = append(group, copies[i])
		}
		groups = append(groups, group)
	}
	return groups
}

// compare orders copies by day, newest first, then by place.
func (t taskCopy) compare(u taskCopy) int {
	return cmp.Or(strings.Compare(u.place.Day, t.place.Day), strings.Compare(t.place.Path, u.place.Path),
		cmp.Compare(t.place.Line, u.place.Line))
}

// todoOf returns the task of the given copies, newest first. The task is
// complete if the newest copy is; a box that is open on a later day is a new
// task.
func (m readOps) todoOf(copies []taskCopy) api.Todo {
	newest, done := copies[0], memory.Done.String()
	t := api.Todo{Text: newest.task.Text, State: memory.Open.String(), Untrusted: true}
	for _, copied := range copies {
		if copied.place.Day == newest.place.Day && copied.place.State == done {
			t.State = done
		}
		t.Places = append(t.Places, copied.place)
		if t.Untrusted && !copied.untrusted { // the newest of the subject's own copies
			t.Text, t.Untrusted = copied.task.Text, false
		}
		t.Due, t.Created = cmp.Or(t.Due, copied.task.Due), cmp.Or(t.Created, copied.task.Created)
		t.Finished = cmp.Or(t.Finished, copied.task.Finished)
	}
	if t.State != done {
		t.Finished = ""
	}
	t.Overdue = t.Due != "" && t.Due < m.day(0) && t.State != done
	for _, p := range t.Places {
		if t.State != done && p.State == done {
			break // it was completed then and is open again
		}
		t.Since = p.Day
	}
	return t
}
