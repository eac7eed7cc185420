package api

import (
	"slices"
	"strings"
)

// CompressRequest requests summaries of old sessions and daily notes.
type CompressRequest struct {
	Cutoff string `json:"cutoff" doc:"minimum age, such as 48h or 30d; default: 48h"`
	DryRun bool   `json:"dry_run" doc:"show the planned summaries and archived files, without changing files"`
	Scope
	For[CompressAnswer]
}

// CompressAnswer contains the plan of a compression and its result.
type CompressAnswer struct {
	Plan    CompressPlan `json:"plan"`
	Applied int          `json:"applied"` // files that were summarized and archived
	Left    []DayStay    `json:"left"`    // files that could not be processed in this run
	DryRun  bool         `json:"dry_run"`

	Redaction
}

// A CompressPlan lists the sessions and daily notes to summarize and archive,
// and those that stay.
type CompressPlan struct {
	Files []Compressed `json:"files"`
	Stay  []DayStay    `json:"stay"`
}

// Compressed is one file to summarize, which moves to the archive.
type Compressed struct {
	Day   string        `json:"day"`
	From  string        `json:"from"` // path of the file
	To    string        `json:"to"`   // path in the archive
	Lines []SummaryLine `json:"lines"`
}

// A SummaryLine summarizes those entries of one file that share a project, or
// have none, and have the same readers.
type SummaryLine struct {
	Path       string   `json:"path"` // path of the summary
	Project    string   `json:"project,omitempty"`
	Visibility string   `json:"visibility"`
	Text       string   `json:"text"` // the sentences of the summary
	Evidence   []string `json:"evidence"`
	Model      bool     `json:"model,omitempty"` // a model wrote the sentences
}

// A DayStay is one file that stays, and why.
type DayStay struct {
	Day    string `json:"day"`
	Path   string `json:"path"`
	Reason string `json:"reason"` // reason, for people
}

func (a *CompressAnswer) render(t *Text) {
	t.Changes = len(a.Plan.Files)
	for _, f := range a.Plan.Files {
		t.add(Line{Text: f.From + " -> " + f.To})
		for _, l := range f.Lines {
			t.add(Line{Depth: 1, Head: "+", HeadStyle: Added, Text: l.Path + ": " + l.Text},
				Line{Depth: 2, Style: Muted,
					Text: l.Visibility + ", from " + strings.Join(l.Evidence, ", ") +
						TextIf(l.Model, ", summarized by the model")})
		}
	}
	for _, s := range slices.Concat(a.Plan.Stay, a.Left) {
		t.addFinding(s.Path, 0, s.Reason, "stays")
	}
	switch {
	case len(a.Plan.Files)+len(a.Plan.Stay) == 0:
		t.hint("no sessions are old enough")
	case a.DryRun:
		t.printf("%s would be summarized and archived", Plural(len(a.Plan.Files), "file"))
	default:
		t.printf("%s summarized and archived", Plural(a.Applied, "file"))
	}
}
