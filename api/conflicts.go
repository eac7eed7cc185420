package api

// ConflictsRequest requests the conflict copies of the memory.
type ConflictsRequest struct {
	Path string `json:"path" arg:"1" complete:"path" doc:"only this conflict copy, or the copies of this file, with the entries that both versions changed and the effect of a merge"`
	Scope
	For[ConflictsAnswer]
}

// ConflictsMergeRequest requests the merge of conflict copies into their files.
type ConflictsMergeRequest struct {
	Path   string `json:"path" arg:"1" complete:"path" doc:"only this conflict copy, or the copies of this file"`
	Keep   string `json:"keep" enum:"file,copy,both" doc:"version to keep of entries that both versions changed: file, copy or both. Without it, these entries and the copy stay"`
	DryRun bool   `json:"dry_run" doc:"show the effect, without changing files"`
	Scope
	For[ConflictsAnswer]
}

// ConflictsAnswer lists conflict copies.
type ConflictsAnswer struct {
	Copies []ConflictCopy `json:"copies"`
	DryRun bool           `json:"dry_run,omitempty"`

	Redaction
}

// A ConflictCopy is a copy that a sync tool made because two machines changed a
// file at the same time, with the effect of its merge.
type ConflictCopy struct {
	Path      string          `json:"path"`
	File      string          `json:"file"`                // the file of which it is a copy
	Added     int             `json:"added"`               // entries and headings that the merge adds to the file
	Changed   int             `json:"changed"`             // those that the merge changes
	Removed   int             `json:"removed"`             // those that the merge removes
	Conflicts int             `json:"conflicts"`           // those that both versions changed
	Whole     bool            `json:"whole,omitempty"`     // the versions cannot be merged entry by entry
	Base      bool            `json:"base"`                // the journal contains a common version
	Both      []ConflictEntry `json:"both,omitempty"`      // what both versions changed, with path
	Diff      []DiffHunk      `json:"diff,omitempty"`      // effect of the merge on the file, with path
	Truncated bool            `json:"truncated,omitempty"` // there are more hunks, or they are longer
	Merged    bool            `json:"merged,omitempty"`    // the copy was merged and removed
	Change    string          `json:"change,omitempty"`    // id of the merge in the journal
	Problem   string          `json:"problem,omitempty"`   // why it cannot be merged, or not completely
}

// A ConflictEntry is an entry that both versions changed: its text in the last
// common version, in the file and in the copy, empty where it is missing.
type ConflictEntry struct {
	Base string `json:"base"`
	File string `json:"file"`
	Copy string `json:"copy"`
}
