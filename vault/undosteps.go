package vault

import (
	"cmp"
	"slices"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// undoSteps divides changes, newest first, into those that are taken back at once:
// each step is changes of one file, or one change that moved a file.
//
// The order of files matters. What is taken out of one file is written to
// another first, so that its text is always somewhere; taking that back has to
// begin with what came last. So files are put into an order that agrees with all
// groups, as far as that goes, and changes before that wait for those after.
func undoSteps(records []journal.Record) [][]journal.Record {
	var all [][]journal.Record
	w := wave{}
	flush := func() {
		all = append(all, w.steps()...)
		w = wave{}
	}
	for _, group := range grouped(records) {
		if w.add(group) {
			continue
		}
		flush()
		if w.add(group) {
			continue
		}
		for _, r := range group {
			all = append(all, []journal.Record{r})
		}
	}
	flush()
	return all
}

// grouped lists the groups, that of the newest change first.
func grouped(records []journal.Record) [][]journal.Record {
	var groups [][]journal.Record
	at := map[string]int{}
	for _, r := range records {
		i, ok := at[r.Group]
		if !ok {
			i = len(groups)
			at[r.Group] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// A wave is changes of which those of each file are taken back at once.
type wave struct {
	paths   []string // in the order in which they are
	records []journal.Record
}

// add takes a group in, unless its changes were made in another order of files,
// or moved one.
func (w *wave) add(group []journal.Record) bool {
	if slices.ContainsFunc(group, func(r journal.Record) bool { return r.To != "" }) {
		return false
	}
	paths := slices.Clone(w.paths)
	at := 0 // where the next file of the group may stand
	last := ""
	for _, r := range group {
		if r.Path == last {
			continue
		}
		switch i := slices.Index(paths, r.Path); {
		case i < 0:
			paths = slices.Insert(paths, at, r.Path)
		case i < at:
			return false
		default:
			at = i
		}
		at, last = at+1, r.Path
	}
	w.paths, w.records = paths, append(w.records, group...)
	return true
}

func (w *wave) steps() [][]journal.Record {
	steps := make([][]journal.Record, len(w.paths))
	for _, r := range w.records {
		i := slices.Index(w.paths, r.Path)
		steps[i] = append(steps[i], r)
	}
	for _, step := range steps {
		slices.SortFunc(step, func(a, b journal.Record) int { return cmp.Compare(b.ID, a.ID) })
	}
	return steps
}
