package api

// CompleteRequest requests the names of one kind, to complete a typed prefix or
// to list all names.
type CompleteRequest struct {
	What   string `json:"what" arg:"1" enum:"path,subject,namespace,session,section,tag" need:"true" doc:"what is named: path, subject, namespace, session, section or tag"`
	Prefix string `json:"prefix" doc:"only names that begin with this; of sections, whatever its case"`
	Steps  bool   `json:"steps" doc:"of paths, a directory as one name that ends in /, in place of all that lies below it"`
	After  string `json:"after" doc:"only names behind this one: next, of the answer before"`
	Limit  int    `json:"limit" default:"100" min:"1" max:"1000" doc:"how many names at most"`
	Fresh
	Scope
}

// CompleteAnswer is a sorted list of names.
type CompleteAnswer struct {
	Values []string   `json:"values"`
	Total  int        `json:"total"`          // number of names with the prefix
	Next   string     `json:"next,omitempty"` // the last of these values, if more names follow
	Index  IndexState `json:"index"`

	Redaction
}
