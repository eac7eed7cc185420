package api

import (
	"fmt"
	"strings"
)

// SessionRequest requests that a draft be merged into the file of its session.
type SessionRequest struct {
	Session string `json:"session" need:"true" complete:"session" doc:"id of the session"`
	Day     string `json:"day" doc:"day on which the session began, whose file it keeps after midnight: YYYY-MM-DD, yesterday or a weekday; default: today"`
	Project string `json:"project" doc:"project of the session, such as the name of a repository: adds the tag project:NAME"`
	Draft   Draft  `json:"draft" arg:"1" stdin:"true" doc:"content to merge: {summary, default_summary, visibility, source, channel, tags, contact_id, contact_nickname, subject_id, items: {section: [{title, text} or {topic, users, datetime, event, result}]}, facts: [{title, text}], tasks: [{text, done, reopen}], follow_ups: [{text, done, reopen}], links: [{text, target}], promote: {title, text, explicit}}"`
	DryRun  bool   `json:"dry_run" doc:"show the changes, without changing files"`
	Scope
	For[SessionAnswer]
}

// SessionAnswer is the result of merging a draft.
type SessionAnswer struct {
	Path    string        `json:"path,omitempty"`
	Added   []SessionItem `json:"added"`   // new items
	Updated []SessionItem `json:"updated"` // existing items with changed content
	Merged  []SessionItem `json:"merged"`  // existing items without a change
	LeftOut []LeftOut     `json:"left_out"`
	// how existing items were matched: by rules, or semantic, from the proposals of a model
	Merge       string          `json:"merge,omitempty"`
	Todos       []TodoPlace     `json:"todos"` // tasks of other files that were ticked as a result
	Frontmatter map[string]any  `json:"frontmatter,omitempty"`
	Promoted    *RememberAnswer `json:"promoted,omitempty"`
	Hints       []string        `json:"hints"`
	DryRun      bool            `json:"dry_run"`
	// in a dry run: the changes to the file, as visible to the caller
	Diff []DiffHunk `json:"diff,omitempty"`
	// the diff may contain text that others than the subject wrote
	Untrusted bool `json:"untrusted,omitempty"`
	Disabled  bool `json:"disabled,omitempty"` // memory is turned off: nothing was written

	Redaction
}

// A SessionItem is an item of a draft, in the file.
type SessionItem struct {
	Item    string `json:"item"` // name of the item in the draft, such as facts[0]
	Section string `json:"section"`
	Text    string `json:"text"` // first line of the item
	Line    int    `json:"line,omitempty"`

	Untrusted bool `json:"untrusted,omitempty"` // of a merged item: written by others than the subject

	// of an added item: first line of an earlier item with most of its words, which may be a duplicate
	Similar string `json:"similar,omitempty"`
}

// LeftOut is a part of a draft that was not written.
type LeftOut struct {
	Item   string `json:"item"` // name of the item in the draft, such as facts[0]
	Reason string `json:"reason"`
}

// A Draft is the content of a session: text from outside that becomes items of
// the session's file.
type Draft struct {
	Summary         string                 `json:"summary,omitempty" doc:"subject matter of the session, in one or two sentences"`
	DefaultSummary  string                 `json:"default_summary,omitempty" doc:"summary for a session that has none yet"`
	Visibility      string                 `json:"visibility,omitempty" doc:"private_only: create a private file, and write nothing into a public one"`
	Source          string                 `json:"source,omitempty" doc:"program that started the session, such as cli or telegram"`
	Channel         string                 `json:"channel,omitempty" doc:"channel of the session"`
	Tags            []string               `json:"tags,omitempty" doc:"keywords of the session, added to those of its file"`
	ContactID       string                 `json:"contact_id,omitempty" doc:"stable id of the contact"`
	ContactNickname string                 `json:"contact_nickname,omitempty" doc:"display name of the contact; requires contact_id"`
	SubjectID       string                 `json:"subject_id,omitempty" doc:"subject that the session belongs to; default: the caller if the file is private and the caller is not the owner, else none"`
	Items           map[string][]DraftItem `json:"items,omitempty" doc:"items by section"`
	Facts           []DraftItem            `json:"facts,omitempty" doc:"facts that stay valid for some time"`
	Tasks           []DraftTask            `json:"tasks,omitempty" doc:"tasks"`
	FollowUps       []DraftTask            `json:"follow_ups,omitempty" doc:"topics to return to later"`
	Links           []DraftLink            `json:"links,omitempty" doc:"links to files of memory or to URLs"`
	Promote         *Promotion             `json:"promote,omitempty" doc:"one fact to save permanently"`
}

// A DraftItem is a title with a text, or an event with its topic, participants,
// time, description and result.
type DraftItem struct {
	Title      string `json:"title,omitempty" doc:"title in a few words; an item with the same title is replaced"`
	Text       string `json:"text,omitempty"`
	Topic      string `json:"topic,omitempty" doc:"topic of an event, in place of a title"`
	Users      string `json:"users,omitempty" doc:"participants of the event"`
	Datetime   string `json:"datetime,omitempty" doc:"time of the event"`
	Event      string `json:"event,omitempty" doc:"description of the event"`
	Result     string `json:"result,omitempty" doc:"result of the event"`
	Visibility string `json:"visibility,omitempty" doc:"private_only: omit the item from a session file that is public"`
}

// A DraftTask is a task. A completed task stays completed unless it is
// reopened.
type DraftTask struct {
	Text       string `json:"text,omitempty"`
	Done       bool   `json:"done,omitempty"`
	Reopen     bool   `json:"reopen,omitempty" doc:"open a completed task again"`
	Visibility string `json:"visibility,omitempty" doc:"private_only: omit the item from a session file that is public"`
}

// A DraftLink is a link to a file of memory or to any other target.
type DraftLink struct {
	Text       string `json:"text,omitempty"`
	Target     string `json:"target,omitempty" doc:"path of a file of memory, or URL"`
	Visibility string `json:"visibility,omitempty" doc:"private_only: omit the item from a session file that is public"`
}

// A Promotion is a fact to store permanently.
type Promotion struct {
	Title    string `json:"title,omitempty"`
	Text     string `json:"text,omitempty"`
	Explicit bool   `json:"explicit,omitempty" doc:"true if the user explicitly asked to remember this"`
}

// render adds the result of a draft: + is new, ~ changed, = already present and - left
// out.
func (a *SessionAnswer) render(t *Text) {
	if a.Path != "" {
		t.addWritten(TextIf(!a.DryRun, "written"), a.Path, 0)
	}
	for _, list := range []struct {
		sign  string
		style Style
		items []SessionItem
	}{{"+", Added, a.Added}, {"~", Changed, a.Updated}, {"=", Muted, a.Merged}} {
		for _, i := range list.items {
			t.add(Line{Depth: 1, Head: list.sign, HeadStyle: list.style, Text: i.Section + ": " + i.Text,
				Untrusted: i.Untrusted, Notes: []string{
					TextIf(i.Line > 0, fmt.Sprintf("line %d%s", i.Line,
						TextIf(i.Similar != "", ", similar to: "+i.Similar)))}})
		}
	}
	for _, l := range a.LeftOut {
		t.add(Line{Depth: 1, Head: "-", HeadStyle: Removed, Text: l.Item + ": left out, " + l.Reason})
	}
	for _, task := range a.Todos {
		t.addBox(task.State, Line{Depth: 1, Path: task.Path, Line: task.Line})
	}
	if p := a.Promoted; p != nil && p.Path != "" {
		t.add(Line{Depth: 1, Head: "saved permanently:", Path: p.Path, Line: p.Line})
	}
	before := a.Path
	if len(a.Diff) > 0 && strings.HasPrefix(a.Diff[0].Diff, "@@ -0,0 ") {
		before = "" // the file was empty or missing
	}
	t.addDiff(before, a.Path, a.Diff)
	for i := range t.Lines {
		if l := &t.Lines[i]; l.Form == Hunk {
			l.Untrusted = a.Untrusted
		}
	}
	if a.DryRun && a.Path != "" {
		t.hint("dry run: nothing was written")
	}
	t.hints(a.Hints)
}
