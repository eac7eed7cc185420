package api

import (
	"slices"
	"strings"
)

// CheckRequest requests a comparison of the files and the index.
type CheckRequest struct {
	Path string `json:"path" arg:"1" complete:"path" doc:"check only this file, or files below this directory"`
	Fix  bool   `json:"fix" doc:"split files that contain text for other readers, correct wrong task counters in frontmatter, and index differing files again"`
	// several, because a problem lists the changes of a file
	Dismiss []string `json:"dismiss" doc:"ids of changes whose text another program removed on purpose: do not report them any more"`
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

func (a *CheckAnswer) render(t *Text) {
	for _, list := range []struct {
		sort  string
		files []Skipped
	}{{"mended", a.Repaired}, {"not corrected", a.Refused}, {"differs", a.Differing}} {
		for _, s := range list.files {
			t.addFinding(s.Path, 0, s.Reason, list.sort)
		}
	}
	for _, f := range a.Problems {
		t.addFinding(f.Path, f.Line, f.Message, f.Code)
	}
	for _, s := range a.Skipped {
		t.addFinding(s.Path, 0, s.Reason, "skipped")
	}
	t.printf("%s compared, %d differ from the index, %s, %d skipped", Plural(a.Files, "file"), len(a.Differing),
		Plural(len(a.Problems), "problem"), len(a.Skipped))
	// Hints for findings that do not contain their own remedy.
	wrong := slices.ContainsFunc(a.Problems, func(f FileProblem) bool { return f.Code == "counter_wrong" })
	switch {
	case len(a.Refused) > 0:
		t.hint("run `status` for the reason")
	case wrong || len(a.Differing) > 0:
		t.hint("run `check` with `fix` to correct counters and the index; nothing else is changed")
	}
	if slices.ContainsFunc(a.Skipped, func(s Skipped) bool { return strings.Contains(s.Reason, "file too large") }) {
		t.hint("split a file that is too large")
	}
}
