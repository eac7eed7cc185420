package api

// CaptureRequest requests that bullets about requests or results be appended to
// the log of today.
type CaptureRequest struct {
	Bullets    []string `json:"bullets" size:"request" arg:"rest" stdin:"true" doc:"one to three bullets; several lines of one stay as they are"`
	Text       string   `json:"text" size:"request" stdin:"true" doc:"longer text to reduce to one to three bullets, such as an agent's final report; a configured model does this in the background"`
	Type       string   `json:"type" enum:"request,result,crumb" doc:"type of the bullets: request, result or crumb; default: crumb"`
	Source     string   `json:"source" doc:"origin of the bullets, such as the name of a program"`
	Session    string   `json:"session" complete:"session" doc:"id of the session"`
	Evidence   []string `json:"evidence" complete:"path" doc:"evidence for the bullets: paths, path#id or URLs"`
	Project    string   `json:"project" doc:"project of the bullets, such as the name of a repository: adds the tag project:NAME"`
	Visibility string   `json:"visibility" enum:"private_only,public_ok" doc:"where the bullets may be shown: private_only, or public_ok for public contexts too; by default as configured for daily notes"`
	Scope
	For[CaptureAnswer]
}

// CaptureAnswer contains the position of the bullets. The path is empty if the
// caller may not read the file in this context, or if there are no bullets.
type CaptureAnswer struct {
	Path string `json:"path,omitempty"`
	// line of each bullet, in the order of the request, 0 for one of an earlier day; empty without a path
	Lines    []int  `json:"lines"`
	Already  int    `json:"already,omitempty"`  // bullets that already existed and were not written again
	Queued   bool   `json:"queued,omitempty"`   // a model is processing the text; its bullets are written later
	Note     string `json:"note,omitempty"`     // why there are no bullets
	Disabled bool   `json:"disabled,omitempty"` // memory is turned off: nothing was written

	Similar []SimilarEntry `json:"similar,omitempty"`

	Redaction
}

// NoteRequest requests that a note be appended to the log of a day.
type NoteRequest struct {
	Text       string   `json:"text" size:"request" arg:"rest" stdin:"true" need:"true" doc:"the note; several lines stay as they are"`
	Supersedes string   `json:"supersedes" complete:"entry" doc:"entry that this one replaces: path:line, path#id or an id"`
	Topic      string   `json:"topic" doc:"topic in a few words, used as the heading"`
	Time       string   `json:"time" doc:"time of the note, such as 10:30 AM, 22:30 or 2026-02-04T10:30:00Z; default: now"`
	Day        string   `json:"day" doc:"day: YYYY-MM-DD, today, yesterday or a weekday; default: today"`
	Tags       []string `json:"tags" complete:"tag" doc:"tags, with or without #"`
	Project    string   `json:"project" doc:"project of the note, such as the name of a repository: adds the tag project:NAME"`
	Type       string   `json:"type" enum:"fact,preference,project,decision,crumb,request,result" doc:"type of the note: fact, preference, project, decision, crumb, request or result; default: crumb"`
	Importance float64  `json:"importance" min:"0" max:"1" doc:"importance, 0 to 1; 0.8 and more protects the note from archiving and requires a private context"`
	Visibility string   `json:"visibility" enum:"private_only,public_ok" doc:"where the note may be shown: private_only, or public_ok for public contexts too; by default as configured for daily notes"`
	Source     string   `json:"source" doc:"origin of the note, such as a message id"`
	Evidence   []string `json:"evidence" complete:"path" doc:"evidence for the note: paths, path#id or URLs"`
	Scope
	For[NoteAnswer]
}

// NoteAnswer contains the position of a note. The path is empty if the caller
// may not read the file in this context.
type NoteAnswer struct {
	Path     string         `json:"path,omitempty"`
	Line     int            `json:"line,omitempty"`
	Already  bool           `json:"already,omitempty"` // the log of the day contained the text, which was not written again
	Similar  []SimilarEntry `json:"similar,omitempty"`
	Disabled bool           `json:"disabled,omitempty"` // memory is turned off: nothing was written

	Redaction
}

// SimilarEntry is a readable entry that shares rare words with a new one. Nothing is merged:
// the writer decides whether the new one replaces it.
type SimilarEntry struct {
	Path      string `json:"path"`
	Line      int    `json:"line"`
	Day       string `json:"day,omitempty"` // of the entry, if known
	Text      string `json:"text"`
	Untrusted bool   `json:"untrusted,omitempty"` // written by others than the subject
}

func (a *CaptureAnswer) render(t *Text) {
	switch {
	case a.Queued:
		t.hint("a model will summarize the text; the note follows")
	case a.Note != "":
		t.hint("nothing noted: %s", a.Note)
	default:
		t.addNoted(a.Path, a.Lines...)
	}
	if a.Already > 0 {
		t.hint("%s noted earlier", Plural(a.Already, "bullet"))
	}
	t.addSimilar(a.Similar)
}

func (a *NoteAnswer) render(t *Text) {
	t.addNoted(a.Path, a.Line)
	t.hint("%s", TextIf(a.Already, "already noted"))
	t.addSimilar(a.Similar)
}

// addSimilar adds the entries that a new one may replace. For people they are hints, so that
// the output stays the place of the new entry.
func (t *Text) addSimilar(list []SimilarEntry) {
	for _, e := range list {
		if t.Audience == Models {
			t.add(Line{Head: "similar:", Path: e.Path, Line: e.Line, Section: e.Day, Text: e.Text, Untrusted: e.Untrusted})
			continue
		}
		t.hint("similar: %s:%d  %s%s%s", e.Path, e.Line, TextIf(e.Day != "", e.Day+"  "),
			TextIf(e.Untrusted, UntrustedMark+" "), e.Text)
	}
	if len(list) > 0 && t.accepts("supersedes") {
		t.hint("if it replaces one of these, repeat it with `supersedes`")
	}
}

// addNoted adds the places of new notes. Without a path, the caller may not see them.
func (t *Text) addNoted(path string, lines ...int) {
	if path == "" {
		t.hint("noted; readable in private contexts only")
		return
	}
	for _, line := range lines {
		if line > 0 {
			t.addWritten("noted", path, line)
		}
	}
}

// addWritten adds the place of a new text. Only models get the verb, because people see
// the command.
func (t *Text) addWritten(verb, path string, line int, notes ...string) {
	t.add(Line{Head: TextIf(t.Audience == Models && verb != "", verb+":"), Path: path, Line: line, Notes: notes})
}
