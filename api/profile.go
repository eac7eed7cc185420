package api

// Based is the part of a summary's request that says what it is based on.
type Based struct {
	Evidence   []string `json:"evidence" need:"true" complete:"path" doc:"what the summary is based on: paths, ids of entries as path#id, or URLs; at least one"`
	Visibility string   `json:"visibility" default:"private_only" enum:"public_ok,private_only" doc:"who may be told: public_ok or private_only"`
	Source     string   `json:"source" doc:"where the summary comes from, such as a message id"`
}

// ProfileRequest asks to sum up what is known of the subject. The summary of
// that name is replaced, with what it is based on.
type ProfileRequest struct {
	Text string `json:"text" arg:"rest" stdin:"true" need:"true" doc:"the summary, in a few sentences"`
	Name string `json:"name" default:"Profile" flag:"title" doc:"which summary of the profile: the one of that name is replaced"`
	Based
	Fresh
	Scope
}

// ProjectRequest asks to sum up a project of the subject, in the same way.
type ProjectRequest struct {
	Name string `json:"name" arg:"1" need:"true" doc:"the project; the summary of that name is replaced"`
	Text string `json:"text" arg:"rest" stdin:"true" need:"true" doc:"the summary, in a few sentences"`
	Based
	Fresh
	Scope
}

// SummaryAnswer says where a summary stands.
type SummaryAnswer struct {
	Path     string `json:"path,omitempty"`
	Line     int    `json:"line,omitempty"`
	Replaced bool   `json:"replaced,omitempty"` // another summary of that name

	Disabled bool `json:"disabled,omitempty"` // memory is turned off: nothing was written
}
