package ipc

import (
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
	answer := &LoadAnswer{
		Identity: m.withText(c, m.identity(c)), LongTerm: m.withText(c, m.longTerm(c)),
		Recent: m.shortTerm(c, r.Days, r.Session), Index: m.state(c, synced),
	}
	day := r.Day
	if day == "" {
		day = m.day(0)
	}
	if f, ok := m.sessionFile(c, r.Session, day); ok {
		answer.Today = &f
	}
	if answer.Recent == nil {
		answer.Recent = []File{}
	}
	if m.Injection && !m.Disabled {
		style := m.style(c, "")
		style.MaxChars = brief.NoLimit
		answer.Block = style.Boot(m.wake(c, answer)).Text
	}
	return answer, nil
}

// sessionFile is the file of a session of a day, with its text, however long
// ago that was: the one that goes on when the session writes.
func (m *Memory) sessionFile(c Call, session, day string) (File, bool) {
	if session == "" {
		return File{}, false
	}
	for _, doc := range m.sessionFiles(c, session, day) {
		return m.withText(c, []File{fileOf(c, doc)})[0], true
	}
	return File{}, false
}

// identity lists who the agent is, and then whom it helps: SOUL.md before
// USER.md.
func (m *Memory) identity(c Call) []File {
	var files []File
	for doc := range m.readable(c, func(f *index.FileInfo) bool { return f.Kind == memory.Identity }) {
		files = append(files, fileOf(c, doc))
	}
	slices.SortStableFunc(files, func(a, b File) int { return strings.Compare(path.Base(a.Path), path.Base(b.Path)) })
	return files
}

func (m *Memory) withText(c Call, files []File) []File {
	out := make([]File, len(files))
	for i, f := range files {
		shown := f.doc.Shown(c.View)
		out[i] = f
		out[i].Text = shown.Text()
	}
	return out
}

// wake is everything that the block shows: who I am, whom I help, the notes of
// today and yesterday, what is remembered for long, the summaries, and the
// session so far.
func (m *Memory) wake(c Call, a *LoadAnswer) brief.Waking {
	waking := m.waking(c)
	waking.LongTerm, waking.Recent = docsOf(a.LongTerm), docsOf(a.Recent)
	if a.Today != nil {
		waking.Session = a.Today.doc
	}
	return waking
}
