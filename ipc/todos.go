package ipc

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// TodosRequest asks for tasks.
type TodosRequest struct {
	State   string `json:"state" default:"open" enum:"open,done,all" doc:"open, done or all"`
	Days    int    `json:"days" min:"0" max:"3650" doc:"only tasks of so many days; 0 for all"`
	Section string `json:"section" doc:"only tasks below a heading of this name"`
	Fresh
	Scope
}

// TodosAnswer lists tasks, the oldest first.
type TodosAnswer struct {
	Todos []Todo     `json:"todos"`
	Index IndexState `json:"index"`
}

// A Todo is one task, wherever it stands.
type Todo struct {
	Text   string      `json:"text"`
	State  string      `json:"state"`
	Since  string      `json:"since,omitempty"` // the first day on which it stands, since it was last done
	Places []TodoPlace `json:"places"`          // newest first
}

// A TodoPlace is one copy of a task.
type TodoPlace struct {
	Place
	State string `json:"state"`
	Day   string `json:"day,omitempty"`
}

// A copy of a task, and what it is a copy of: the same words below the same
// task in the same sort of section, for the same people.
type taskCopy struct {
	what  taskKey
	text  string
	place TodoPlace
}

type taskKey struct{ norm, parent, section, owner, contact string }

func (m *Memory) todos(ctx context.Context, c Call, r *TodosRequest) (*TodosAnswer, error) {
	synced, err := m.sync(ctx, &c, r.Fresh)
	if err != nil {
		return nil, err
	}
	oldest, newest := "", m.day(1)
	if r.Days > 0 {
		oldest = m.day(1 - r.Days)
	}
	groups := map[taskKey][]taskCopy{}
	hasTasks := func(f *index.FileInfo) bool {
		switch f.Kind {
		case memory.Session, memory.Daily, memory.Longterm:
			return f.Tasks && (f.Day == "" || oldest <= f.Day && f.Day <= newest)
		}
		return false
	}
	for doc, shown := range m.readable(c, hasTasks) {
		for _, t := range tasksOf(c, doc, shown, r.Section) {
			groups[t.what] = append(groups[t.what], t)
		}
	}
	answer := &TodosAnswer{Todos: []Todo{}, Index: m.state(c, synced)}
	for _, copies := range groups {
		if t := todoOf(copies); r.State == "all" || t.State == r.State {
			answer.Todos = append(answer.Todos, t)
		}
	}
	slices.SortFunc(answer.Todos, func(a, b Todo) int {
		return cmp.Or(strings.Compare(a.Since, b.Since),
			strings.Compare(a.Places[0].Path, b.Places[0].Path), cmp.Compare(a.Places[0].Line, b.Places[0].Line),
			strings.Compare(a.Text, b.Text))
	})
	return answer, nil
}

// tasksOf lists the tasks of a file that the caller can read.
func tasksOf(c Call, doc *memory.Document, shown memory.Shown, section string) []taskCopy {
	var list []taskCopy
	contact := ""
	if c.View.Readable(doc.Own) {
		contact = doc.Front.ContactID
	}
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if !e.Readable(c.View) || section != "" && !slices.ContainsFunc(e.Sections, func(s string) bool { return strings.EqualFold(s, section) }) {
			continue
		}
		for _, t := range e.Tasks {
			key := taskKey{norm: t.Norm, owner: c.View.SubjectOf(e.Partition), contact: contact}
			if t.Parent >= 0 {
				key.parent = e.Tasks[t.Parent].Norm
			}
			switch {
			case t.FollowUp:
				key.section = "follow-ups"
			case t.InTasks:
				key.section = "tasks"
			}
			if doc.Place.Kind == memory.Longterm {
				key.section = doc.Place.Path // a long-term task is nobody's copy
			}
			list = append(list, taskCopy{key, t.Text, TodoPlace{
				Place: Place{doc.Place.Path + "#" + e.ID, doc.Place.Path, shown.Line(t.Line)},
				State: t.State.String(), Day: dayOf(doc, e),
			}})
		}
	}
	return list
}

func dayOf(doc *memory.Document, e *memory.Entry) string {
	return cmp.Or(doc.Place.Day, e.Added)
}

// todoOf is the task that copies have in common. It is done if the newest copy
// is: a box that is open on a later day is a new task.
func todoOf(copies []taskCopy) Todo {
	slices.SortFunc(copies, func(a, b taskCopy) int {
		return cmp.Or(strings.Compare(b.place.Day, a.place.Day), strings.Compare(a.place.Path, b.place.Path),
			cmp.Compare(a.place.Line, b.place.Line))
	})
	newest, done := copies[0], memory.Done.String()
	t := Todo{Text: newest.text, State: memory.Open.String()}
	for _, copied := range copies {
		if copied.place.Day == newest.place.Day && copied.place.State == done {
			t.State = done
		}
		t.Places = append(t.Places, copied.place)
	}
	for _, p := range t.Places {
		if t.State != done && p.State == done {
			break // it was done then, and is to be done again
		}
		t.Since = p.Day
	}
	return t
}
