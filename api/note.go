package api

// CaptureRequest requests that bullets about requests or results be appended to
// the log of today.
type CaptureRequest struct {
	Bullets    []string `json:"bullets" arg:"rest" stdin:"true" doc:"one to three short lines"`
	Text       string   `json:"text" stdin:"true" doc:"in place of bullets: a longer text, such as what an agent says when it is done, to be reduced to one to three of them; by a model if there is one, which takes its time"`
	Type       string   `json:"type" default:"crumb" enum:"request,result,crumb" doc:"what they are: request, result or crumb"`
	Source     string   `json:"source" doc:"where they come from, such as the name of a program"`
	Session    string   `json:"session" complete:"session" doc:"id of the session that they are of"`
	Evidence   []string `json:"evidence" complete:"path" doc:"what they are based on: paths, path#id or URLs"`
	Visibility string   `json:"visibility" default:"private_only" enum:"private_only,public_ok" doc:"private_only, or public_ok if they may be shown to others"`
	Scope
}

// CaptureAnswer contains the position of the bullets. The path is empty if the
// caller may not read the file in this context, or if there are no bullets.
type CaptureAnswer struct {
	Path     string `json:"path,omitempty"`
	Lines    []int  `json:"lines"`              // line of each bullet, in the order of the request, 0 for one of an earlier day; empty without a path
	Already  int    `json:"already,omitempty"`  // bullets that already existed and were not written again
	Queued   bool   `json:"queued,omitempty"`   // a model is processing the text; its bullets are written later
	Note     string `json:"note,omitempty"`     // why there are no bullets
	Disabled bool   `json:"disabled,omitempty"` // memory is turned off: nothing was written
}

// NoteRequest requests that a note be appended to the log of a day.
type NoteRequest struct {
	Text       string   `json:"text" arg:"rest" stdin:"true" need:"true" doc:"the note: one concise paragraph with a decision, a fact or a preference"`
	Topic      string   `json:"topic" doc:"what it is about, in a few words, for its heading"`
	Time       string   `json:"time" doc:"when it was, such as 10:30 AM, 22:30 or 2026-02-04T10:30:00Z; now if not given"`
	Day        string   `json:"day" doc:"its day, YYYY-MM-DD; today if not given"`
	Tags       []string `json:"tags" complete:"tag" doc:"tags, with or without #"`
	Type       string   `json:"type" enum:"fact,preference,project,decision,crumb,request,result" doc:"what it is: fact, preference, project, decision, crumb, request or result; crumb if not given"`
	Importance float64  `json:"importance" min:"0" max:"1" doc:"from 0 to 1; 0.8 and more keep it from being tidied away, which is for private contexts"`
	Visibility string   `json:"visibility" default:"private_only" enum:"private_only,public_ok" doc:"private_only, or public_ok if it may be shown to others"`
	Source     string   `json:"source" doc:"where it comes from, such as a message's id"`
	Evidence   []string `json:"evidence" complete:"path" doc:"what it is based on: paths, path#id or URLs"`
	Scope
}

// NoteAnswer contains the position of a note. The path is empty if the caller
// may not read the file in this context.
type NoteAnswer struct {
	Path     string `json:"path,omitempty"`
	Line     int    `json:"line,omitempty"`
	Disabled bool   `json:"disabled,omitempty"` // memory is turned off: nothing was written
}
