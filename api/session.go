package api

import (
	"github.com/memwatchd/memwatchd/memory"
)

// SessionRequest asks to merge what a session has to say of itself into its file.
type SessionRequest struct {
	Session string       `json:"session" need:"true" complete:"session" doc:"id of the session"`
	Day     string       `json:"day" doc:"the day on which it began, YYYY-MM-DD, so that it keeps its file after midnight; today if not given"`
	Draft   memory.Draft `json:"draft" arg:"1" stdin:"true" doc:"what to write, for everybody to read: {summary, source, channel, contact_id, contact_nickname, subject_id, items: {section: [{title, text} or {topic, users, datetime, event, result}]}, facts: [{title, text}], tasks: [{text, done, reopen}], follow_ups: [{text, done, reopen}], links: [{text, target}], promote: {title, text, explicit}}"`
	DryRun  bool         `json:"dry_run" doc:"show what would change, and change nothing"`
	Scope
}

// SessionAnswer is what became of a draft.
type SessionAnswer struct {
	Path        string          `json:"path,omitempty"`
	Added       []SessionItem   `json:"added"`   // that are new
	Updated     []SessionItem   `json:"updated"` // that were there, and said something else
	Merged      []SessionItem   `json:"merged"`  // that were there as they are
	LeftOut     []LeftOut       `json:"left_out"`
	Merge       string          `json:"merge,omitempty"` // how it was found out what was there: by rules, or semantic, by what a model proposed
	Todos       []TodoPlace     `json:"todos"`           // tasks of other files that were ticked because of it
	Frontmatter map[string]any  `json:"frontmatter,omitempty"`
	Promoted    *RememberAnswer `json:"promoted,omitempty"`
	Hints       []string        `json:"hints"`
	DryRun      bool            `json:"dry_run"`
	Diff        []DiffHunk      `json:"diff,omitempty"`     // of a dry run: what would change in the file, as it is shown
	Disabled    bool            `json:"disabled,omitempty"` // memory is turned off: nothing was written

	Redaction
}

// A SessionItem is an item of a draft, in the file.
type SessionItem struct {
	Item    string `json:"item"` // in the draft, such as facts[0]
	Section string `json:"section"`
	Text    string `json:"text"` // its first line
	Line    int    `json:"line,omitempty"`
}

// LeftOut is a part of a draft that was not written.
type LeftOut struct {
	Item   string `json:"item"` // in the draft, such as facts[0]
	Reason string `json:"reason"`
}
