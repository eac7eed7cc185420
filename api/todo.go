package api

// TodoRequest requests that a task be ticked or reopened. Without a task, and
// as a dry run, it requests the boxes that will be ticked because their task
// was completed elsewhere.
type TodoRequest struct {
	Text    string `json:"text" arg:"rest" complete:"todo" doc:"the task's text; case, emphasis, tags and dates in it do not matter"`
	ID      string `json:"id" doc:"the task instead, as path#id or by the id that was given to it"`
	State   string `json:"state" default:"done" enum:"done,open" doc:"done or open"`
	Session string `json:"session" complete:"session" doc:"the task as it stands in this session"`
	DryRun  bool   `json:"dry_run" doc:"change nothing, show what would be changed"`
	Fresh
	Scope
}

// TodoAnswer lists the places where a task was changed.
type TodoAnswer struct {
	Text    string      `json:"text,omitempty"`
	State   string      `json:"state,omitempty"`
	Changed []TodoPlace `json:"changed"` // with their new state
	Left    []Skipped   `json:"left"`    // files that could not be changed, and why
	DryRun  bool        `json:"dry_run"` // nothing was changed: Changed lists the places that would be
	Plan    *TodoPlan   `json:"plan,omitempty"`
	Index   IndexState  `json:"index"`

	Disabled bool `json:"disabled,omitempty"` // memory is turned off: nothing was written

	Redaction
}

// TodoPlan lists the boxes that will be ticked because their task was completed
// elsewhere, and those that will not.
type TodoPlan struct {
	Waiting []TodoTick `json:"waiting"`           // will be ticked
	Diff    []FileDiff `json:"diff"`              // the resulting changes to the files, as shown
	Unclear []TodoTick `json:"unclear"`           // left alone: more than one box of the file fits equally
	Known   []TodoTick `json:"known"`             // left alone: it was so when first seen, or a person has decided since
	Off     bool       `json:"off,omitempty"`     // automatic ticking is off
	Problem string     `json:"problem,omitempty"` // why nothing is ticked now
}

// A TodoTick is a box that is ticked, or left alone, because of another one.
type TodoTick struct {
	Text   string  `json:"text"`
	Places []Place `json:"places"`           // the box; all that fit, if the choice is unclear
	Done   Place   `json:"done"`             // the completed box
	Reason string  `json:"reason,omitempty"` // why the box could not be written so far
}

// TodosRequest requests tasks.
type TodosRequest struct {
	State   string `json:"state" default:"open" enum:"open,done,all" doc:"open, done or all"`
	Days    int    `json:"days" min:"0" max:"3650" doc:"only tasks of so many days; 0 for all"`
	Section string `json:"section" complete:"section" doc:"only tasks below a heading of this name"`
	Fresh
	Scope
}

// TodosAnswer lists tasks, oldest first.
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
	Places    []TodoPlace `json:"places"`              // newest first
}

// A TodoDay counts the open and the completed tasks that exist since a day.
type TodoDay struct {
	Day  string `json:"day,omitempty"` // empty for tasks without one
	Open int    `json:"open"`
	Done int    `json:"done"`
}

// A TodoPlace is one copy of a task.
type TodoPlace struct {
	Place
	State string `json:"state"`
	Day   string `json:"day,omitempty"`
}
