package api

import "cmp"

// SessionsRequest requests the sessions of recent days, newest first.
type SessionsRequest struct {
	Days  int `json:"days" min:"0" max:"3650" doc:"number of recent days, including today, 0 to 3650; 0 means the configured number"`
	Limit int `json:"limit" default:"20" min:"1" max:"1000" doc:"maximum number of sessions, 1 to 1000"`
	Fresh
	Scope
	For[SessionsAnswer]
}

// SessionsAnswer lists sessions that the caller may read.
type SessionsAnswer struct {
	Sessions []File     `json:"sessions"` // without their text
	Total    int        `json:"total"`    // number of sessions of these days
	Index    IndexState `json:"index"`

	Redaction
}

func (a *SessionsAnswer) render(t *Text) {
	for _, s := range a.Sessions {
		summary := Line{Depth: 2, Text: t.shorten(cmp.Or(s.Summary, "(no summary)")), Untrusted: s.Untrusted}
		if t.Audience == Programs {
			summary.Form, summary.Depth, summary.Path = Finding, 0, s.Path
			t.add(summary)
			continue
		}
		progress := ""
		if s.Progress != nil {
			progress = "tasks " + s.Progress.Tasks
		}
		t.add(Line{Path: s.Path, Notes: []string{s.Session, progress}}, summary)
	}
	switch {
	case a.Total == 0:
		t.listNothing("no sessions in these days; a higher `days` lists older ones")
	case len(a.Sessions) < a.Total:
		t.hint("%d of %s; a higher `limit` shows more", len(a.Sessions), Plural(a.Total, "session"))
	}
}
