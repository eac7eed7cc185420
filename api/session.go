package api

// SessionRequest requests that a draft be merged into the file of its session.
type SessionRequest struct {
	Session string `json:"session" need:"true" complete:"session" doc:"id of the session"`
	Day     string `json:"day" doc:"the day on which it began, YYYY-MM-DD, so that it keeps its file after midnight; today if not given"`
	Draft   Draft  `json:"draft" arg:"1" stdin:"true" doc:"what to write, for everybody to read: {summary, source, channel, contact_id, contact_nickname, subject_id, items: {section: [{title, text} or {topic, users, datetime, event, result}]}, facts: [{title, text}], tasks: [{text, done, reopen}], follow_ups: [{text, done, reopen}], links: [{text, target}], promote: {title, text, explicit}}"`
	DryRun  bool   `json:"dry_run" doc:"show what would change, and change nothing"`
	Scope
}

// SessionAnswer is the result of merging a draft.
type SessionAnswer struct {
	Path        string          `json:"path,omitempty"`
	Added       []SessionItem   `json:"added"`   // new items
	Updated     []SessionItem   `json:"updated"` // existing items with changed content
	Merged      []SessionItem   `json:"merged"`  // existing items without a change
	LeftOut     []LeftOut       `json:"left_out"`
	Merge       string          `json:"merge,omitempty"` // how existing items were matched: by rules, or semantic, from the proposals of a model
	Todos       []TodoPlace     `json:"todos"`           // tasks of other files that were ticked as a result
	Frontmatter map[string]any  `json:"frontmatter,omitempty"`
	Promoted    *RememberAnswer `json:"promoted,omitempty"`
	Hints       []string        `json:"hints"`
	DryRun      bool            `json:"dry_run"`
	Diff        []DiffHunk      `json:"diff,omitempty"`     // of a dry run: the changes to the file, as shown
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

// A Draft is the content of a session: text from outside that becomes items of
// the session's file.
type Draft struct {
	Summary         string                 `json:"summary,omitempty" doc:"what the session was about, in a sentence or two"`
	Source          string                 `json:"source,omitempty" doc:"what started the session, such as cli or telegram"`
	Channel         string                 `json:"channel,omitempty" doc:"in which it goes on"`
	ContactID       string                 `json:"contact_id,omitempty" doc:"with whom, as a stable id"`
	ContactNickname string                 `json:"contact_nickname,omitempty" doc:"what they are called; needs contact_id"`
	SubjectID       string                 `json:"subject_id,omitempty" doc:"whose the session is; nobody's if not given"`
	Items           map[string][]DraftItem `json:"items,omitempty" doc:"what there is to say, by section"`
	Facts           []DraftItem            `json:"facts,omitempty" doc:"what holds for a while"`
	Tasks           []DraftTask            `json:"tasks,omitempty" doc:"what is to be done"`
	FollowUps       []DraftTask            `json:"follow_ups,omitempty" doc:"what is to be come back to"`
	Links           []DraftLink            `json:"links,omitempty" doc:"files of memory, or anything else"`
	Promote         *Promotion             `json:"promote,omitempty" doc:"one thing to keep for long"`
}

// A DraftItem is a title with a text, or an event with its topic, participants,
// time, description and result.
type DraftItem struct {
	Title      string `json:"title,omitempty" doc:"a few words; an item of the same title is replaced"`
	Text       string `json:"text,omitempty"`
	Topic      string `json:"topic,omitempty" doc:"of an event, in place of a title"`
	Users      string `json:"users,omitempty" doc:"who took part"`
	Datetime   string `json:"datetime,omitempty" doc:"when it was"`
	Event      string `json:"event,omitempty" doc:"what happened"`
	Result     string `json:"result,omitempty" doc:"what came of it"`
	Visibility string `json:"visibility,omitempty" doc:"anything but public_ok is private, and is left out"`
}

// A DraftTask is a task. A completed task stays completed unless it is
// reopened.
type DraftTask struct {
	Text       string `json:"text,omitempty"`
	Done       bool   `json:"done,omitempty"`
	Reopen     bool   `json:"reopen,omitempty" doc:"it is open again, though it was done"`
	Visibility string `json:"visibility,omitempty" doc:"anything but public_ok is private, and is left out"`
}

// A DraftLink is a link to a file of memory or to any other target.
type DraftLink struct {
	Text       string `json:"text,omitempty"`
	Target     string `json:"target,omitempty" doc:"a path of memory, or a URL"`
	Visibility string `json:"visibility,omitempty" doc:"anything but public_ok is private, and is left out"`
}

// A Promotion is a fact to store permanently.
type Promotion struct {
	Title    string `json:"title,omitempty"`
	Text     string `json:"text,omitempty"`
	Explicit bool   `json:"explicit,omitempty" doc:"the user has asked for it"`
}
