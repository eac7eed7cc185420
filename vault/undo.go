package vault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// An Undoer takes changes back. An undo is a change like any other: it is in the
// journal, and can be undone.
type Undoer struct {
	Vault   *Vault
	Journal *journal.Journal
	Writer  interface {
		Write(context.Context, Change) (Written, error)
		Move(ctx context.Context, from, to string, c Change) (Written, error)
	}
}

// An Undoing is what became of one change that was to be undone.
type Undoing struct {
	Record journal.Record // the change, with its hunks
	By     string         // id of the change that undid it, "" if none did
	Err    error          // why it cannot be undone
}

// Undo takes back the change of an id, or of the beginning of one, and all
// others of its group. The error is one of [Journal.Get], or a [*ConflictError]
// if it is undone already; what came of each change is in the list, newest
// first.
//
// A group is undone as a whole or, if one of its changes cannot be, not at all.
// Only if somebody saves one of its files just then it may stay half undone; no
// text is lost by that, as what came last is taken back first. With dry, what
// would happen is told and nothing is done.
func (u *Undoer) Undo(ctx context.Context, id string, dry bool) ([]Undoing, error) {
	r, err := u.Journal.Get(id)
	if err != nil {
		return nil, err
	}
	if r.State == journal.StateUndone {
		return nil, &ConflictError{r.ID, r.Path, "it is undone already; what undid it can be undone"}
	}
	return u.undo(ctx, u.Journal.Group(r.Group), dry), nil
}

// UndoSince is [Undoer.Undo] for all changes since a time, each with its group.
func (u *Undoer) UndoSince(ctx context.Context, since time.Time, dry bool) []Undoing {
	groups := map[string]bool{}
	for _, r := range u.Journal.List(since, "", 0) {
		groups[r.Group] = true
	}
	all := u.Journal.List(time.Time{}, "", 0)
	return u.undo(ctx, slices.DeleteFunc(all, func(r journal.Record) bool { return !groups[r.Group] }), dry)
}

// undo takes changes back, which are listed newest first.
func (u *Undoer) undo(ctx context.Context, records []journal.Record, dry bool) []Undoing {
	p := &undoPlan{undoer: u, failed: map[string]bool{}, errs: map[string]error{}}
	p.make(records)
	if !dry {
		p.apply(ctx)
	}
	return p.list(records)
}

// An undoPlan says which changes are taken back.
type undoPlan struct {
	undoer *Undoer
	whole  []journal.Record  // those that are taken back, with their hunks, newest first
	failed map[string]bool   // groups of which one cannot be
	errs   map[string]error  // why, by id
	by     map[string]string // what undid them, by id; nil before anything is done
}

// make finds out which changes can be taken back, by doing so in memory: each
// file as it is without those changes that came later. It starts anew without
// the groups that fail, until none does.
func (p *undoPlan) make(records []journal.Record) {
	for {
		before := len(p.failed)
		p.whole = nil
		chosen, undone, files := map[string]bool{}, map[string]bool{}, memoryFiles{vault: p.undoer.Vault}
		for _, r := range records {
			chosen[r.ID], undone[r.ID] = true, r.State == journal.StateUndone
		}
		for _, r := range records {
			if p.failed[r.Group] || undone[r.ID] {
				continue
			}
			whole, err := p.undoer.Journal.Get(r.ID)
			if err == nil {
				err = files.reverse(whole)
			}
			if err != nil {
				p.failed[r.Group] = true
				if !allIn(chosen, r.Undoes) { // else what is wanted is the case, as it is
					p.errs[r.ID] = err
				}
				continue
			}
			p.whole = append(p.whole, whole)
			for _, id := range r.Undoes {
				undone[id] = false
			}
		}
		if len(p.failed) == before {
			return
		}
	}
}

func allIn(set map[string]bool, ids []string) bool {
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return !set[id] })
}

// memoryFiles are files as they would be.
type memoryFiles struct {
	vault *Vault
	known map[string][]byte
}

func (f *memoryFiles) read(path string) ([]byte, error) {
	if data, ok := f.known[path]; ok {
		return data, nil
	}
	file, err := f.vault.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return file.Data, err
}

// reverse takes one change back.
func (f *memoryFiles) reverse(r journal.Record) error {
	at := r.FilePath()
	data, err := f.read(at)
	if err == nil {
		data, err = Reverse(data, r)
	}
	if err != nil {
		return err
	}
	if r.To != "" {
		there, err := f.read(r.Path)
		if err != nil {
			return err
		}
		if there != nil {
			return &ConflictError{r.ID, r.Path, "there is another file of that name; move it away and try again"}
		}
	}
	if f.known == nil {
		f.known = map[string][]byte{}
	}
	f.known[at] = nil
	f.known[r.Path] = data
	return nil
}

// apply takes the planned changes back on the disk: those of one file at once
// where that is possible, so that who has it open is asked about it once.
func (p *undoPlan) apply(ctx context.Context) {
	p.by = map[string]string{}
	group := "" // the undo itself is one
	for _, step := range undoSteps(p.whole) {
		step = slices.DeleteFunc(step, func(r journal.Record) bool { return p.failed[r.Group] })
		if len(step) == 0 {
			continue
		}
		written, err := p.write(ctx, step, group)
		if err != nil {
			for _, r := range step {
				p.failed[r.Group], p.errs[r.ID] = true, err
			}
			continue
		}
		if group == "" {
			group = written.ID
		}
		for _, r := range step {
			p.by[r.ID] = written.ID
		}
	}
}

// write takes changes of one file back, newest first.
func (p *undoPlan) write(ctx context.Context, step []journal.Record, group string) (Written, error) {
	first := step[0]
	c := Change{
		Path: first.FilePath(), Cause: "undo", Group: group, Asked: true,
		Reason: fmt.Sprintf("%s, %s: undone", first.Cause, first.Time.UTC().Format(time.DateTime)),
		Edit: func(old *File) ([]byte, error) {
			var data []byte
			if old != nil {
				data = old.Data
			}
			for _, r := range step {
				var err error
				if data, err = Reverse(data, r); err != nil {
					return nil, err
				}
			}
			if data == nil && old != nil {
				return nil, ErrRemove
			}
			return data, nil
		},
	}
	if len(step) > 1 {
		c.Reason = fmt.Sprintf("%d changes undone", len(step))
	}
	for _, r := range step {
		c.Undoes = append(c.Undoes, r.ID)
	}
	if first.To != "" {
		return p.undoer.Writer.Move(ctx, first.To, first.Path, c)
	}
	return p.undoer.Writer.Write(ctx, c)
}

// list tells what became of each change: nothing of one that was undone before,
// or whose undoing was taken back together with it.
func (p *undoPlan) list(records []journal.Record) []Undoing {
	whole, reasons := map[string]journal.Record{}, map[string]bool{} // by id; by group
	for _, r := range p.whole {
		whole[r.ID] = r
	}
	for _, r := range records {
		reasons[r.Group] = reasons[r.Group] || p.errs[r.ID] != nil
	}
	var list []Undoing
	for _, r := range records {
		planned, ok := whole[r.ID]
		if ok {
			r = planned
		}
		u := Undoing{Record: r, By: p.by[r.ID], Err: p.errs[r.ID]}
		if u.By != "" {
			u.Record.State = journal.StateUndone
		}
		if u.Err == nil && u.By == "" && reasons[r.Group] && r.State != journal.StateUndone {
			u.Err = &ConflictError{r.ID, r.FilePath(), "another change that was made with it cannot be undone"}
		}
		if u.Err != nil || u.By != "" || ok && p.by == nil {
			list = append(list, u)
		}
	}
	return list
}

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
