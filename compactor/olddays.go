package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// daysOf returns the sessions and daily notes that keep accepts, by day and path. Those
// of an Obsidian vault stay where they are.
func daysOf(docs []*memory.Document, keep func(*memory.Document) bool) []*memory.Document {
	docs = slices.DeleteFunc(slices.Clone(docs), func(d *memory.Document) bool {
		return d.Place.Kind != memory.Session && d.Place.Kind != memory.Daily || d.Place.ByFormat || !keep(d)
	})
	slices.SortFunc(docs, func(a, b *memory.Document) int {
		return cmp.Or(strings.Compare(a.Place.Day, b.Place.Day), strings.Compare(a.Place.Path, b.Place.Path))
	})
	return docs
}

// archivedAt returns the path of a file in the archive, or an error if it
// cannot move there.
func archivedAt(d *memory.Document, l *memory.Layout) (string, error) {
	to := l.Archived(d.Place, d.Front.SubjectID)
	switch {
	case d.Stale:
		return "", errors.New("the file cannot be read now")
	case d.Unsound:
		return "", errors.New("the structure of the file is ambiguous; run `memwatchd check`")
	case to == "":
		return "", errors.New("the archive has no distinct path for the file")
	case !sameReaders(d, l.Parse(to, d.Source, memory.Meta{})):
		return "", errors.New("the file would have other readers in the archive")
	}
	return to, nil
}

// sameReaders reports whether two files with the same text have the same
// readers, entry by entry.
func sameReaders(a, b *memory.Document) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Own == b.Own && a.Partition == b.Partition &&
		slices.EqualFunc(a.Entries, b.Entries, func(x, y memory.Entry) bool { return x.Partition == y.Partition }) &&
		sameReaders(a.Excerpt(), b.Excerpt())
}

// OldDays moves the sessions and daily notes of old days to the archive. Its fields must
// not change while it is in use.
//
// Days move as a whole: a day with an open task, or with a file that cannot be read, stays.
// A single file stays if it is unsound, if it has no distinct place in the archive, if its
// target exists, or if the archive would give it other readers.
type OldDays struct {
	Root
	After time.Duration // minimum age of an archived day
}

// A DayMove is one file that moves.
type DayMove struct{ Day, From, To string }

// A DayReport is the result of a run.
type DayReport struct {
	Moved []DayMove
	Left  []api.DayStay // files that could not be moved this time
}

// Run moves old files as one group of changes. Files that fail are in the
// report and are retried by the next run. Run returns an error only from the
// context or the claim, or if writing is turned off or the root is missing; the
// report then contains the files moved so far.
func (o *OldDays) Run(ctx context.Context) (*DayReport, error) {
	report := &DayReport{}
	moves, err := o.plan(ctx)
	if err == nil && len(moves) > 0 && o.Claim != nil {
		err = o.Claim(ctx, false)
	}
	if err != nil {
		return report, err
	}
	group := ""
	for _, m := range moves {
		written, err := o.Mover.Move(ctx, m.From, m.To, vault.Change{
			Path: m.From, Cause: "archive", Group: group, Reason: "day is older than " + formatDays(o.After),
			Edit: func(old *vault.File) ([]byte, error) { return o.checkMove(m, old) },
		})
		switch {
		case ctx.Err() != nil:
			return report, ctx.Err()
		case errors.Is(err, vault.ErrOff), errors.Is(err, vault.ErrRoot):
			return report, err
		case err != nil:
			report.Left = append(report.Left, api.DayStay{Day: m.Day, Path: m.From, Reason: err.Error()})
		default:
			group = cmp.Or(group, written.ID)
			report.Moved = append(report.Moved, m)
		}
	}
	return report, nil
}

// plan returns the files to move, by day and path. The only error is the context's.
func (o *OldDays) plan(ctx context.Context) (moves []DayMove, err error) {
	before := o.day(o.After)
	taken, stays := map[string]bool{}, map[string]bool{} // paths, and days
	var docs []*memory.Document
	for _, path := range o.Paths() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		taken[path] = true
		place := o.Layout.Place(path)
		if place.Kind != memory.Session && place.Kind != memory.Daily || place.Day >= before {
			continue
		}
		doc, err := o.Files.Load(path)
		if err != nil { // it may contain an open task
			stays[place.Day] = true
			continue
		}
		docs = append(docs, doc)
	}
	docs = daysOf(docs, func(*memory.Document) bool { return true })
	for _, d := range docs {
		if slices.ContainsFunc(d.Entries, func(e memory.Entry) bool { return hasOpenTask(&e) }) {
			stays[d.Place.Day] = true
		}
	}
	for _, d := range docs {
		to, err := archivedAt(d, o.Layout)
		if err == nil && !taken[to] && !stays[d.Place.Day] {
			taken[to] = true
			moves = append(moves, DayMove{d.Place.Day, d.Place.Path, to})
		}
	}
	return moves, nil
}

// checkMove returns the content of a file about to move, or an error if the plan no
// longer applies.
func (o *OldDays) checkMove(m DayMove, old *vault.File) ([]byte, error) {
	if old == nil {
		return nil, errors.New("the file no longer exists")
	}
	doc := o.Parse(*old)
	to, err := archivedAt(doc, o.Layout)
	switch {
	case err != nil:
		return nil, err
	case slices.ContainsFunc(doc.Entries, func(e memory.Entry) bool { return hasOpenTask(&e) }):
		return nil, errors.New("the file has an open task")
	case to != m.To:
		return nil, errors.New("the file changed during the run")
	}
	return old.Data, nil
}

func formatDays(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return d.String()
}
