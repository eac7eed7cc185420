package api

// RememberRequest requests that a fact be stored permanently.
type RememberRequest struct {
	Text     string   `json:"text" arg:"rest" stdin:"true" need:"true" doc:"what to remember, in a sentence or two"`
	Title    string   `json:"title" doc:"what it is about, in a few words; an item with the same title is replaced"`
	Section  string   `json:"section" complete:"section" doc:"heading to put it under; the one that fits best if not given"`
	Session  string   `json:"session" complete:"session" doc:"id of the session in which it was said; one item a day is kept of each"`
	Explicit bool     `json:"explicit" need:"true" doc:"the user has asked for it to be remembered, in so many words"`
	Evidence []string `json:"evidence" complete:"path" doc:"where it comes from: paths, URLs or ids of entries"`
	Scope
}

// RememberAnswer contains the position of the stored item.
type RememberAnswer struct {
	Path     string   `json:"path,omitempty"`
	Line     int      `json:"line,omitempty"`
	Section  string   `json:"section,omitempty"`
	Replaced bool     `json:"replaced"` // an item with that title or text existed
	Hints    []string `json:"hints"`
	Disabled bool     `json:"disabled,omitempty"` // memory is turned off: nothing was written

	Redaction
}
