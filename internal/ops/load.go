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
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/brief"
	"github.com/memwatchd/memwatchd/memory"
)

func (m readOps) loadOp(ctx context.Context, c Call, r *api.LoadRequest) (*api.LoadAnswer, error) {
	today, err := m.parseDay(cmp.Or(r.Day, "today"))
	if err != nil {
		return nil, err
	}
	longTerm, recent := m.longTerm(c), m.shortTerm(c, r.Days, r.Session)
	answer := &api.LoadAnswer{
		Identity: filesOf(c, m.identityFiles(c), true), LongTerm: filesOf(c, longTerm, true),
		Recent: filesOf(c, recent, false), Index: m.indexState(c),
	}
	var session *memory.Document // the file that the session continues, however old
	if r.Session != "" {
		if files := m.sessionFiles(c, r.Session, today); len(files) > 0 {
			session, answer.Today = files[0], &filesOf(c, files[:1], true)[0]
		}
	}
	if m.Injection && !m.Disabled {
		style := m.blockStyle(ctx, c, "")
		style.MaxChars = brief.NoLimit
		// In order: the agent's identity, the user, the notes of today and
		// yesterday, long-term memory, the summaries, and the current session.
		waking := m.bootFiles(c)
		waking.LongTerm, waking.Recent, waking.Session = longTerm, recent, session
		answer.Block = style.Boot(waking).Text
	}
	return answer, nil
}

// identityFiles returns the agent's identity (SOUL.md) and then the user (USER.md).
func (m readOps) identityFiles(c Call) []*memory.Document {
	files := m.listFiles(c, func(f *index.FileInfo) bool { return f.Kind == memory.Identity })
	slices.SortStableFunc(files, func(a, b *memory.Document) int {
		return strings.Compare(path.Base(a.Place.Path), path.Base(b.Place.Path))
	})
	return files
}

// filesOf describes files for an answer, with or without their text.
func filesOf(c Call, docs []*memory.Document, text bool) []api.File {
	files := make([]api.File, len(docs))
	for i, doc := range docs {
		f := &files[i]
		*f = api.File{
			Path: doc.Place.Path, Kind: doc.Place.Kind.String(), Day: doc.Place.Day,
			Session: sessionOf(c, doc), Summary: strings.TrimSpace(doc.Summary(c.View)),
		}
		f.Untrusted = f.Summary != "" && doc.Front.Author().Untrusted(c.View)
		if doc.Place.Kind == memory.Session {
			tasks, followUps := doc.Progress()
			f.Progress = &api.Progress{
				Tasks:     fmt.Sprintf("%d/%d", tasks.Done, tasks.Total),
				FollowUps: fmt.Sprintf("%d/%d", followUps.Done, followUps.Total),
			}
		}
		if text {
			shown := doc.Shown(c.View)
			f.Text, f.UntrustedLines = shown.Text(), doc.UntrustedLines(c.View)
		}
	}
	return files
}

// shortTerm returns the readable parts of the sessions and daily notes of the
// given number of days: today's file of the named session first, then newest
// first.
func (m readOps) shortTerm(c Call, days int, session string) []*memory.Document {
	days = cmp.Or(days, m.recentDays())
	// Tomorrow has begun in some time zones; later days are mistakes.
	oldest, newest, today := m.day(1-days), m.day(1), m.day(0)
	files := m.listFiles(c, func(f *index.FileInfo) bool {
		return (f.Kind == memory.Session || f.Kind == memory.Daily) && oldest <= f.Day && f.Day <= newest
	})
	changed := make(map[*memory.Document]time.Time, len(files))
	for _, doc := range files {
		changed[doc] = m.changedAt(doc)
	}
	order := func(doc *memory.Document) int {
		if session != "" && doc.Place.Day == today && sessionOf(c, doc) == session {
			return 0
		}
		return 1
	}
	slices.SortFunc(files, func(a, b *memory.Document) int {
		return cmp.Or(order(a)-order(b), strings.Compare(b.Place.Day, a.Place.Day), changed[b].Compare(changed[a]),
			strings.Compare(a.Place.Path, b.Place.Path))
	})
	return files
}

// changedAt returns when a file was last changed: updated_at, else created_at,
// else the time of the file.
func (m readOps) changedAt(doc *memory.Document) time.Time {
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
	if info, ok := m.Index.File(doc.Place.Path); ok {
		return time.Unix(0, info.Stamp.MTime)
	}
	return time.Time{}
}

func (m readOps) recentDays() int { return cmp.Or(m.Recent, 7) }

// longTerm returns the readable parts of the long-term files: the caller's
// subject first, then its aliases, each in path order. It returns none outside
// a private context.
func (m readOps) longTerm(c Call) []*memory.Document {
	if c.Scope.Context != memory.Private {
		return nil
	}
	return m.bySubject(c, m.listFiles(c, func(f *index.FileInfo) bool { return f.Kind == memory.Longterm }))
}

// bySubject orders files by subject: the caller's subject first, then its aliases.
func (m readOps) bySubject(c Call, files []*memory.Document) []*memory.Document {
	rank := m.subjectRank(c)
	slices.SortStableFunc(files, func(a, b *memory.Document) int { return cmp.Compare(rank(a), rank(b)) })
	return files
}

// subjectRank returns the rank of a file's subject for [readOps.bySubject].
func (m readOps) subjectRank(c Call) func(*memory.Document) int {
	subjects := append([]string{c.Scope.Subject}, c.Scope.Aliases...)
	return func(doc *memory.Document) int { return slices.Index(subjects, c.View.SubjectOf(doc.Partition)) }
}
