package api

// LoadRequest asks for what an agent reads when it wakes.
type LoadRequest struct {
	Session string `json:"session" complete:"session" doc:"id of the session that starts"`
	Day     string `json:"day" doc:"its day, YYYY-MM-DD; today if not given"`
	Days    int    `json:"days" min:"0" max:"3650" doc:"how many days are recent; 0 for as many as are configured"`
	Fresh
	Scope
}

// LoadAnswer is what an agent reads when it wakes.
type LoadAnswer struct {
	Identity []File     `json:"identity"`        // SOUL.md and USER.md, with their text
	LongTerm []File     `json:"long_term"`       // in private only, with their text
	Recent   []File     `json:"recent"`          // sessions and daily notes, newest first, with their summaries
	Today    *File      `json:"today,omitempty"` // the session's file of the day, with its text
	Block    string     `json:"block"`           // all of that as one text
	Index    IndexState `json:"index"`

	Redaction
}

// A File is a file of memory in a few words.
type File struct {
	Path      string `json:"path"`
	Kind      string `json:"kind"`
	Day       string `json:"day,omitempty"`
	Session   string `json:"session,omitempty"`
	Summary   string `json:"summary,omitempty"`
	Untrusted bool   `json:"untrusted,omitempty"` // the summary was written by others than the subject
	// Progress counts what is done of the tasks and follow-ups.
	Progress *Progress `json:"progress,omitempty"`
	Text     string    `json:"text,omitempty"`
}

// Progress is what is done, of how much.
type Progress struct {
	Tasks     string `json:"tasks"`
	FollowUps string `json:"follow_ups"`
}
