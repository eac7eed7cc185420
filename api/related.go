package api

// RelatedRequest requests the links of a file or an entry.
type RelatedRequest struct {
	Path  string `json:"path" arg:"1" complete:"path" doc:"path of the file, relative to the memory directory"`
	ID    string `json:"id" doc:"entry in place of a file: path#id, or its explicit id"`
	Limit int    `json:"limit" default:"20" min:"1" max:"100" doc:"maximum number of links in each direction, 1 to 100"`
	Fresh
	Scope
	For[RelatedAnswer]
}

// RelatedAnswer lists links, in the order of the files.
type RelatedAnswer struct {
	Path  string     `json:"path"`
	To    []LinkTo   `json:"to"`   // outgoing links, and the evidence of summaries
	From  []LinkFrom `json:"from"` // incoming links
	Index IndexState `json:"index"`

	Redaction
}

// LinkTo is a link in the requested file or entry.
type LinkTo struct {
	Line      int    `json:"line"` // first line of the entry with the link
	Text      string `json:"text"`
	Target    string `json:"target"`         // as written
	Path      string `json:"path,omitempty"` // target file, if it exists
	Anchor    string `json:"anchor,omitempty"`
	Missing   bool   `json:"missing,omitempty"`   // target: a note that the caller cannot read or that does not exist
	Untrusted bool   `json:"untrusted,omitempty"` // written by others than the subject
}

// LinkFrom is an entry that links to the requested file or entry.
type LinkFrom struct {
	Place
	Text      string `json:"text"`
	Untrusted bool   `json:"untrusted,omitempty"` // written by others than the subject
}
