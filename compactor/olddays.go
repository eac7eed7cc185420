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

// DayTerms are the inputs of [PlanDays] besides the files.
type DayTerms struct {
	Before string                 // days before this one move, YYYY-MM-DD
	Layout *memory.Layout         // of the root
	Taken  func(path string) bool // reports whether a path is occupied
}

// A DayPlan lists the files of old days that move to the archive, ordered by
// day and path, and the equally old files that stay.
type DayPlan struct {
	Moves []DayMove
	Stay  []api.DayStay
}

// A DayMove is one file that moves.
type DayMove struct{ Day, From, To string }

// PlanDays plans the moves to the archive. It is a pure function of the files,
// in any order; it uses only sessions and daily notes.
//
// Days move as a whole: a day with an open task stays. A single file stays if
// it is unreadable or unsound, if it has no distinct place in the archive, if
// its target exists, or if the archive would give it other readers.
func PlanDays(docs []*memory.Document, t DayTerms) DayPlan {
	docs = daysOf(docs, func(d *memory.Document) bool { return d.Place.Day < t.Before })
	open := map[string]string{} // day → a file with an open task
	for _, d := range slices.Backward(docs) {
		if slices.ContainsFunc(d.Entries, func(e memory.Entry) bool { return hasOpenTask(&e) }) {
			open[d.Place.Day] = d.Place.Path
		}
	}
	plan := DayPlan{Moves: []DayMove{}, Stay: []api.DayStay{}}
	taken := map[string]bool{}
	for _, d := range docs {
		day, path := d.Place.Day, d.Place.Path
		to, err := archivedAt(d, t.Layout)
		switch {
		case open[day] == path:
			err = errors.New("the file has an open task")
		case open[day] != "":
			err = fmt.Errorf("%s has an open task", open[day])
		case err == nil && (taken[to] || t.Taken(to)):
			err = fmt.Errorf("%s already exists", to)
		}
		if err != nil {
			plan.Stay = append(plan.Stay, api.DayStay{Day: day, Path: path, Reason: err.Error()})
			continue
		}
		taken[to] = true
		plan.Moves = append(plan.Moves, DayMove{day, path, to})
	}
	return plan
}

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

// OldDays moves old days to the archive. Its fields must not change while it is
// in use.
type OldDays struct {
	Root
	After time.Duration // minimum age of an archived day; zero disables archiving
}

// A DayReport is the result of a run.
type DayReport struct {
	Plan  DayPlan
	Moved []string      // the new paths
	Left  []api.DayStay // files that could not be moved this time
}

// Plan returns the current plan. A day with an unreadable file stays until the
// next run. The only error is the context's.
func (o *OldDays) Plan(ctx context.Context) (DayPlan, error) {
	if o.After <= 0 {
		return DayPlan{Moves: []DayMove{}, Stay: []api.DayStay{}}, nil
	}
	there := map[string]bool{}
	terms := DayTerms{Before: o.day(o.After), Layout: o.Layout, Taken: func(path string) bool { return there[path] }}
	var docs []*memory.Document
	var unread []api.DayStay
	for _, path := range o.Paths() {
		if err := ctx.Err(); err != nil {
			return DayPlan{}, err
		}
		there[path] = true
		day := o.Layout.Place(path).Day
		if day == "" || day >= terms.Before {
			continue
		}
		doc, err := o.Files.Load(path)
		if err != nil { // it may contain an open task
			unread = append(unread, api.DayStay{Day: day, Path: path, Reason: "the file cannot be read now"})
			continue
		}
		docs = append(docs, doc)
	}
	docs = slices.DeleteFunc(docs, func(d *memory.Document) bool {
		return slices.ContainsFunc(unread, func(s api.DayStay) bool { return s.Day == d.Place.Day })
	})
	plan := PlanDays(docs, terms)
	plan.Stay = append(plan.Stay, unread...)
	slices.SortFunc(plan.Stay, func(a, b api.DayStay) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), strings.Compare(a.Path, b.Path))
	})
	return plan, nil
}

// Run moves old files as one group of changes. Files that fail are in the
// report and are retried by the next run. Run returns an error only from the
// context or the claim, or if writing is turned off or the root is missing; the
// report then contains the files moved so far, or is nil if there is no plan.
func (o *OldDays) Run(ctx context.Context) (*DayReport, error) {
	plan, err := o.Plan(ctx)
	if err != nil {
		return nil, err
	}
	report := &DayReport{Plan: plan, Moved: []string{}, Left: []api.DayStay{}}
	if len(plan.Moves) > 0 && o.Claim != nil {
		if err := o.Claim(ctx, false); err != nil {
			return report, err
		}
	}
	group := ""
	for _, m := range plan.Moves {
		written, err := o.Mover.Move(ctx, m.From, m.To, vault.Change{
			Path: m.From, Cause: "archive", Group: group, Reason: "day is older than " + formatDays(o.After),
			Edit: func(old *vault.File) ([]byte, error) { return o.checkPlan(m, old) },
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
			report.Moved = append(report.Moved, m.To)
		}
	}
	return report, nil
}

// checkPlan returns the content of a file about to move, or an error if the
// plan no longer applies.
func (o *OldDays) checkPlan(m DayMove, old *vault.File) ([]byte, error) {
	if old == nil {
		return nil, errors.New("the file no longer exists")
	}
	terms := DayTerms{Before: "9999-99-99", Layout: o.Layout, Taken: func(string) bool { return false }}
	switch plan := PlanDays([]*memory.Document{o.Parse(*old)}, terms); {
	case len(plan.Stay) > 0:
		return nil, errors.New(plan.Stay[0].Reason)
	case !slices.Equal(plan.Moves, []DayMove{m}):
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
