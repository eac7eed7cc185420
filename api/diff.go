package api

// A DiffHunk is a range of replaced lines.
type DiffHunk struct {
	Line int `json:"line"` // first line of the range, in the file after the change
	// the replaced lines with their surroundings, in the format of diff -u
	Diff string `json:"diff"`
}

// A FileDiff describes the effect of a change on one file.
type FileDiff struct {
	Path      string     `json:"path"`
	Hunks     []DiffHunk `json:"hunks"`
	Truncated bool       `json:"truncated,omitempty"` // there are more hunks, or they are longer
}
