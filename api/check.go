package api

// CheckRequest requests a comparison of the files and the index.
type CheckRequest struct {
	Path string `json:"path" arg:"1" complete:"path" doc:"check only this file, or files below this directory"`
	Fix  bool   `json:"fix" doc:"correct wrong task counters in frontmatter, and index differing files again"`
	Fresh
	Scope
	For[CheckAnswer]
}

// CheckAnswer lists the problems found by a check.
type CheckAnswer struct {
	Files     int             `json:"files"`             // number of files compared
	Problems  []FileProblem   `json:"problems"`          // problems in files, by path and line
	Conflicts []ClaimConflict `json:"conflicts"`         // directories that two subjects claim
	Skipped   []Skipped       `json:"skipped"`           // files and directories that are not read, and why
	Differing []Skipped       `json:"differing"`         // files whose index entry differs, and how
	Repaired  []Skipped       `json:"mended,omitempty"`  // repaired defects
	Refused   []Skipped       `json:"refused,omitempty"` // defects that could not be repaired, and why
	TookMS    float64         `json:"took_ms"`           // duration in milliseconds

	Redaction
}

// ClaimConflict is a directory that more than one subject claims. None of these
// subjects can read the directory.
type ClaimConflict struct {
	Dir      string   `json:"dir"`
	Subjects []string `json:"subjects"`
	Paths    []string `json:"paths"`
}
