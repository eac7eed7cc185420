package api

// Basis is the part of a summary request that lists its evidence.
type Basis struct {
	Evidence   []string `json:"evidence" need:"true" complete:"path" doc:"evidence for the summary: paths, path#id or URLs; at least one"`
	Visibility string   `json:"visibility" default:"private_only" enum:"public_ok,private_only" doc:"where the summary may be shown: private_only, or public_ok for public contexts too"`
	Source     string   `json:"source" doc:"origin of the summary, such as a message id"`
}

// ProfileRequest requests a new summary of the subject. It replaces the summary
// of that name, with its evidence.
type ProfileRequest struct {
	Text string `json:"text" size:"request" arg:"rest" stdin:"true" need:"true" doc:"the summary, in a few sentences"`
	Name string `json:"name" default:"Profile" flag:"title" doc:"name of the summary; a summary with the same name is replaced"`
	Basis
	Fresh
	Scope
	For[SummaryAnswer]
}

// ProjectRequest requests a new summary of a project of the subject, in the
// same way.
type ProjectRequest struct {
	Name string `json:"name" arg:"1" need:"true" doc:"name of the project; its previous summary is replaced"`
	Text string `json:"text" size:"request" arg:"rest" stdin:"true" need:"true" doc:"the summary, in a few sentences"`
	Basis
	Fresh
	Scope
	For[SummaryAnswer]
}

// SummaryAnswer contains the position of a summary.
type SummaryAnswer struct {
	Path     string `json:"path,omitempty"`
	Line     int    `json:"line,omitempty"`
	Replaced bool   `json:"replaced,omitempty"` // a summary of that name existed

	Disabled bool `json:"disabled,omitempty"` // memory is turned off: nothing was written
}

func (a *SummaryAnswer) render(t *Text) {
	if a.Path == "" {
		t.hint("written; readable in private contexts only")
		return
	}
	t.addWritten("summarized", a.Path, a.Line, TextIf(a.Replaced, "replaced"))
}
