package ops

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/brief"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

func (m readOps) loadOp(ctx context.Context, c Call, r *api.LoadRequest) (*api.LoadAnswer, error) {
	today, err := m.parseDay("day", cmp.Or(r.Day, "today"))
	if err != nil {
		return nil, err
	}
	longTerm, recent := m.longTerm(c), m.shortTerm(c, r.Days, r.Session)
	answer := &api.LoadAnswer{
		Identity: filesOf(c, m.identityFiles(c), true), LongTerm: filesOf(c, longTerm, true),
		Recent: filesOf(c, recent, false), Index: m.indexState(c),
	}
	session := m.sessionFile(c, r.Session, today)
	if session != nil {
		answer.Today = &filesOf(c, []shownFile{fileOf(c, session)}, true)[0]
	}
	if m.Injection && !m.Disabled {
		style := m.blockStyle(c, "")
		style.MaxChars = brief.NoLimit
		// In order: the agent's identity, the user, the notes of today and
		// yesterday, long-term memory, the summaries, and the current session.
		waking := m.bootFiles(c)
		waking.LongTerm, waking.Recent, waking.Session = docsOf(longTerm), docsOf(recent), session
		answer.Block = style.Boot(waking).Text
	}
	return answer, nil
}

// sessionFile returns the file that a session continues on a day, however old,
// or nil if there is none.
func (m readOps) sessionFile(c Call, session, day string) *memory.Document {
	if session == "" {
		return nil
	}
	for _, doc := range m.sessionFiles(c, session, day) {
		return doc
	}
	return nil
}

// identityFiles returns the agent's identity (SOUL.md) and then the user (USER.md).
func (m readOps) identityFiles(c Call) []shownFile {
	var files []shownFile
	for doc := range m.readableFiles(c, func(f *index.FileInfo) bool { return f.Kind == memory.Identity }) {
		files = append(files, fileOf(c, doc))
	}
	slices.SortStableFunc(files,
		func(a, b shownFile) int { return strings.Compare(path.Base(a.Path), path.Base(b.Path)) })
	return files
}

// filesOf converts files for an answer, with or without their text.
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

// A shownFile is an [api.File] with its document.
type shownFile struct {
	api.File
	doc *memory.Document
}

// fileOf returns the description of a file for one caller.
func fileOf(c Call, doc *memory.Document) shownFile {
	f := shownFile{doc: doc, File: api.File{
		Path: doc.Place.Path, Kind: doc.Place.Kind.String(), Day: doc.Place.Day,
		Session: sessionOf(c, doc), Summary: strings.TrimSpace(doc.Summary(c.View)),
	}}
	f.Untrusted = f.Summary != "" && doc.Front.Author().Untrusted(c.View)
	if doc.Place.Kind == memory.Session {
		tasks, followUps := doc.Progress(c.View)
		f.Progress = &api.Progress{
			Tasks:     fmt.Sprintf("%d/%d", tasks.Done, tasks.Total),
			FollowUps: fmt.Sprintf("%d/%d", followUps.Done, followUps.Total),
		}
	}
	return f
}

// shortTerm returns the readable parts of the sessions and daily notes of the
// given number of days: today's file of the named session first, then newest
// first.
func (m readOps) shortTerm(c Call, days int, session string) []shownFile {
	if days == 0 {
		days = m.recentDays()
	}
	// Tomorrow has begun in some time zones; later days are mistakes.
	oldest, newest, today := m.day(1-days), m.day(1), m.day(0)
	var files []shownFile
	recent := func(f *index.FileInfo) bool {
		return (f.Kind == memory.Session || f.Kind == memory.Daily) && oldest <= f.Day && f.Day <= newest
	}
	for doc := range m.readableFiles(c, recent) {
		files = append(files, fileOf(c, doc))
	}
	changed := make(map[string]time.Time, len(files))
	for _, f := range files {
		changed[f.Path] = m.changedAt(c, f.doc)
	}
	order := func(f shownFile) int {
		if session != "" && f.Day == today && f.Session == session {
			return 0
		}
		return 1
	}
	slices.SortFunc(files, func(a, b shownFile) int {
		return cmp.Or(order(a)-order(b), strings.Compare(b.Day, a.Day), changed[b.Path].Compare(changed[a.Path]),
			strings.Compare(a.Path, b.Path))
	})
	return files
}

// changedAt returns when a file was last changed: updated_at, else created_at,
// else the time of the file. The caller must not learn that time if private text
// of the file would be hidden from the caller, because a change to such text
// also sets it.
func (m readOps) changedAt(c Call, doc *memory.Document) time.Time {
	if c.View.Readable(doc.Own) {
		if !doc.Front.Updated.IsZero() {
			return doc.Front.Updated
		}
		if created, ok := doc.Front.Field("created_at"); ok {
			if text, ok := created.Value.(string); ok {
				if at, ok := memory.ParseTime(text, m.Location); ok {
					return at
				}
			}
		}
	}
	if info, ok := m.Index.File(doc.Place.Path); ok && doc.PrivateReadable(c.View) {
		return time.Unix(0, info.Stamp.MTime)
	}
	return time.Time{}
}

func (m readOps) recentDays() int { return cmp.Or(m.Recent, 7) }

// longTerm returns the readable parts of the long-term files: the caller's
// subject first, then its aliases, each in path order. It returns none outside
// a private context.
func (m readOps) longTerm(c Call) []shownFile {
	if c.Scope.Context != memory.Private {
		return nil
	}
	var files []shownFile
	for doc := range m.readableFiles(c, func(f *index.FileInfo) bool { return f.Kind == memory.Longterm }) {
		files = append(files, fileOf(c, doc))
	}
	rank := m.subjectRank(c)
	slices.SortStableFunc(files, func(a, b shownFile) int {
		return cmp.Or(cmp.Compare(rank(a.doc), rank(b.doc)), strings.Compare(a.Path, b.Path))
	})
	return files
}

// subjectRank orders files by subject: the caller's subject first, then its aliases.
func (m readOps) subjectRank(c Call) func(*memory.Document) int {
	subjects := append([]string{c.Scope.Subject}, c.Scope.Aliases...)
	return func(doc *memory.Document) int { return slices.Index(subjects, c.View.SubjectOf(doc.Own)) }
}
