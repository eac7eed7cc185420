package api

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ForgetRequest requests, in two steps, the permanent removal of entries.
type ForgetRequest struct {
	Match string   `json:"match" size:"16384" arg:"1" doc:"whole words to look for, in any letter case; removes nothing"`
	Case  bool     `json:"case" doc:"look for the words in this letter case only"`
	IDs   []string `json:"ids" doc:"ids of the entries to remove, from that list; at most 100"`
	Token string   `json:"token" doc:"token of that list"`
	Scope
	For[ForgetAnswer]
}

// ForgetAnswer lists the matching entries of the first step or the removed
// entries of the second.
type ForgetAnswer struct {
	Entries []Occurrence `json:"entries"` // places that contain the text
	Total   int          `json:"total"`   // number of places, if not all are listed
	Token   string       `json:"token,omitempty"`

	Removed []string  `json:"removed,omitempty"` // ids, including those of archived copies
	Failed  []Refused `json:"failed,omitempty"`
	Problem string    `json:"problem,omitempty"` // why the erasure is not complete yet
	Beyond  string    `json:"beyond,omitempty"`  // copies out of reach of this operation

	Disabled bool `json:"disabled,omitempty"` // memory is turned off: there is nothing to forget

	Redaction
}

// An Occurrence is a place that contains a text: an entry, or a part of one that does not
// depend on its other lines.
type Occurrence struct {
	Number     int      `json:"number,omitempty"` // in the list, of an occurrence with an id
	ID         string   `json:"id,omitempty"`     // for removal; an occurrence without id must be edited by hand
	What       string   `json:"what"`             // entry, summary, version, line, or path
	Path       string   `json:"path"`
	Line       int      `json:"line,omitempty"`
	EndLine    int      `json:"end_line,omitempty"`
	Kind       string   `json:"kind"`
	Section    string   `json:"section,omitempty"`
	Writer     string   `json:"writer,omitempty"` // memwatchd, or other: a person or another program
	Text       string   `json:"text"`
	Highlights [][2]int `json:"highlights,omitempty"` // start and end of each match in the text, in characters
	Untrusted  bool     `json:"untrusted,omitempty"`  // written by others than the subject

	// Time is that of the change that replaced an earlier version of the file.
	Time time.Time `json:"time,omitzero"`
}

// Marked returns the text with each match in guillemets.
func (o *Occurrence) Marked() string {
	text := []rune(o.Text)
	for _, h := range slices.Backward(o.Highlights) {
		text = slices.Insert(slices.Insert(text, h[1], '»'), h[0], '«')
	}
	return string(text)
}

// The values of [Occurrence.Writer].
const (
	WrittenHere      = "memwatchd"
	WrittenElsewhere = "other" // by a person or another program
)

// Refused is an entry that was not removed, and why.
type Refused struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// WipeRequest requests the deletion of all memory of a subject, which is the
// caller.
type WipeRequest struct {
	Confirm  string `json:"confirm" arg:"1" complete:"subject" doc:"id of the subject, repeated as confirmation"`
	Sessions bool   `json:"sessions" doc:"also delete the sessions whose subject_id is this subject"`
	DryRun   bool   `json:"dry_run" doc:"show the files and links to delete, without changing files"`
	Scope
	For[WipeAnswer]
}

// WipeAnswer lists the deleted data, or after a dry run the data to delete.
type WipeAnswer struct {
	Subjects []string `json:"subjects"` // the subject and its aliases
	Deleted  []string `json:"deleted"`  // files
	Left     []string `json:"left"`     // files in its directories that are not memory
	Unlinked []string `json:"unlinked"` // external keys
	Failed   []string `json:"failed,omitempty"`
	Problem  string   `json:"problem,omitempty"` // why the erasure is not complete yet
	Beyond   string   `json:"beyond,omitempty"`  // copies out of reach of this operation
	Disabled bool     `json:"disabled,omitempty"`
	DryRun   bool     `json:"dry_run,omitempty"` // nothing was deleted
}

func (a *ForgetAnswer) render(t *Text) {
	for _, id := range a.Removed {
		t.printf("forgotten: %s", id)
	}
	for _, f := range a.Failed {
		t.add(Line{Text: "still there: " + f.ID + ": " + f.Reason, Style: Bad})
	}
	t.addProblem(0, a.Problem)
	if len(a.Failed) > 0 || a.Problem != "" {
		t.Failure = someRemain
	}
	switch {
	case a.Token != "" && a.Total == 0:
		t.hint("no readable entry contains these words")
	case a.Token == "" && a.Total > 0:
		t.printf("the text remains in:")
	}
	for _, e := range a.Entries {
		e.render(t)
	}
	if more := a.Total - len(a.Entries); more > 0 {
		t.hint("and %d more", more)
	}
	switch {
	case a.Token == "":
		t.hint("%s", a.Beyond)
	case t.Audience == Models && a.Total > MaxUnchosen:
		t.hint("nothing was removed, and no more than %d entries can be: narrow the words", MaxUnchosen)
	case t.Audience == Models && a.Total > 0:
		t.printf("token: %s", a.Token)
		t.hint("nothing was removed: show this list to the user, then give the token and the ids that the user chooses")
	}
}

// MaxUnchosen is the number of entries up to which programs and models are offered a removal.
const MaxUnchosen = 10

// someRemain is the failure of an incomplete erasure.
const someRemain = "some copies remain"

// render adds the complete text that would be removed, because the user must see it all
// to consent. Only at a terminal the number is enough to choose the entry.
func (o *Occurrence) render(t *Text) {
	what := o.What
	switch {
	case o.ID == "":
		what = "cannot be removed from here: edit the file (" + what + ")"
	case what == "entry":
		what = ""
	case what == "version":
		what = "in an earlier version, " + t.formatDay(o.Time)
	}
	untrusted := o.Untrusted || o.What == "version" && t.Audience == Models // its authors are not known
	t.add(Line{Head: TextIf(o.ID != "", fmt.Sprintf("%d.", o.Number)), Path: o.Path, Line: o.Line, Untrusted: untrusted,
		Notes: []string{what, TextIf(o.Writer == WrittenElsewhere, "not written by memwatchd"),
			TextIf(t.Audience == Models, "id ") + TextIf(t.Audience != People, o.ID)}})
	text := Line{Form: Body, Depth: 2, Text: o.Marked(), Untrusted: untrusted}
	for i, h := range o.Highlights { // with the guillemets, which show the matches without colors
		text.Matches = append(text.Matches, [2]int{h[0] + 2*i, h[1] + 2*i + 2})
	}
	t.add(text)
}

func (a *WipeAnswer) render(t *Text) {
	t.Changes = len(a.Deleted) + len(a.Unlinked)
	t.printf("%s of %s %sdeleted", Plural(len(a.Deleted), "file"), strings.Join(a.Subjects, ", "),
		TextIf(a.DryRun, "would be "))
	for _, path := range a.Deleted {
		t.add(Line{Depth: 2, Text: path, Style: Muted})
	}
	for _, key := range a.Unlinked {
		t.printf("%sunlinked: %s", TextIf(a.DryRun, "would be "), key)
	}
	for _, path := range a.Failed {
		t.add(Line{Head: "still there:", Path: path, HeadStyle: Bad})
	}
	t.addProblem(0, a.Problem)
	if len(a.Failed) > 0 || a.Problem != "" {
		t.Failure = someRemain
	}
	for _, path := range a.Left {
		t.add(Line{Head: "kept, not part of memory:", Path: path})
	}
	t.hint("%s", a.Beyond)
}
