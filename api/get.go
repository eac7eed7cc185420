package api

// GetRequest requests a file, some of its lines, or one entry.
type GetRequest struct {
	Path  string `json:"path" arg:"1" complete:"path" doc:"the file, relative to the root; or path#id, an entry of it"`
	From  int    `json:"from" default:"1" min:"1" doc:"first line to return"`
	Lines int    `json:"lines" min:"0" doc:"how many lines to return; 0 for all"`
	ID    string `json:"id" doc:"an entry instead, as path#id or by the id that was given to it"`
	Fresh
	Scope
}

// GetAnswer is a text as visible to the scope of the request.
type GetAnswer struct {
	Path        string         `json:"path"`
	From        int            `json:"from"`
	To          int            `json:"to"`
	Text        string         `json:"text"`
	TotalLines  int            `json:"total_lines"`
	Frontmatter map[string]any `json:"frontmatter,omitempty"`
	Hash        string         `json:"hash,omitempty"`  // SHA-256 of the file, or of its visible part; none if that has a redaction
	Stale       bool           `json:"stale,omitempty"` // the file cannot be read: this is its last known content
	Index       IndexState     `json:"index"`

	Redaction
}
