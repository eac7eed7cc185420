package ops

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// A shownFile is a File with its document.
type shownFile struct {
	api.File
	doc *memory.Document
}

// file is a file in a few words, for one caller.
func fileOf(c Call, doc *memory.Document) shownFile {
	f := shownFile{doc: doc, File: api.File{
		Path: doc.Place.Path, Kind: doc.Place.Kind.String(), Day: doc.Place.Day,
		Session: sessionOf(c, doc), Summary: strings.TrimSpace(doc.Summary(c.View)),
	}}
	f.Untrusted = f.Summary != "" && doc.Front.Untrusted()
	if doc.Place.Kind == memory.Session {
		tasks, followUps := doc.Progress(c.View)
		f.Progress = &api.Progress{
			Tasks:     fmt.Sprintf("%d/%d", tasks.Done, tasks.Total),
			FollowUps: fmt.Sprintf("%d/%d", followUps.Done, followUps.Total),
		}
	}
	return f
}

// shortTerm is what the caller can read of the sessions and daily notes of so
// many days, newest first; of one day, the named session first, then by name.
func (m reading) shortTerm(c Call, days int, session string) []shownFile {
	if days == 0 {
		days = m.recentDays()
	}
	// Tomorrow has begun somewhere; a day after that is a mistake.
	oldest, newest, today := m.day(1-days), m.day(1), m.day(0)
	var files []shownFile
	recent := func(f *index.FileInfo) bool {
		return (f.Kind == memory.Session || f.Kind == memory.Daily) && oldest <= f.Day && f.Day <= newest
	}
	for doc := range m.readable(c, recent) {
		files = append(files, fileOf(c, doc))
	}
	first := func(f shownFile) bool { return session != "" && f.Day == today && f.Session == session }
	slices.SortFunc(files, func(a, b shownFile) int {
		if x, y := first(a), first(b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Or(strings.Compare(b.Day, a.Day), strings.Compare(a.Path, b.Path))
	})
	return files
}

func (m reading) recentDays() int { return cmp.Or(m.Recent, 7) }

// longTerm is what the caller can read of the long-term files: the asking
// subject's first, then its aliases', and in each the one with the lower path
// first.
func (m reading) longTerm(c Call) []shownFile {
	if c.Scope.Context != memory.Private {
		return nil
	}
	var files []shownFile
	for doc := range m.readable(c, func(f *index.FileInfo) bool { return f.Kind == memory.Longterm }) {
		files = append(files, fileOf(c, doc))
	}
	rank := m.rank(c)
	slices.SortStableFunc(files, func(a, b shownFile) int {
		return cmp.Or(cmp.Compare(rank(a.doc), rank(b.doc)), strings.Compare(a.Path, b.Path))
	})
	return files
}

// rank orders files by whose they are: the asking subject's first, then its
// aliases'.
func (m reading) rank(c Call) func(*memory.Document) int {
	subjects := append([]string{c.Scope.Subject}, c.Scope.Aliases...)
	return func(doc *memory.Document) int { return slices.Index(subjects, c.View.SubjectOf(doc.Own)) }
}
