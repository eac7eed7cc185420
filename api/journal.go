package api

import (
	"time"
)

// JournalRequest asks what was written to files.
type JournalRequest struct {
	Since string `json:"since" doc:"only what was written on this day or at this time, or later; 12h or 7d is so long ago"`
	Path  string `json:"path" arg:"1" complete:"path" doc:"only what was written to this file, or below this directory"`
	Limit int    `json:"limit" default:"20" min:"1" max:"1000" doc:"how much to list at most"`
	Scope
}

// JournalAnswer lists what was written, newest first.
type JournalAnswer struct {
	Writes []Wrote `json:"writes"`

	Redaction
}

// Wrote is one change that was made to one file.
type Wrote struct {
	ID     string    `json:"id"`
	Group  string    `json:"group"` // shared by what is undone together
	Time   time.Time `json:"time"`
	Path   string    `json:"path"`
	To     string    `json:"to,omitempty"` // where the file was moved to
	What   string    `json:"what"`         // changed, created, removed or moved
	Cause  string    `json:"cause"`
	Reason string    `json:"reason,omitempty"`
	State  string    `json:"state"`            // done or undone
	Undoes []string  `json:"undoes,omitempty"` // ids of what it took back

	Forgotten bool       `json:"forgotten,omitempty"` // some of the text is not kept any more
	Hunks     []DiffHunk `json:"hunks"`
	Truncated bool       `json:"truncated,omitempty"` // there are more hunks, or they are longer
	Problem   string     `json:"problem,omitempty"`   // why the hunks cannot be shown
}

// UndoRequest asks to take back what was written.
type UndoRequest struct {
	ID     string `json:"id" arg:"1" complete:"change" doc:"what to take back, by its id in the journal or the beginning of that; what was written together with it is taken back, too"`
	Since  string `json:"since" doc:"take back everything that was written on this day or at this time, or later; 12h or 7d is so long ago"`
	DryRun bool   `json:"dry_run" doc:"tell what would be taken back, and take nothing back"`
	Scope
}

// UndoAnswer says what became of everything that was to be taken back, newest
// first.
type UndoAnswer struct {
	Undone  []Unwrote `json:"undone"`
	Refused int       `json:"refused"` // how many of them are as they were
	DryRun  bool      `json:"dry_run"`

	Redaction
}

// Unwrote is something that was written, and was to be taken back. Its hunks are
// those of taking it back: what it put goes, and what it took comes.
type Unwrote struct {
	Wrote
	By      string `json:"by,omitempty"`      // id of what took it back
	Refusal string `json:"refusal,omitempty"` // why it was not
}
