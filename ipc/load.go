package ipc

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/brief"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// LoadRequest asks for what an agent reads when it wakes.
type LoadRequest struct {
	Session string `json:"session" complete:"session" doc:"id of the session that starts"`
	Day     string `json:"day" doc:"its day, YYYY-MM-DD; today if not given"`
	Days    int    `json:"days" min:"0" max:"3650" doc:"how many days are recent; 0 for as many as are configured"`
	Fresh
	Scope
}

// LoadAnswer is what an agent reads when it wakes.
type LoadAnswer struct {
	Identity []File     `json:"identity"`        // SOUL.md and USER.md, with their text
	LongTerm []File     `json:"long_term"`       // in private only, with their text
	Recent   []File     `json:"recent"`          // sessions and daily notes, newest first, with their summaries
	Today    *File      `json:"today,omitempty"` // the session's file of the day, with its text
	Block    string     `json:"block"`           // all of that as one text
	Index    IndexState `json:"index"`

	Redaction
}

func (m *Memory) loadOp(ctx context.Context, c Call, r *LoadRequest) (*LoadAnswer, error) {
	if r.Day != "" && !memory.IsDay(r.Day) {
		return nil, Errorf(Invalid, "day: %q is not a day such as 2026-02-04", r.Day)
	}
	synced, err := m.sync(ctx, &c, r.Fresh)
	if err != nil {
		return nil, err
	}
	longTerm, recent := m.longTerm(c), m.shortTerm(c, r.Days, r.Session)
	answer := &LoadAnswer{
		Identity: filesOf(c, m.identity(c), true), LongTerm: filesOf(c, longTerm, true),
		Recent: filesOf(c, recent, false), Index: m.state(c, synced),
	}
	session := m.sessionFile(c, r.Session, cmp.Or(r.Day, m.day(0)))
	if session != nil {
		answer.Today = &filesOf(c, []shownFile{fileOf(c, session)}, true)[0]
	}
	if m.Injection && !m.Disabled {
		style := m.style(c, "")
		style.MaxChars = brief.NoLimit
		// Who the agent is, whom it helps, the notes of today and yesterday, what
		// is remembered for long, the summaries, and the session so far.
		waking := m.waking(c)
		waking.LongTerm, waking.Recent, waking.Session = docsOf(longTerm), docsOf(recent), session
		answer.Block = style.Boot(waking).Text
	}
	return answer, nil
}

// sessionFile returns the file of a session of a day, however long ago that was:
// the one that goes on when the session writes. It is nil if there is none.
func (m *Memory) sessionFile(c Call, session, day string) *memory.Document {
	if session == "" {
		return nil
	}
	for _, doc := range m.sessionFiles(c, session, day) {
		return doc
	}
	return nil
}

// identity lists who the agent is, and then whom it helps: SOUL.md before
// USER.md.
func (m *Memory) identity(c Call) []shownFile {
	var files []shownFile
	for doc := range m.readable(c, func(f *index.FileInfo) bool { return f.Kind == memory.Identity }) {
		files = append(files, fileOf(c, doc))
	}
	slices.SortStableFunc(files, func(a, b shownFile) int { return strings.Compare(path.Base(a.Path), path.Base(b.Path)) })
	return files
}

// filesOf returns files as an answer has them, with or without their text.
func filesOf(c Call, files []shownFile, text bool) []File {
	out := make([]File, len(files))
	for i, f := range files {
		out[i] = f.File
		if text {
			shown := f.doc.Shown(c.View)
			out[i].Text = shown.Text()
		}
	}
	return out
}
