package api

import (
	"time"
)

// JournalRequest requests the journal of changes to files.
type JournalRequest struct {
	Since string `json:"since" doc:"only changes since this time: 2026-02-04, 2026-02, 2026, RFC 3339, 36h, 7d, 2w, today, yesterday or a weekday"`
	Path  string `json:"path" arg:"1" complete:"path" doc:"only changes to this file, or to files below this directory"`
	Mine  bool   `json:"mine" doc:"only changes that the calling program made in its present session, such as the commands of one terminal"`
	Limit int    `json:"limit" default:"20" min:"1" max:"1000" doc:"maximum number of changes, 1 to 1000"`
	Scope
	For[JournalAnswer]
}

// JournalAnswer lists changes, newest first.
type JournalAnswer struct {
	Writes []WriteRecord `json:"writes"`

	Redaction
}

// WriteRecord is one change to one file.
type WriteRecord struct {
	ID     string    `json:"id"`
	Group  string    `json:"group"` // shared by changes that are undone together
	Time   time.Time `json:"time"`
	Path   string    `json:"path"`
	To     string    `json:"to,omitempty"` // destination of a move
	What   string    `json:"what"`         // changed, created, removed or moved
	Cause  string    `json:"cause"`
	Reason string    `json:"reason,omitempty"`
	State  string    `json:"state"`            // done or undone
	Undoes []string  `json:"undoes,omitempty"` // ids of the changes that this change undid

	Program string `json:"program,omitempty"` // that requested the change, by its own account: cli, console, mcp:NAME or hook:NAME
	Session string `json:"session,omitempty"` // of the program

	Automatic bool       `json:"automatic,omitempty"` // made by the daemon without a request
	Forgotten bool       `json:"forgotten,omitempty"` // some of the text is no longer stored
	Hunks     []DiffHunk `json:"hunks"`
	Truncated bool       `json:"truncated,omitempty"` // there are more hunks, or they are longer
	Problem   string     `json:"problem,omitempty"`   // why the hunks cannot be shown
}

// UndoRequest requests that changes be undone.
type UndoRequest struct {
	ID     string `json:"id" arg:"1" complete:"change" doc:"change to undo: its id in the journal, or the beginning of the id; changes of the same group are undone with it"`
	Since  string `json:"since" doc:"undo all changes since this time: 2026-02-04, 2026-02, 2026, RFC 3339, 36h, 7d, 2w, today, yesterday or a weekday"`
	Mine   bool   `json:"mine" with:"since" doc:"undo only changes that the calling program made in its present session, such as the commands of one terminal"`
	Again  bool   `json:"again" with:"id" doc:"make the change again, after another program removed the text that it wrote, instead of undoing it"`
	DryRun bool   `json:"dry_run" doc:"show the changes to undo, without changing files"`
	Scope
	For[UndoAnswer]
}

// UndoAnswer contains the result for each selected change, newest first.
type UndoAnswer struct {
	Undone  []UndoRecord `json:"undone"`
	Refused int          `json:"refused"` // number of changes that were not undone
	DryRun  bool         `json:"dry_run"`
	Again   bool         `json:"again,omitempty"` // the change was made again

	Redaction
}

// UndoRecord is a change selected for undoing. Its hunks show the effect of the
// undo: text added by the change is removed, and removed text is restored.
type UndoRecord struct {
	WriteRecord
	By      string `json:"by,omitempty"`      // id of the change that undid it
	Refusal string `json:"refusal,omitempty"` // why it was not undone
}
