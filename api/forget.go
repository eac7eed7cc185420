package api

import "slices"

// ForgetRequest requests, in two steps, the permanent removal of entries.
type ForgetRequest struct {
	Match string   `json:"match" size:"16384" arg:"1" doc:"whole words to look for, in any letter case: returns the matching entries and a token, and removes nothing"`
	Case  bool     `json:"case" doc:"look for the words in this letter case only"`
	IDs   []string `json:"ids" doc:"ids of the entries to remove, from that list; at most 100"`
	Token string   `json:"token" doc:"token of that list"`
	Scope
	For[ForgetAnswer]
}

// ForgetAnswer lists the matching entries of the first step or the removed
// entries of the second.
type ForgetAnswer struct {
	Entries []Occurrence `json:"entries"` // places that contain the text
	Total   int          `json:"total"`   // number of places, if not all are listed
	Token   string       `json:"token,omitempty"`

	Removed []string  `json:"removed,omitempty"` // ids, including those of archived copies
	Failed  []Refused `json:"failed,omitempty"`
	Problem string    `json:"problem,omitempty"` // why the erasure is not complete yet
	Beyond  string    `json:"beyond,omitempty"`  // copies out of reach of this operation

	Disabled bool `json:"disabled,omitempty"` // memory is turned off: there is nothing to forget

	Redaction
}

// An Occurrence is a place that contains a text: an entry, or a part of one that does not
// depend on its other lines.
type Occurrence struct {
	Number     int      `json:"number,omitempty"` // in the list, of an occurrence with an id
	ID         string   `json:"id,omitempty"`     // for removal; an occurrence without id must be edited by hand
	What       string   `json:"what"`             // entry, summary, frontmatter, heading, hidden, or path
	Path       string   `json:"path"`
	Line       int      `json:"line,omitempty"`
	EndLine    int      `json:"end_line,omitempty"`
	Kind       string   `json:"kind"`
	Section    string   `json:"section,omitempty"`
	Writer     string   `json:"writer,omitempty"` // memwatchd, or other: a person or another program
	Text       string   `json:"text"`
	Highlights [][2]int `json:"highlights,omitempty"` // start and end of each match in the text, in characters
	Untrusted  bool     `json:"untrusted,omitempty"`  // written by others than the subject
}

// Marked returns the text with each match in guillemets.
func (o *Occurrence) Marked() string {
	text := []rune(o.Text)
	for _, h := range slices.Backward(o.Highlights) {
		text = slices.Insert(slices.Insert(text, h[1], '»'), h[0], '«')
	}
	return string(text)
}

// The values of [Occurrence.Writer].
const (
	WrittenHere      = "memwatchd"
	WrittenElsewhere = "other" // by a person or another program
)

// Refused is an entry that was not removed, and why.
type Refused struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// WipeRequest requests the deletion of all memory of a subject, which is the
// caller.
type WipeRequest struct {
	Confirm  string `json:"confirm" arg:"1" complete:"subject" doc:"id of the subject, repeated as confirmation"`
	Sessions bool   `json:"sessions" doc:"also delete the sessions whose subject_id is this subject"`
	DryRun   bool   `json:"dry_run" doc:"show the files and links to delete, without changing files"`
	Scope
	For[WipeAnswer]
}

// WipeAnswer lists the deleted data, or after a dry run the data to delete.
type WipeAnswer struct {
	Subjects []string `json:"subjects"` // the subject and its aliases
	Deleted  []string `json:"deleted"`  // files
	Left     []string `json:"left"`     // files in its directories that are not memory
	Unlinked []string `json:"unlinked"` // external keys
	Failed   []string `json:"failed,omitempty"`
	Problem  string   `json:"problem,omitempty"` // why the erasure is not complete yet
	Beyond   string   `json:"beyond,omitempty"`  // copies out of reach of this operation
	Disabled bool     `json:"disabled,omitempty"`
	DryRun   bool     `json:"dry_run,omitempty"` // nothing was deleted
}
