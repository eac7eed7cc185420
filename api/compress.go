package api

// CompressRequest asks to sum up old sessions and daily notes.
type CompressRequest struct {
	Cutoff string `json:"cutoff" doc:"how old they are, such as 48h or 30d; as configured if empty"`
	DryRun bool   `json:"dry_run" doc:"tell what would be summed up and archived, and write nothing"`
	Scope
}

// CompressAnswer says what is summed up and archived, and what came of it.
type CompressAnswer struct {
	Plan    CompressPlan `json:"plan"`
	Applied int          `json:"applied"` // files that were summed up and archived
	Left    []DayStay    `json:"left"`    // what could not be, this time
	DryRun  bool         `json:"dry_run"`

	Redaction
}

// A CompressPlan says which sessions and daily notes are summed up and archived,
// and which stay.
type CompressPlan struct {
	Files []Compressed `json:"files"`
	Stay  []DayStay    `json:"stay"`
}

// Compressed is one file that is summed up. What is summed up moves to the
// archive; if there is an open task in the file, the entries with one stay.
type Compressed struct {
	Day   string        `json:"day"`
	From  string        `json:"from"`
	To    string        `json:"to"`
	Part  bool          `json:"part"` // entries with open tasks stay
	Lines []SummaryLine `json:"lines"`
}

// A SummaryLine is what is said of the entries of one file with one project, or
// with none, that the same people may read.
type SummaryLine struct {
	Path       string   `json:"path"` // of the summary
	Project    string   `json:"project,omitempty"`
	Visibility string   `json:"visibility"`
	Text       string   `json:"text"` // the sentences
	Evidence   []string `json:"evidence"`
	Model      bool     `json:"model,omitempty"` // the sentences are a model's
}

// A DayStay is one file that stays, and why.
type DayStay struct {
	Day    string `json:"day"`
	Path   string `json:"path"`
	Reason string `json:"reason"` // for a person
}
