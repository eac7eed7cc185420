package api

import (
	"cmp"
	"fmt"
	"strings"
)

// TodoRequest requests that a task be ticked or reopened.
type TodoRequest struct {
	Text    string `json:"text" size:"request" arg:"rest" complete:"todo" doc:"text of the task, words of it, its place or its id; case, emphasis, tags and dates are ignored"`
	ID      string `json:"id" doc:"path:line, path#id or id, in place of a text"`
	State   string `json:"state" default:"done" enum:"done,open" doc:"new state: done or open"`
	All     bool   `json:"all" doc:"change every match; else several matches change nothing"`
	Session string `json:"session" complete:"session" doc:"only copies of the task in this session"`
	DryRun  bool   `json:"dry_run" doc:"show the changes, without changing files"`
	Fresh
	Scope
	For[TodoAnswer]
}

// TodoAnswer lists the places where a task was changed.
type TodoAnswer struct {
	Text  string `json:"text,omitempty"`
	State string `json:"state,omitempty"`

	Untrusted bool `json:"untrusted,omitempty"` // every copy was written by others than the subject

	Changed []TodoPlace `json:"changed"` // changed copies, with their new state
	Left    []Skipped   `json:"left"`    // files that could not be changed, and why
	DryRun  bool        `json:"dry_run"` // the request was a dry run: changed lists the copies that would change
	Index   IndexState  `json:"index"`

	Disabled bool `json:"disabled,omitempty"` // memory is turned off: nothing was written

	Redaction
}

// TodosRequest requests tasks.
type TodosRequest struct {
	State   string `json:"state" default:"open" enum:"open,done,all" doc:"only tasks in this state: open, done or all"`
	Days    int    `json:"days" min:"0" max:"3650" doc:"only tasks of this many days, including today, and tasks without a day; 0 to 3650, 0 means all"`
	Section string `json:"section" complete:"section" doc:"only tasks below this heading"`
	Notes   bool   `json:"notes" flag:"all" doc:"also tasks of ordinary notes, which have no copies and are ticked on request only"`
	Fresh
	Scope
	For[TodosAnswer]
}

// TodosAnswer lists tasks: overdue ones first, by due date, then the others, oldest
// first.
type TodosAnswer struct {
	Todos []Todo     `json:"todos"`
	Days  []TodoDay  `json:"days"` // progress of the tasks of each day, open or done; oldest first
	Index IndexState `json:"index"`

	Redaction
}

// A Todo is one task with all its copies.
type Todo struct {
	Text      string      `json:"text"`
	State     string      `json:"state"`
	Untrusted bool        `json:"untrusted,omitempty"` // every copy was written by others than the subject
	Since     string      `json:"since,omitempty"`     // the first day with the task since it was last done
	Due       string      `json:"due,omitempty"`       // due date in the text
	Created   string      `json:"created,omitempty"`   // date of creation in the text
	Finished  string      `json:"finished,omitempty"`  // date of completion in the text of a completed task
	Overdue   bool        `json:"overdue,omitempty"`   // open, and the due date has passed
	Places    []TodoPlace `json:"places"`              // newest first
}

// A TodoDay counts the open and the completed tasks that exist since a day.
type TodoDay struct {
	Day  string `json:"day,omitempty"` // empty for tasks without a day
	Open int    `json:"open"`
	Done int    `json:"done"`
}

// A TodoPlace is one copy of a task.
type TodoPlace struct {
	Place
	TaskID string `json:"task_id,omitempty"` // path#id of a task that is a part of the entry
	State  string `json:"state"`
	Day    string `json:"day,omitempty"`
	Text   string `json:"text,omitempty"` // text of the task, if the answer has several tasks
}

// ShortID is the length from which the beginning of a derived id selects a task.
const ShortID = 4

// Task returns the id that selects the task in a [TodoRequest].
func (p *TodoPlace) Task() string { return cmp.Or(p.TaskID, p.ID) }

// TodoAddRequest requests that an open task be added to the log of today.
type TodoAddRequest struct {
	Text       string `json:"text" size:"request" arg:"rest" stdin:"true" need:"true" doc:"the task, on one line"`
	Due        string `json:"due" doc:"due date: YYYY-MM-DD, today, tomorrow, the next day with the name of a weekday, or an interval such as 3d or 2w"`
	Project    string `json:"project" doc:"project of the task, such as the name of a repository: adds the tag project:NAME"`
	Visibility string `json:"visibility" enum:"private_only,public_ok" doc:"where the task may be shown: private_only, or public_ok for public contexts too; by default as configured for daily notes"`
	Source     string `json:"source" doc:"origin of the task, such as a message id"`
	Scope
	For[TodoAddAnswer]
}

// TodoAddAnswer contains the position of a new task. The path is empty if the caller
// may not read the task in this context.
type TodoAddAnswer struct {
	ID       string `json:"id,omitempty"` // path#id, for ticking the task
	Path     string `json:"path,omitempty"`
	Line     int    `json:"line,omitempty"`
	Already  bool   `json:"already,omitempty"`  // the log contains the open task already
	Disabled bool   `json:"disabled,omitempty"` // memory is turned off: nothing was written
}

func (a *TodosAnswer) render(t *Text) {
	days := map[string]TodoDay{}
	for _, d := range a.Days {
		days[d.Day] = d
	}
	for i, task := range a.Todos {
		switch {
		case t.Audience == Models:
		case i > 0 && task.Overdue == a.Todos[i-1].Overdue && (task.Overdue || task.Since == a.Todos[i-1].Since):
		case task.Overdue:
			t.add(Line{Text: "overdue", Style: Bad})
		default:
			if i > 0 {
				t.addBlank()
			}
			progress := ""
			if d, ok := days[task.Since]; ok {
				progress = fmt.Sprintf("%d of %d done", d.Done, d.Done+d.Open)
			}
			t.add(Line{Text: cmp.Or(task.Since, "undated"), Style: Strong,
				Notes: []string{progress}})
		}
		task.render(t, shortTaskID(task.Places[0].Task()))
	}
	switch {
	case len(a.Todos) > 0:
	case t.given("notes") == "true":
		t.listNothing("no tasks")
	default:
		t.listNothing("no tasks in sessions and daily notes; `notes` includes other notes")
	}
}

// render adds a task: for models on one line, else with a line for each copy.
func (task *Todo) render(t *Text, id string) {
	due := TextIf(task.Due != "", "due "+task.Due)
	line := Line{Depth: 1, Text: t.shorten(task.Text), Untrusted: task.Untrusted}
	if t.Audience == Models {
		line.Notes = []string{due, TextIf(task.Since != "", "since "+task.Since)}
		for _, p := range task.Places {
			line.Notes = append(line.Notes, fmt.Sprintf("%s:%d", p.Path, p.Line))
		}
		t.addBox(task.State, line)
		return
	}
	t.addBox(task.State, line)
	t.add(Line{Depth: 3, Path: task.Places[0].Path, Line: task.Places[0].Line, Notes: []string{id, due}})
	var others []Place
	for _, p := range task.Places[1:] {
		others = append(others, p.Place)
	}
	t.addPlaces(others, Line{Depth: 3})
}

func (t *Text) addBox(state string, line Line) {
	line.Head = "[ ]"
	if state == "done" {
		line.Head, line.HeadStyle = "[x]", Good
	}
	t.add(line)
}

func (a *TodoAddAnswer) render(t *Text) {
	switch {
	case a.Path == "":
		t.hint("added; readable in private contexts only")
		return
	case a.Already:
		t.hint("the task was in the log already")
	}
	t.add(Line{Path: a.Path, Line: a.Line, Notes: []string{shortTaskID(a.ID)}})
}

func (a *TodoAnswer) render(t *Text) {
	tasks := map[string]bool{} // by their texts
	for _, c := range a.Changed {
		tasks[cmp.Or(c.Text, a.Text)] = true
	}
	several := len(tasks) > 1
	t.addBox(a.State, Line{Text: cmp.Or(TextIf(several, Plural(len(tasks), "task")), a.Text), Untrusted: a.Untrusted})
	for _, c := range a.Changed {
		t.add(Line{Depth: 2, Path: c.Path, Line: c.Line, Text: cmp.Or(c.Text, TextIf(several, a.Text)),
			Untrusted: a.Untrusted})
	}
	for _, l := range a.Left {
		t.warn("unchanged: %s%s", TextIf(!strings.HasPrefix(l.Reason, l.Path), l.Path+": "), l.Reason)
	}
	switch {
	case len(a.Changed)+len(a.Left) == 0:
		t.hint("already in this state")
	case a.DryRun:
		t.hint("dry run: nothing was written")
	}
}

// shortTaskID returns what a person can type for a task: a given id, or the beginning of a
// derived one.
func shortTaskID(id string) string {
	bare := strings.TrimLeft(id[strings.LastIndexByte(id, '#')+1:], "~^")
	if strings.Contains(id, "#~") {
		return bare[:min(len(bare), ShortID+2)]
	}
	return bare
}
