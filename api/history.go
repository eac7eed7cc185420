package api

import (
	"time"
)

// HistoryRequest requests the earlier versions of a file, or the text of one of them.
type HistoryRequest struct {
	Path  string `json:"path" arg:"1" need:"true" complete:"path" doc:"file, or FILE@VERSION for the text of a version"`
	Limit int    `json:"limit" default:"20" min:"1" max:"1000" doc:"maximum number of versions, 1 to 1000"`
	Scope
	For[HistoryAnswer]
}

// HistoryAnswer lists the versions of a file, newest first, or contains the text of one.
type HistoryAnswer struct {
	Path     string        `json:"path"`
	Versions []FileVersion `json:"versions"`       // the requested one if the request names one
	Text     string        `json:"text,omitempty"` // of the requested version

	Redaction
}

// FileVersion is the content of a file before a change.
type FileVersion struct {
	Version  string    `json:"version"` // id of the change that replaced the version
	Replaced time.Time `json:"replaced"`
	Cause    string    `json:"cause"` // of the change
	Program  string    `json:"program,omitempty"`
	External bool      `json:"external,omitempty"` // another program replaced the version
	Bytes    int       `json:"bytes"`
	Lines    int       `json:"lines"`
}

func (a *HistoryAnswer) render(t *Text) {
	if a.Text != "" {
		// Its authors are not known.
		t.addFile(a.Text, 1, func(int) bool { return t.Audience == Models })
		return
	}
	for _, v := range a.Versions {
		by := "replaced by " + v.Cause
		if v.External {
			by = "replaced by another program"
		}
		t.add(Line{Head: a.Path + "@" + v.Version + "  " + t.formatTime(v.Replaced) + " ", HeadStyle: Strong,
			Text: Plural(v.Lines, "line"), Notes: []string{by, TextIf(v.Program != "", "by "+v.Program)}})
	}
	if len(a.Versions) == 0 {
		t.listNothing("no earlier version of %s is stored", a.Path)
	} else {
		version := a.Path + "@" + a.Versions[0].Version
		t.hint("run `history %s` to read a version, `undo %s` to restore it", version, version)
	}
}
