package api

// ForgetRequest asks, in two steps, for something to be forgotten for good.
type ForgetRequest struct {
	Match string   `json:"match" arg:"1" doc:"a text, exactly as it stands in files: lists what has it, and a token, and removes nothing"`
	IDs   []string `json:"ids" doc:"what to remove, by the ids of that list, at most 20 at a time"`
	Token string   `json:"token" doc:"the token of that list"`
	Scope
}

// ForgetAnswer is what would be forgotten, or what was.
type ForgetAnswer struct {
	Entries []Trace `json:"entries"` // what has the text
	Total   int     `json:"total"`   // how many there are, if not all are listed
	Token   string  `json:"token,omitempty"`

	Removed []string  `json:"removed,omitempty"` // ids, those of archived copies too
	Failed  []Refused `json:"failed,omitempty"`
	Problem string    `json:"problem,omitempty"` // what could not be cleared away yet
	Beyond  string    `json:"beyond,omitempty"`  // what is not in reach

	Disabled bool `json:"disabled,omitempty"` // memory is turned off: there is nothing to forget

	Redaction
}

// A Trace is a place where a text stands.
type Trace struct {
	ID        string `json:"id,omitempty"` // to remove it by; without one it has to be edited
	What      string `json:"what"`         // entry, summary, frontmatter, heading, hidden, or path
	Path      string `json:"path"`
	Line      int    `json:"line,omitempty"`
	EndLine   int    `json:"end_line,omitempty"`
	Kind      string `json:"kind"`
	Section   string `json:"section,omitempty"`
	Text      string `json:"text"`
	Untrusted bool   `json:"untrusted,omitempty"` // written by others than the subject
}

// Refused is something that was not removed, and why.
type Refused struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// WipeRequest asks to delete all that is remembered of a subject: the one who
// asks.
type WipeRequest struct {
	Confirm  string `json:"confirm" arg:"1" complete:"subject" doc:"the subject once more"`
	Sessions bool   `json:"sessions" doc:"delete its sessions as well: those with its subject_id"`
	Scope
}

// WipeAnswer says what is gone.
type WipeAnswer struct {
	Subjects []string `json:"subjects"` // the subject and its aliases
	Deleted  []string `json:"deleted"`  // files
	Left     []string `json:"left"`     // files in its directories that are not memory
	Unlinked []string `json:"unlinked"` // external keys
	Failed   []string `json:"failed,omitempty"`
	Problem  string   `json:"problem,omitempty"` // what could not be cleared away yet
	Beyond   string   `json:"beyond,omitempty"`  // what is not in reach
	Disabled bool     `json:"disabled,omitempty"`
}
