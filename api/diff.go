package api

// A DiffHunk is lines that were replaced by others.
type DiffHunk struct {
	Line int `json:"line"` // the first of them, in the file after the change
	// Diff is what was replaced, with the lines around it, as diff -u shows it.
	Diff string `json:"diff"`
}

// A FileDiff is what a change would make of one file.
type FileDiff struct {
	Path      string     `json:"path"`
	Hunks     []DiffHunk `json:"hunks"`
	Truncated bool       `json:"truncated,omitempty"` // there are more hunks, or they are longer
}
