package api

import "cmp"

// TodoRequest requests that a task be ticked or reopened. Without a task, and
// as a dry run, it requests the boxes that will be ticked because their task
// was completed elsewhere.
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
	Plan    *TodoPlan   `json:"plan,omitempty"`
	Index   IndexState  `json:"index"`

	Disabled bool `json:"disabled,omitempty"` // memory is turned off: nothing was written

	Redaction
}

// TodoPlan lists the boxes that will be ticked because their task was completed
// elsewhere, and those that will not.
type TodoPlan struct {
	Waiting  []TodoTick `json:"waiting"`           // will be ticked
	Diff     []FileDiff `json:"diff"`              // resulting changes to the files, as visible to the caller
	Unclear  []TodoTick `json:"unclear"`           // not changed: several boxes of the file match equally
	Proposed []TodoTick `json:"proposed"`          // not changed: the author of the completion may not change the box
	Known    []TodoTick `json:"known"`             // not changed: same state when first seen, or set by a person since
	Off      bool       `json:"off,omitempty"`     // automatic ticking is off
	Problem  string     `json:"problem,omitempty"` // why nothing is ticked now
}

// A TodoTick is a box that is ticked, or left alone, because of another one.
type TodoTick struct {
	Text string `json:"text"`

	Untrusted bool `json:"untrusted,omitempty"` // the box was written by others than the subject

	Places []Place `json:"places"`           // the box; all matching boxes, if the choice is unclear
	Done   Place   `json:"done"`             // the completed box
	By     string  `json:"by,omitempty"`     // author of the completion, if it was written in public or by another subject
	Reason string  `json:"reason,omitempty"` // why the box could not be written so far
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
	Visibility string `json:"visibility" default:"private_only" enum:"private_only,public_ok" doc:"where the task may be shown: private_only, or public_ok for public contexts too"`
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
