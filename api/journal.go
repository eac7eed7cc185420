package api

import (
	"cmp"
	"strings"
	"time"
)

// JournalRequest requests the journal of changes to files.
type JournalRequest struct {
	Since    string `json:"since" doc:"only changes since this time: 2026-02-04, 2026-02, 2026, RFC 3339, 36h, 7d, 2w, today, yesterday or a weekday"`
	Path     string `json:"path" arg:"1" complete:"path" doc:"only changes to this file, or to files below this directory"`
	Mine     bool   `json:"mine" doc:"only changes that the calling program made in its present session, such as the commands of one terminal"`
	By       string `json:"by" doc:"only changes that this program or session requested: cli, console, hook, mcp:claude-code or the id of a session"`
	Injected bool   `json:"injected" doc:"list the last 500 blocks of memory that hooks have given to agents since the daemon started, with their places, instead of changes"`

	Limit int `json:"limit" default:"20" min:"1" max:"1000" doc:"maximum number of changes, 1 to 1000"`
	Scope
	For[JournalAnswer]
}

// JournalAnswer lists changes, newest first.
type JournalAnswer struct {
	Writes   []WriteRecord   `json:"writes"`
	Injected []InjectedBlock `json:"injected,omitempty"`

	Redaction
}

// InjectedBlock is a block of memory that a hook has given to an agent.
type InjectedBlock struct {
	Time    time.Time `json:"time"`
	Program string    `json:"program"` // such as hook:claude-code
	Session string    `json:"session,omitempty"`
	Tokens  int       `json:"tokens"`           // estimated
	Places  []Place   `json:"places,omitempty"` // at present; entries of a prompt, or files of a start block
	Gone    int       `json:"gone,omitempty"`   // number of places that have changed or were removed
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

	// that requested the change, by its own account: cli, console, mcp:NAME or hook:NAME
	Program string `json:"program,omitempty"`
	Session string `json:"session,omitempty"` // of the program

	Automatic bool       `json:"automatic,omitempty"` // made by the daemon without a request
	External  bool       `json:"external,omitempty"`  // made by another program
	Forgotten bool       `json:"forgotten,omitempty"` // some of the text is no longer stored
	Hunks     []DiffHunk `json:"hunks"`
	Truncated bool       `json:"truncated,omitempty"` // there are more hunks, or they are longer
	Problem   string     `json:"problem,omitempty"`   // why the hunks cannot be shown
}

// UndoRequest requests that changes be undone.
type UndoRequest struct {
	ID     string `json:"id" arg:"1" doc:"change to undo: its id in the journal, or the beginning of the id; changes of the same group are undone with it. Or FILE@VERSION: version of a file to restore, as history lists it"`
	Since  string `json:"since" doc:"undo all changes since this time: 2026-02-04, 2026-02, 2026, RFC 3339, 36h, 7d, 2w, today, yesterday or a weekday"`
	Mine   bool   `json:"mine" with:"since" doc:"undo only changes that the calling program made in its present session, such as the commands of one terminal"`
	By     string `json:"by" with:"since" doc:"undo only changes that this program or session requested: cli, console, hook, mcp:claude-code or the id of a session"`
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

// render adds the changes, newest first, as differences or on a line each.
func (a *JournalAnswer) render(t *Text) {
	for i, w := range a.Writes {
		path := cmp.Or(w.To, w.Path)
		t.Files = append(t.Files, path)
		state := TextIf(w.State != "done", "["+w.State+"]")
		if t.OneLine {
			t.add(Line{Head: w.ID + "  " + t.formatTime(w.Time) + " ", HeadStyle: Strong, Path: path,
				Text: strings.TrimSpace(w.What + " " + state), Notes: []string{w.Cause, w.by()}})
			continue
		}
		if i > 0 {
			t.addBlank()
		}
		w.render(t, state)
	}
	for _, b := range a.Injected {
		t.add(Line{Head: t.formatTime(b.Time), HeadStyle: Strong, Text: strings.TrimSpace(b.Program + " " + b.Session),
			Notes: []string{Plural(b.Tokens, "token"), TextIf(b.Gone > 0, Plural(b.Gone, "place")+" gone")}})
		for _, p := range b.Places {
			t.add(Line{Depth: 1, Path: p.Path, Line: p.Line})
		}
	}
	if len(a.Writes)+len(a.Injected) == 0 {
		t.hint("nothing was %s", cmp.Or(TextIf(t.given("injected") == "true", "given to agents"), "written"))
	}
}

// by returns the program that requested a change, if known.
func (w *WriteRecord) by() string {
	if w.External {
		return "by another program"
	}
	return TextIf(w.Program != "", "by "+w.Program)
}

// render adds undone changes as the resulting differences, and refused ones with their
// place only.
func (a *UndoAnswer) render(t *Text) {
	by, made := "", "undone" // id of a change that undid another
	if a.Again {
		made = "made again"
	}
	for _, u := range a.Undone {
		if u.Refusal != "" {
			u.renderHeader(t, "not "+made+": "+u.Refusal)
			t.add(Line{Depth: 2, Path: cmp.Or(u.To, u.Path)})
			t.addBlank()
			continue
		}
		t.Changes++
		if !a.DryRun {
			by = u.By
		}
		if !a.Again {
			u.WriteRecord = u.reverse()
		}
		u.render(t, TextIf(a.DryRun, "would be ")+made)
		t.addBlank()
	}
	t.printf("%s %s%s%s", Plural(len(a.Undone)-a.Refused, "change"), TextIf(a.DryRun, "would be "), made,
		andSome(a.Refused, "not"))
	if by != "" && !a.Again {
		t.hint("run `undo %s` to redo them", by)
	}
	if a.Refused > 0 {
		t.Failure = Plural(a.Refused, "change") + " cannot be undone"
	}
}

// reverse returns an undone change in the reverse direction. Its hunks are already
// reversed.
func (w WriteRecord) reverse() WriteRecord {
	switch w.What {
	case "created":
		w.What = "removed"
	case "removed":
		w.What = "created"
	case "moved":
		w.Path, w.To = w.To, w.Path
	}
	return w
}

// render adds one change: its header, its state and its difference.
func (w *WriteRecord) render(t *Text, state string) {
	w.renderHeader(t, state)
	before, after := w.Path, cmp.Or(w.To, w.Path)
	switch w.What {
	case "created":
		before = ""
	case "removed":
		after = ""
	case "moved":
		t.add(Line{Form: Moved, Path: w.Path, Text: w.To})
	}
	if len(w.Hunks) == 0 && w.What != "changed" && w.What != "moved" {
		t.add(Line{Depth: 2, Path: w.Path, Text: w.What})
	}
	t.addDiff(before, after, w.Hunks)
	if w.Forgotten {
		t.add(Line{Depth: 2, Text: "(its text was forgotten)", Style: Muted})
	}
	if w.Truncated {
		t.add(Line{Depth: 2, Text: "(more changes than shown)", Style: Muted})
	}
	t.addProblem(2, w.Problem)
}

// renderHeader adds the header line of a change with its state.
func (w *WriteRecord) renderHeader(t *Text, state string) {
	t.add(Line{Head: w.ID + " ", HeadStyle: Strong,
		Text:  t.formatTime(w.Time) + "  " + w.Cause + TextIf(w.Reason != "", ": "+w.Reason),
		Notes: []string{TextIf(w.Group != w.ID, "with "+w.Group), w.by(), state}})
}
