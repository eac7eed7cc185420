package api

// LoadRequest requests the text that an agent reads at the start of a session.
type LoadRequest struct {
	Session string `json:"session" complete:"session" doc:"id of the session that starts"`
	Day     string `json:"day" with:"session" doc:"day of the session: YYYY-MM-DD, today, yesterday or a weekday; default: today"`
	Days    int    `json:"days" min:"0" max:"3650" doc:"number of recent days, 0 to 3650; 0 means the configured number"`
	Fresh
	Scope
	For[LoadAnswer]
}

// LoadAnswer is the text that an agent reads at the start of a session.
type LoadAnswer struct {
	Identity []File     `json:"identity"`        // SOUL.md and USER.md, with their text
	LongTerm []File     `json:"long_term"`       // long-term files with their text; only in a private context
	Recent   []File     `json:"recent"`          // sessions and daily notes, newest first, with their summaries
	Today    *File      `json:"today,omitempty"` // the session's file of the day, with its text
	Block    string     `json:"block"`           // all of these files as one text
	Index    IndexState `json:"index"`

	Redaction
}

// A File is a short description of a file of memory.
type File struct {
	Path      string `json:"path"`
	Kind      string `json:"kind"`
	Day       string `json:"day,omitempty"`
	Session   string `json:"session,omitempty"`
	Summary   string `json:"summary,omitempty"`
	Untrusted bool   `json:"untrusted,omitempty"` // the summary was written by others than the subject
	// counts of completed tasks and follow-ups
	Progress *Progress `json:"progress,omitempty"`
	Text     string    `json:"text,omitempty"`

	// of the text: first and last lines of the ranges that others than the subject wrote
	UntrustedLines [][2]int `json:"untrusted_lines,omitempty"`
}

// Progress contains completed and total counts.
type Progress struct {
	Tasks     string `json:"tasks"`
	FollowUps string `json:"follow_ups"`
}

func (a *LoadAnswer) render(t *Text) { t.add(Line{Form: Block, Text: a.Block}) }
