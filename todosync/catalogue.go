package todosync

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// A Catalogue holds the last seen state of every box. The zero value is an
// empty catalogue. A Catalogue is not safe for concurrent use.
type Catalogue struct {
	// Since is the first day with complete records. Completed boxes of earlier
	// days are recorded but complete no other box.
	Since string
	files map[string]*File
}

// Files returns all known files, sorted by path.
func (c *Catalogue) Files() []*File {
	return slices.SortedFunc(maps.Values(c.files), byPath)
}

func byPath(a, b *File) int { return strings.Compare(a.Path, b.Path) }

// clone returns a copy that can be changed independently.
func (c *Catalogue) clone() *Catalogue { return &Catalogue{c.Since, maps.Clone(c.files)} }

// Update updates the catalogue with the current state of files, which it does
// not modify. A removed file needs only its path and Gone. Update returns the
// newly completed boxes, ordered by path and line, and a map from the old to
// the new paths of moved files.
//
// The result depends only on the files, not on their order. A box that reaches
// the state that a request sets becomes Ticked and completes no other box.
func (c *Catalogue) Update(files []*File, requests []TickRequest, r *Rules) (done []Copy, moved map[string]string) {
	if c.files == nil {
		c.files = map[string]*File{}
	}
	files = slices.Clone(files)
	slices.SortFunc(files, byPath)
	l := catalogueUpdate{Catalogue: c, requests: requests, rules: r, missing: map[Digest][]*File{},
		moved: map[string]string{}, unticked: map[boxAt]bool{}}
	for _, f := range files {
		if f.Gone {
			l.markGone(f.Path)
		}
	}
	for _, f := range c.files {
		if f.Gone {
			l.missing[f.Hash] = append(l.missing[f.Hash], f)
		}
	}
	for _, list := range l.missing {
		slices.SortFunc(list, byPath)
	}
	// Compare each file with the catalogue before this update.
	before := make([]*File, len(files))
	for i, f := range files {
		if !f.Gone {
			before[i] = l.previousState(f)
		}
	}
	for i, f := range files {
		if !f.Gone {
			l.updateFile(f, before[i])
		}
	}
	for from := range l.moved {
		if f := c.files[from]; f != nil && f.Gone {
			delete(c.files, from)
		}
	}
	l.liftUnticked()
	return l.done, l.moved
}

// Prune removes the files of days before first, which is written YYYY-MM-DD.
// Files without a day stay.
func (c *Catalogue) Prune(first string) {
	maps.DeleteFunc(c.files, func(_ string, f *File) bool { return f.Day != "" && f.Day < first })
	c.Since = max(c.Since, first)
}

type catalogueUpdate struct {
	*Catalogue
	requests     []TickRequest
	rules        *Rules
	missing      map[Digest][]*File // known missing files, by content, then by path
	newlyMissing []*File            // files that this call found missing, by path
	moved        map[string]string  // from → to
	done         []Copy
	again        []Copy         // those of done that were seen open before
	unticked     map[boxAt]bool // boxes that the user has unticked since the last update
}

type boxAt struct {
	path string
	box  int
}

// markGone keeps the last state of a missing file: the file may return or appear at
// another path.
func (l *catalogueUpdate) markGone(path string) {
	if f := l.files[path]; f != nil && !f.Gone {
		gone := *f
		gone.Gone = true
		l.files[path] = &gone
		l.newlyMissing = append(l.newlyMissing, &gone)
	}
}

// previousState returns the previous state of a file, or nil. It prefers a file with
// the same content that this call found missing, because that file was moved
// over the present path. Next is the state at the same path. Last are any
// missing file with the same content and a newly missing file of the same
// session.
func (l *catalogueUpdate) previousState(f *File) *File {
	current := l.files[f.Path]
	byHash := func(list []*File) *File {
		i := slices.IndexFunc(list, func(c *File) bool { return c.Hash == f.Hash && c.Path != f.Path })
		if i < 0 {
			return nil
		}
		l.moved[list[i].Path] = f.Path
		return list[i]
	}
	if current != nil && current.Hash == f.Hash {
		return current
	}
	if candidate := byHash(l.newlyMissing); candidate != nil {
		return candidate
	}
	if current != nil && !current.Gone {
		return current
	}
	if candidate := byHash(l.missing[f.Hash]); candidate != nil || current != nil {
		return cmp.Or(candidate, current)
	}
	for _, candidate := range l.newlyMissing {
		if candidate.Session == f.Session && f.Session != "" && l.moved[candidate.Path] == "" {
			l.moved[candidate.Path] = f.Path
			return candidate
		}
	}
	return nil
}

// updateFile compares the boxes of a file with those before, collects the ones that were
// ticked or unticked, and records the file.
func (l *catalogueUpdate) updateFile(f, before *File) {
	now := *f
	now.Boxes, now.Reported = slices.Clone(f.Boxes), false
	if now.Day == "" {
		now.Boxes = slices.DeleteFunc(now.Boxes, func(b Box) bool { return b.ID == "" })
	}
	was := compareBoxes(&now, before)
	old := now.Day != "" && now.Day < l.Since
	for i := range now.Boxes {
		b := &now.Boxes[i]
		switch {
		case b.State == Unticked && was[i] == Ticked:
			l.unticked[boxAt{f.Path, i}] = true
		case !b.State.isDone() || was[i].isDone():
		case l.isRequested(&now, i):
			b.State = Ticked
		case !old:
			l.done = append(l.done, now.Copy(i))
			if was[i] != unseen || f.Reported && !l.isDoneElsewhere(&now, i) {
				l.again = append(l.again, now.Copy(i))
			}
		}
	}
	if len(now.Boxes) > 0 || before != nil {
		l.files[f.Path] = &now
	}
}

// isDoneElsewhere reports whether another file contains the task of a box as done.
func (l *catalogueUpdate) isDoneElsewhere(f *File, box int) bool {
	done := f.Copy(box)
	return slices.ContainsFunc(newIndex(l.Catalogue).files(&done), func(other *File) bool {
		return other.Path != f.Path && slices.ContainsFunc(l.rules.Candidates(other, &done),
			func(i int) bool { return other.Boxes[i].State.isDone() })
	})
}

func (l *catalogueUpdate) isRequested(f *File, box int) bool {
	c := f.Copy(box)
	return slices.ContainsFunc(l.requests,
		func(w TickRequest) bool { return w.Path == f.Path && l.rules.Same(&w.Done, &c) })
}

// compareBoxes gives the boxes of a file their states and returns the previous ones.
// It matches a box by all its properties, then by id, then by
// text and position, then by text alone. Of identical boxes, as many as were
// done before are not new.
func compareBoxes(now, before *File) (was []State) {
	if before == nil {
		before = &File{}
	}
	keys := []func(*Box) (BoxKey, bool){
		func(b *Box) (BoxKey, bool) { return b.BoxKey, true },
		func(b *Box) (BoxKey, bool) { return BoxKey{ID: b.ID}, b.ID != "" },
		func(b *Box) (BoxKey, bool) { return BoxKey{Text: b.Text, Under: b.Under, Section: b.Section}, true },
		func(b *Box) (BoxKey, bool) { return BoxKey{Text: b.Text}, true },
	}
	was, used := slices.Repeat([]State{unseen}, len(now.Boxes)), make([]bool, len(before.Boxes))
	for _, keyOf := range keys {
		old := map[BoxKey][]int{}
		for i := range before.Boxes {
			if k, ok := keyOf(&before.Boxes[i]); ok && !used[i] {
				old[k] = append(old[k], i)
			}
		}
		// Match boxes with an unchanged state first, then the others.
		for _, same := range []bool{true, false} {
			for i := range now.Boxes {
				b := &now.Boxes[i]
				k, ok := keyOf(b)
				if !ok || was[i] != unseen {
					continue
				}
				j := slices.IndexFunc(old[k], func(j int) bool {
					return !used[j] && (before.Boxes[j].State.isDone() == b.State.isDone()) == same
				})
				if j < 0 {
					continue
				}
				j = old[k][j]
				was[i], used[j] = before.Boxes[j].State, true
				switch {
				case same:
					b.State = was[i]
				case was[i] == Ticked:
					b.State = Unticked
				}
			}
		}
	}
	return was
}

// liftUnticked opens the copies that the user had unticked of tasks that are done again.
// The box of such a task was seen open, so that the completion is later than the
// changes that this update does not contain. A box that is done where it appears
// first may be a copy of the old completion.
func (l *catalogueUpdate) liftUnticked() {
	if len(l.again) == 0 {
		return
	}
	x := newIndex(l.Catalogue)
	for _, done := range l.again {
		for _, f := range x.files(&done) {
			if f.Path == done.Path || f.Day > done.Day && done.Day != "" {
				continue
			}
			lifted := *l.files[f.Path]
			lifted.Boxes = slices.Clone(lifted.Boxes)
			for _, i := range l.rules.Candidates(&lifted, &done) {
				if lifted.Boxes[i].State == Unticked && !l.unticked[boxAt{f.Path, i}] {
					lifted.Boxes[i].State = Open
					l.files[f.Path] = &lifted
				}
			}
		}
	}
}
