package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// DayTerms are what [PlanDays] goes by, beside the files.
type DayTerms struct {
	Before string                 // days before this one go, YYYY-MM-DD
	Layout *memory.Layout         // of the root
	Taken  func(path string) bool // whether there is something at a path already
}

// A DayPlan says which files of old days move to the archive, in the order of
// days and paths, and what stays although it is as old.
type DayPlan struct {
	Moves []DayMove `json:"moves"`
	Stay  []DayStay `json:"stay"`
}

// A DayMove is one file that moves.
type DayMove struct {
	Day  string `json:"day"`
	From string `json:"from"`
	To   string `json:"to"`
}

// A DayStay is one file that stays, and why.
type DayStay struct {
	Day    string
	Path   string
	Reason string // for a person
}

// PlanDays plans what moves to the archive. It is a pure function of the files,
// in any order; only sessions and daily notes are looked at.
//
// Days move as a whole: one with an open task anywhere stays. So does, by itself,
// a file that could not be read, that is never written to, that would take the
// place of another, or that others would be able to read in the archive than can
// read it where it is.
func PlanDays(docs []*memory.Document, t DayTerms) DayPlan {
	docs = slices.DeleteFunc(slices.Clone(docs), func(d *memory.Document) bool {
		return d.Place.Kind != memory.Session && d.Place.Kind != memory.Daily || d.Place.Day >= t.Before
	})
	slices.SortFunc(docs, func(a, b *memory.Document) int {
		return cmp.Or(strings.Compare(a.Place.Day, b.Place.Day), strings.Compare(a.Place.Path, b.Place.Path))
	})
	open := map[string]string{} // by day, a file with an open task
	for _, d := range slices.Backward(docs) {
		if slices.ContainsFunc(d.Entries, func(e memory.Entry) bool { return hasOpen(&e) }) {
			open[d.Place.Day] = d.Place.Path
		}
	}
	plan := DayPlan{Moves: []DayMove{}, Stay: []DayStay{}}
	taken := map[string]bool{}
	for _, d := range docs {
		day, path := d.Place.Day, d.Place.Path
		to, err := archivedAt(d, t.Layout)
		switch {
		case open[day] == path:
			err = errors.New("it has an open task")
		case open[day] != "":
			err = fmt.Errorf("%s has an open task", open[day])
		case err == nil && (taken[to] || t.Taken(to)):
			err = fmt.Errorf("there is a %s already", to)
		}
		if err != nil {
			plan.Stay = append(plan.Stay, DayStay{day, path, err.Error()})
			continue
		}
		taken[to] = true
		plan.Moves = append(plan.Moves, DayMove{day, path, to})
	}
	return plan
}

// archivedAt is where a file lies in the archive, or why it cannot.
func archivedAt(d *memory.Document, l *memory.Layout) (string, error) {
	to := l.Archived(d.Place, d.Front.SubjectID)
	switch {
	case d.Stale:
		return "", errors.New("it cannot be read now")
	case d.Unsound:
		return "", errors.New("it is left alone until it is mended")
	case to == "":
		return "", errors.New("nothing like it can be told from others in the archive")
	case !sameReaders(d, l.Parse(to, d.Source, memory.Meta{})):
		return "", errors.New("others could read it in the archive")
	}
	return to, nil
}

// sameReaders reports whether two files of the same text are read by the same
// people, entry by entry.
func sameReaders(a, b *memory.Document) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Own == b.Own && a.Partition == b.Partition &&
		slices.EqualFunc(a.Entries, b.Entries, func(x, y memory.Entry) bool { return x.Partition == y.Partition }) &&
		sameReaders(a.Excerpt(), b.Excerpt())
}

// A Mover moves files: whole, or not at all, and never over another one.
type Mover interface {
	Move(ctx context.Context, from, to string, c vault.Change) (vault.Written, error)
}

// OldDays moves days to the archive when they are old. Its fields must not change
// while it is in use.
type OldDays struct {
	Files    Files
	Paths    func() []string // of all files of memory, in any order
	Layout   *memory.Layout
	Parse    func(vault.File) *memory.Document
	Mover    Mover
	Claim    func(ctx context.Context, asked bool) error // before anything moves, if it is not nil; see [Host.Claim]
	After    time.Duration                               // how old a day is then; none ever if zero
	Location *time.Location                              // of days; UTC if nil
	Now      func() time.Time                            // time.Now if nil
}

// A DayReport says what became of a plan.
type DayReport struct {
	Plan  DayPlan   `json:"plan"`
	Moved []string  `json:"moved"` // the new paths
	Left  []DayStay `json:"left"`  // what could not be moved, this time
}

// Plan says what would move now. A day with a file that cannot be read at this
// moment stays until the next time.
func (o *OldDays) Plan(ctx context.Context) (DayPlan, error) {
	if o.After <= 0 {
		return DayPlan{Moves: []DayMove{}, Stay: []DayStay{}}, nil
	}
	now, there := time.Now, map[string]bool{}
	if o.Now != nil {
		now = o.Now
	}
	terms := DayTerms{
		Before: now().Add(-o.After).In(cmp.Or(o.Location, time.UTC)).Format(time.DateOnly),
		Layout: o.Layout, Taken: func(path string) bool { return there[path] },
	}
	var docs []*memory.Document
	var unread []DayStay
	for _, path := range o.Paths() {
		if err := ctx.Err(); err != nil {
			return DayPlan{}, err
		}
		there[path] = true
		if day := o.Layout.Place(path).Day; day == "" || day >= terms.Before {
			continue
		}
		doc, err := o.Files.Load(path)
		if err != nil { // whether there is an open task in it is not known
			unread = append(unread, DayStay{o.Layout.Place(path).Day, path, "it cannot be read now"})
			continue
		}
		docs = append(docs, doc)
	}
	docs = slices.DeleteFunc(docs, func(d *memory.Document) bool {
		return slices.ContainsFunc(unread, func(s DayStay) bool { return s.Day == d.Place.Day })
	})
	plan := PlanDays(docs, terms)
	plan.Stay = append(plan.Stay, unread...)
	slices.SortFunc(plan.Stay, func(a, b DayStay) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), strings.Compare(a.Path, b.Path))
	})
	return plan, nil
}

// Run moves what is old, as one group of changes. What cannot be moved now is in
// the report; it is tried again the next time. An error is that of the context,
// that of the claim, or that nothing may be written at all.
func (o *OldDays) Run(ctx context.Context, asked bool) (*DayReport, error) {
	plan, err := o.Plan(ctx)
	if err != nil {
		return nil, err
	}
	report := &DayReport{Plan: plan, Moved: []string{}, Left: []DayStay{}}
	if len(plan.Moves) > 0 && o.Claim != nil {
		if err := o.Claim(ctx, asked); err != nil {
			return report, err
		}
	}
	group := ""
	for _, m := range plan.Moves {
		written, err := o.Mover.Move(ctx, m.From, m.To, vault.Change{
			Path: m.From, Cause: "archive", Group: group, Reason: "the day is older than " + days(o.After), Asked: asked,
			Edit: func(old *vault.File) ([]byte, error) { return o.asPlanned(m, old) },
		})
		switch {
		case ctx.Err() != nil:
			return report, ctx.Err()
		case errors.Is(err, vault.ErrOff), errors.Is(err, vault.ErrRoot):
			return report, err
		case err != nil:
			report.Left = append(report.Left, DayStay{m.Day, m.From, err.Error()})
		default:
			group = cmp.Or(group, written.ID)
			report.Moved = append(report.Moved, m.To)
		}
	}
	return report, nil
}

// asPlanned gives back the text of a file that is about to move, if it still
// should.
func (o *OldDays) asPlanned(m DayMove, old *vault.File) ([]byte, error) {
	if old == nil {
		return nil, errors.New("it is gone")
	}
	terms := DayTerms{Before: "9999-99-99", Layout: o.Layout, Taken: func(string) bool { return false }}
	switch plan := PlanDays([]*memory.Document{o.Parse(*old)}, terms); {
	case len(plan.Stay) > 0:
		return nil, errors.New(plan.Stay[0].Reason)
	case !slices.Equal(plan.Moves, []DayMove{m}):
		return nil, errors.New("it has changed meanwhile")
	}
	return old.Data, nil
}

// days is a duration for a person.
func days(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return d.String()
}
