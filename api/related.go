package api

// RelatedRequest asks what a file or an entry is linked with.
type RelatedRequest struct {
	Path  string `json:"path" arg:"1" complete:"path" doc:"the file, relative to the root"`
	ID    string `json:"id" doc:"an entry instead, as path#id or by the id that was given to it"`
	Limit int    `json:"limit" default:"20" min:"1" max:"100" doc:"how many to return in each direction"`
	Fresh
	Scope
}

// RelatedAnswer lists links, in the order of the files.
type RelatedAnswer struct {
	Path  string     `json:"path"`
	To    []LinkTo   `json:"to"`   // what it links to
	From  []LinkFrom `json:"from"` // what links to it
	Index IndexState `json:"index"`

	Redaction
}

// LinkTo is a link that stands in what was asked about.
type LinkTo struct {
	Line      int    `json:"line"` // of the entry with the link
	Text      string `json:"text"`
	Target    string `json:"target"`         // as it is written
	Path      string `json:"path,omitempty"` // the file that it leads to, if there is one
	Anchor    string `json:"anchor,omitempty"`
	Untrusted bool   `json:"untrusted,omitempty"` // written by others than the subject
}

// LinkFrom is an entry that links to what was asked about.
type LinkFrom struct {
	Place
	Text      string `json:"text"`
	Untrusted bool   `json:"untrusted,omitempty"` // written by others than the subject
}
