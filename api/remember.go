package api

// RememberRequest requests that a fact be stored permanently.
type RememberRequest struct {
	Text     string   `json:"text" size:"request" arg:"rest" stdin:"true" need:"true" doc:"the fact, in one or two sentences"`
	Title    string   `json:"title" doc:"title in a few words; an item with the same title is replaced"`
	Section  string   `json:"section" complete:"section" doc:"heading above the item; default: the heading that fits best"`
	Session  string   `json:"session" complete:"session" doc:"id of the session; each session can save one item a day"`
	Explicit bool     `json:"explicit" need:"true" doc:"true if the user explicitly asked to remember this"`
	Source   string   `json:"source" doc:"origin of the fact, such as a message id; with a session, the session is the origin"`
	Evidence []string `json:"evidence" complete:"path" doc:"evidence for the fact: paths, path#id or URLs"`

	Supersedes string `json:"supersedes" complete:"entry" doc:"entry that this one replaces: path:line, path#id or an id"`
	Scope
	For[RememberAnswer]
}

// RememberAnswer contains the position of the stored item.
type RememberAnswer struct {
	Path     string   `json:"path,omitempty"`
	Line     int      `json:"line,omitempty"`
	Section  string   `json:"section,omitempty"`
	Replaced bool     `json:"replaced"` // an item with that title or text existed
	Hints    []string `json:"hints"`

	Similar []SimilarEntry `json:"similar,omitempty"`

	Disabled bool `json:"disabled,omitempty"` // memory is turned off: nothing was written

	Redaction
}

func (a *RememberAnswer) render(t *Text) {
	t.addWritten("remembered", a.Path, a.Line, "under "+a.Section+TextIf(a.Replaced, ", replacing the previous value"))
	t.hints(a.Hints)
	t.addSimilar(a.Similar)
}
