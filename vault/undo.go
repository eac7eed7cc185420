package vault

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// An Undoer reverses changes. An undo is a change like any other: it is in the
// journal and can be undone.
type Undoer struct{ Writer *Writer }

// An UndoResult is the result of undoing one change.
type UndoResult struct {
	Record journal.Record // the change with its hunks
	By     string         // ID of the change that undid it, or ""
	Err    error          // why the change cannot be undone
}

// Undo reverses the change with the given ID, or unique prefix of an ID, and
// all changes of its group. The error is one of [Journal.Get], or a
// [*ConflictError] if the change is already undone. The list contains the
// result of each change, newest first.
//
// A group is undone as a whole, or not at all if one of its changes cannot be
// undone. Only a save of one of its files during the undo can leave the group
// half undone; no text is lost then, because the newest changes are reversed
// first. If dry is true, Undo only returns the expected results.
func (u *Undoer) Undo(ctx context.Context, id string, dry bool) ([]UndoResult, error) {
	r, err := u.Writer.Journal.Get(id)
	if err != nil {
		return nil, err
	}
	if r.State == journal.StateUndone {
		return nil, &ConflictError{r.ID, r.Path, "already undone; to restore this change, undo the change that " +
			"reverted it"}
	}
	return u.undoRecords(ctx, map[string]bool{r.Group: true}, dry), nil
}

// Again makes the change with the given ID again, if another program removed its text.
// See [Repeat].
func (u *Undoer) Again(ctx context.Context, layout *memory.Layout, id string, dry bool) (UndoResult, error) {
	r, err := u.Writer.Journal.Get(id)
	if err != nil {
		return UndoResult{}, err
	}
	repeat := func(old *File) ([]byte, error) {
		if old == nil {
			return Repeat(nil, 0, r)
		}
		front := layout.Parse(old.Path, old.Data, memory.Meta{}).Front.Span
		return Repeat(old.Data, bytes.Count(old.Data[:front.End], []byte("\n")), r)
	}
	var written Written
	if dry {
		var file File
		file, err = u.Writer.Vault.Read(r.FilePath())
		if err == nil {
			_, err = repeat(&file)
		}
	} else {
		written, err = u.Writer.Write(ctx, Change{Path: r.FilePath(), Cause: r.Cause, Reason: "again, after another program removed it",
			Requested: true, Edit: repeat})
	}
	if err == nil && !dry && !written.Changed {
		err = &ConflictError{r.ID, r.FilePath(), "the file has the text already"}
	}
	return UndoResult{Record: r, By: written.ID, Err: err}, nil
}

// UndoSince is [Undoer.Undo] for all changes since a time and their groups, or with a
// function for the changes for which it returns true. Without any such change the list
// is empty.
func (u *Undoer) UndoSince(ctx context.Context, since time.Time, selects func(*journal.Record) bool,
	dry bool) []UndoResult {
	groups := map[string]bool{}
	for _, r := range u.Writer.Journal.List(since, "", 0) {
		if selects == nil || selects(&r) {
			groups[r.Group] = true
		}
	}
	return u.undoRecords(ctx, groups, dry)
}

func (u *Undoer) undoRecords(ctx context.Context, groups map[string]bool, dry bool) []UndoResult {
	all := u.Writer.Journal.List(time.Time{}, "", 0)
	records := slices.DeleteFunc(all, func(r journal.Record) bool { return !groups[r.Group] })
	p := &undoPlan{writer: u.Writer, failed: map[string]bool{}, errs: map[string]error{}}
	p.selectRecords(records)
	if !dry {
		p.apply(ctx)
	}
	return p.listResults(records)
}

type undoPlan struct {
	writer  *Writer
	records []journal.Record  // the changes to reverse, with their hunks, newest first
	failed  map[string]bool   // groups with a change that cannot be reversed
	errs    map[string]error  // the reasons, by ID
	by      map[string]string // the undoing changes, by ID; nil before apply
}

// selectRecords determines the reversible changes by reversing them in memory.
// Each change applies to the file without its later changes. selectRecords
// starts over without the groups that fail, until none fails.
func (p *undoPlan) selectRecords(records []journal.Record) {
	for {
		before := len(p.failed)
		p.records = nil
		chosen, undone, files := map[string]bool{}, map[string]bool{}, plannedFiles{p.writer.Vault, map[string][]byte{}}
		for _, r := range records {
			chosen[r.ID], undone[r.ID] = true, r.State == journal.StateUndone
		}
		for _, r := range records {
			if p.failed[r.Group] || undone[r.ID] {
				continue
			}
			whole, err := p.writer.Journal.Get(r.ID)
			if err == nil {
				err = files.reverseChange(whole)
			}
			if err != nil {
				p.failed[r.Group] = true
				if !containsAll(chosen, r.Undoes) { // otherwise the requested state is reached already
					p.errs[r.ID] = err
				}
				continue
			}
			p.records = append(p.records, whole)
			for _, id := range r.Undoes {
				undone[id] = false
			}
		}
		if len(p.failed) == before {
			return
		}
	}
}

func containsAll(set map[string]bool, ids []string) bool {
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return !set[id] })
}

// plannedFiles are files in the state that a plan gives them.
type plannedFiles struct {
	vault *Vault
	known map[string][]byte
}

func (f *plannedFiles) readFile(path string) ([]byte, error) {
	if data, ok := f.known[path]; ok {
		return data, nil
	}
	file, err := f.vault.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return file.Data, err
}

func (f *plannedFiles) reverseChange(r journal.Record) error {
	at := r.FilePath()
	data, err := f.readFile(at)
	if err == nil {
		data, err = Reverse(data, r)
	}
	if err != nil {
		return err
	}
	if r.To != "" {
		there, err := f.readFile(r.Path)
		if err != nil {
			return err
		}
		if there != nil {
			return &ConflictError{r.ID, r.Path, "another file has this name; move the other file, then retry"}
		}
	}
	f.known[at] = nil
	f.known[r.Path] = data
	return nil
}

// apply reverses the planned changes on disk. It combines the changes of one
// file where possible, so that an editor prompts its user only once.
func (p *undoPlan) apply(ctx context.Context) {
	p.by = map[string]string{}
	group := "" // shared by all changes of this undo
	for _, step := range undoSteps(p.records) {
		step = slices.DeleteFunc(step, func(r journal.Record) bool { return p.failed[r.Group] })
		if len(step) == 0 {
			continue
		}
		written, err := p.writeStep(ctx, step, group)
		if err != nil {
			for _, r := range step {
				p.failed[r.Group], p.errs[r.ID] = true, err
			}
			continue
		}
		group = cmp.Or(group, written.ID)
		for _, r := range step {
			p.by[r.ID] = written.ID
		}
	}
}

// writeStep reverses changes of one file, newest first.
func (p *undoPlan) writeStep(ctx context.Context, step []journal.Record, group string) (Written, error) {
	first := step[0]
	c := Change{
		Path: first.FilePath(), Cause: "undo", Group: group, Requested: true,
		Reason: fmt.Sprintf("%s, %s: undone", first.Cause, first.Time.UTC().Format(time.DateTime)),
		Edit: func(old *File) ([]byte, error) {
			var data []byte
			if old != nil {
				data = old.Data
			}
			for _, r := range step {
				var err error
				data, err = Reverse(data, r)
				if err != nil {
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
		return p.writer.Move(ctx, first.To, first.Path, c)
	}
	return p.writer.Write(ctx, c)
}

// listResults returns the result of each change. It omits changes that were
// undone before, and changes whose undo was reversed along with them.
func (p *undoPlan) listResults(records []journal.Record) []UndoResult {
	whole, reasons := map[string]journal.Record{}, map[string]bool{} // by ID; by group
	for _, r := range p.records {
		whole[r.ID] = r
	}
	for _, r := range records {
		reasons[r.Group] = reasons[r.Group] || p.errs[r.ID] != nil
	}
	var list []UndoResult
	for _, r := range records {
		planned, ok := whole[r.ID]
		if ok {
			r = planned
		}
		u := UndoResult{Record: r, By: p.by[r.ID], Err: p.errs[r.ID]}
		if u.By != "" {
			u.Record.State = journal.StateUndone
		}
		if u.Err == nil && u.By == "" && reasons[r.Group] && r.State != journal.StateUndone {
			u.Err = &ConflictError{r.ID, r.FilePath(), "another change of the same group cannot be undone"}
		}
		if u.Err != nil || u.By != "" || ok && p.by == nil {
			list = append(list, u)
		}
	}
	return list
}

// undoSteps divides changes, sorted newest first, into steps. A step is changes
// of one file, or one change that moved a file.
//
// The order of files matters. Text moved between files is written to the target
// before it is removed from the source, so that it always exists somewhere; an
// undo must therefore start with the last change. undoSteps merges the orders
// of all groups as far as they agree. Where they conflict, it begins a new
// sequence for the older changes.
func undoSteps(records []journal.Record) [][]journal.Record {
	var all [][]journal.Record
	w := undoBatch{}
	flush := func() {
		all = append(all, w.steps()...)
		w = undoBatch{}
	}
	for _, group := range groupRecords(records) {
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

// groupRecords returns the changes by group, the group of the newest change
// first.
func groupRecords(records []journal.Record) [][]journal.Record {
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

// An undoBatch is a sequence of changes in which those of each file are reversed
// together.
type undoBatch struct {
	paths   []string // in the order of reversal
	records []journal.Record
}

// add adds a group to the wave. It reports false if the group changed files in
// a conflicting order or moved a file.
func (w *undoBatch) add(group []journal.Record) bool {
	if slices.ContainsFunc(group, func(r journal.Record) bool { return r.To != "" }) {
		return false
	}
	paths := slices.Clone(w.paths)
	at := 0 // insertion point of the group's next file
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

func (w *undoBatch) steps() [][]journal.Record {
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
