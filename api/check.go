package api

// CheckRequest asks for a comparison of files and index.
type CheckRequest struct {
	Path string `json:"path" arg:"1" complete:"path" doc:"only this file or directory"`
	Fix  bool   `json:"fix" doc:"put wrong counters in the frontmatter of files right, and the index where it differs"`
	Fresh
	Scope
}

// CheckAnswer is what is wrong.
type CheckAnswer struct {
	Files     int           `json:"files"`             // compared
	Problems  []FileProblem `json:"problems"`          // of files, by path and line
	Conflicts []Contest     `json:"conflicts"`         // directories that two subjects claim
	Skipped   []Skipped     `json:"skipped"`           // what is not read, and why
	Differing []Skipped     `json:"differing"`         // files that the index holds otherwise, and how
	Mended    []Skipped     `json:"mended,omitempty"`  // what was wrong and is put right
	Refused   []Skipped     `json:"refused,omitempty"` // what could not be, and why
	TookMS    float64       `json:"took_ms"`

	Redaction
}

// Contest is a directory that more than one subject claims. It is opened to
// none of them.
type Contest struct {
	Dir      string   `json:"dir"`
	Subjects []string `json:"subjects"`
	Paths    []string `json:"paths"`
}
