package ops

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/brief"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

func (m reading) loadOp(ctx context.Context, c Call, r *api.LoadRequest) (*api.LoadAnswer, error) {
	if r.Day != "" && !memory.IsDay(r.Day) {
		return nil, api.Errorf(api.Invalid, "day: %q is not a day such as 2026-02-04", r.Day)
	}
	synced, err := m.sync(ctx, &c, r.Fresh)
	if err != nil {
		return nil, err
	}
	longTerm, recent := m.longTerm(c), m.shortTerm(c, r.Days, r.Session)
	answer := &api.LoadAnswer{
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
func (m reading) sessionFile(c Call, session, day string) *memory.Document {
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
func (m reading) identity(c Call) []shownFile {
	var files []shownFile
	for doc := range m.readable(c, func(f *index.FileInfo) bool { return f.Kind == memory.Identity }) {
		files = append(files, fileOf(c, doc))
	}
	slices.SortStableFunc(files, func(a, b shownFile) int { return strings.Compare(path.Base(a.Path), path.Base(b.Path)) })
	return files
}

// filesOf returns files as an answer has them, with or without their text.
func filesOf(c Call, files []shownFile, text bool) []api.File {
	out := make([]api.File, len(files))
	for i, f := range files {
		out[i] = f.File
		if text {
			shown := f.doc.Shown(c.View)
			out[i].Text = shown.Text()
		}
	}
	return out
}
