package api

// TodoRequest asks to tick a task, or to open it again. Without one, and as a dry
// run, it asks what is going to be ticked because it was done elsewhere.
type TodoRequest struct {
	Text    string `json:"text" arg:"rest" complete:"todo" doc:"the task's text; case, emphasis, tags and dates in it do not matter"`
	ID      string `json:"id" doc:"the task instead, as path#id or by the id that was given to it"`
	State   string `json:"state" default:"done" enum:"done,open" doc:"done or open"`
	Session string `json:"session" complete:"session" doc:"the task as it stands in this session"`
	DryRun  bool   `json:"dry_run" doc:"change nothing, show what would be changed"`
	Fresh
	Scope
}

// TodoAnswer says where a task was changed.
type TodoAnswer struct {
	Text    string      `json:"text,omitempty"`
	State   string      `json:"state,omitempty"`
	Changed []TodoPlace `json:"changed"` // with their new state
	Left    []Skipped   `json:"left"`    // files that could not be changed, and why
	DryRun  bool        `json:"dry_run"` // nothing was changed: Changed is what would be
	Plan    *TodoPlan   `json:"plan,omitempty"`
	Index   IndexState  `json:"index"`

	Disabled bool `json:"disabled,omitempty"` // memory is turned off: nothing was written

	Redaction
}

// TodoPlan is what is going to be ticked because it was done elsewhere, and what
// is not.
type TodoPlan struct {
	Waiting []TodoTick `json:"waiting"`           // is going to be ticked
	Diff    []FileDiff `json:"diff"`              // what that would make of the files, as they are shown
	Unclear []TodoTick `json:"unclear"`           // is left alone: more than one box of the file fits equally
	Known   []TodoTick `json:"known"`             // is left alone: it was so when it was first seen, or a person has decided since
	Off     bool       `json:"off,omitempty"`     // nothing is ticked by itself
	Problem string     `json:"problem,omitempty"` // why nothing is ticked now
}

// A TodoTick is a box that is ticked, or not, because of another one.
type TodoTick struct {
	Text   string  `json:"text"`
	Places []Place `json:"places"`           // the box; all that fit, if it is unclear which it is
	Done   Place   `json:"done"`             // the box that is done
	Reason string  `json:"reason,omitempty"` // what it waits for, if it could not be written so far
}

// TodosRequest asks for tasks.
type TodosRequest struct {
	State   string `json:"state" default:"open" enum:"open,done,all" doc:"open, done or all"`
	Days    int    `json:"days" min:"0" max:"3650" doc:"only tasks of so many days; 0 for all"`
	Section string `json:"section" complete:"section" doc:"only tasks below a heading of this name"`
	Fresh
	Scope
}

// TodosAnswer lists tasks, the oldest first.
type TodosAnswer struct {
	Todos []Todo     `json:"todos"`
	Days  []TodoDay  `json:"days"` // how far the tasks of each day are, whatever their state; the oldest first
	Index IndexState `json:"index"`

	Redaction
}

// A Todo is one task, wherever it stands.
type Todo struct {
	Text      string      `json:"text"`
	State     string      `json:"state"`
	Untrusted bool        `json:"untrusted,omitempty"` // every copy was written by others than the subject
	Since     string      `json:"since,omitempty"`     // the first day on which it stands, since it was last done
	Places    []TodoPlace `json:"places"`              // newest first
}

// A TodoDay is how many of the tasks that stand since a day are done.
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
