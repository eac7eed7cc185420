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

// An Undoer reverses changes. An undo is a change like any other: it is in the
// journal and can be undone.
type Undoer struct{ Writer *Writer }

// An UndoResult is the result of undoing one change.
type UndoResult struct {
	Record journal.Record // the change
	By     string         // ID of the change that undid it, or ""
	Err    error          // why the change cannot be undone
}

// Undo reverses the change with the given ID, or unique prefix of an ID, and
// all changes of its group. The error is one of [journal.Journal.Get], or a
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
func (u *Undoer) Again(ctx context.Context, id string, dry bool) (UndoResult, error) {
	r, before, after, err := u.contents(id)
	if err != nil {
		return UndoResult{}, err
	}
	repeat := func(now []byte) ([]byte, error) { return Repeat(now, r, before, after) }
	by, err := u.merge(ctx, dry, Change{Path: r.FilePath(), Cause: r.Cause,
		Reason: "again, after another program removed it"}, repeat)
	if err == nil && !dry && by == "" {
		err = &ConflictError{r.ID, r.FilePath(), "the file has the text already"}
	}
	return UndoResult{Record: r, By: by, Err: err}, nil
}

// Restore gives a file the content that it had before the change with the given ID,
// which is one of those of the path. Later changes stay, except for those that overlap
// the change and the ones before them.
func (u *Undoer) Restore(ctx context.Context, path, id string, dry bool) (UndoResult, error) {
	r, before, _, err := u.contents(id)
	if err == nil && r.FilePath() != path {
		err = fmt.Errorf("journal %q: %w", id, journal.ErrNoRecord)
	}
	if err != nil {
		return UndoResult{}, err
	}
	later := u.Writer.Journal.ListAll(r.Time, path, 0)
	slices.Reverse(later)
	later = later[max(0, slices.IndexFunc(later, func(l journal.Record) bool { return l.ID == r.ID })):]
	result := UndoResult{Record: r}
	result.By, result.Err = u.merge(ctx, dry, Change{Path: path, Cause: "undo", Reason: "version " + r.ID + " restored"},
		func(now []byte) (text []byte, err error) {
			switch {
			case before == nil:
				return nil, &ConflictError{r.ID, path, "this change created the file"}
			case now == nil:
				return before, nil
			}
			for _, l := range later {
				if _, after, contentErr := u.Writer.Journal.Contents(l); contentErr == nil {
					l.Before, l.Forgotten = r.Before, l.Forgotten || r.Forgotten
					text, err = Reverse(now, l, before, after)
					if err == nil {
						break
					}
				} else if err == nil {
					err = contentErr
				}
			}
			return text, err
		})
	return result, nil
}

// contents returns the change with the given ID, and the contents before and after it.
func (u *Undoer) contents(id string) (r journal.Record, before, after []byte, err error) {
	r, err = u.Writer.Journal.Get(id)
	if err == nil {
		before, after, err = u.Writer.Journal.Contents(r)
	}
	return r, before, after, err
}

// merge writes a merge of the present content of a file, and returns the ID of the change.
// If dry is true, it only computes the merge.
func (u *Undoer) merge(ctx context.Context, dry bool, c Change, text func(now []byte) ([]byte, error)) (string, error) {
	if dry {
		now, err := (&plannedFiles{u.Writer, nil}).readFile(c.Path)
		if err == nil {
			_, err = text(now)
		}
		return "", err
	}
	c.Requested = true
	c.Edit = func(old *File) ([]byte, error) {
		var now []byte
		if old != nil {
			now = old.Data
		}
		data, err := text(now)
		if err == nil && data == nil && old != nil {
			err = ErrRemove
		}
		return data, err
	}
	written, err := u.Writer.Write(ctx, c)
	return written.ID, err
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
	all := u.Writer.Journal.ListAll(time.Time{}, "", 0)
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
	records []journal.Record  // the changes to reverse, newest first
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
		chosen, undone, files := map[string]bool{}, map[string]bool{}, plannedFiles{p.writer, map[string][]byte{}}
		for _, r := range records {
			chosen[r.ID], undone[r.ID] = true, r.State == journal.StateUndone
		}
		for _, r := range records {
			if p.failed[r.Group] || undone[r.ID] {
				continue
			}
			if err := files.reverseChange(r); err != nil {
				p.failed[r.Group] = true
				if !containsAll(chosen, r.Undoes) { // otherwise the requested state is reached already
					p.errs[r.ID] = err
				}
				continue
			}
			p.records = append(p.records, r)
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
	*Writer
	known map[string][]byte
}

func (f *plannedFiles) readFile(path string) ([]byte, error) {
	if data, ok := f.known[path]; ok {
		return data, nil
	}
	file, err := f.Vault.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return file.Data, err
}

func (f *plannedFiles) reverseChange(r journal.Record) error {
	at := r.FilePath()
	data, err := f.readFile(at)
	if err == nil {
		data, err = f.reverse(data, r)
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

// reverse is [Reverse] with the contents in the journal.
func (w *Writer) reverse(now []byte, r journal.Record) ([]byte, error) {
	before, after, err := w.Journal.Contents(r)
	if err != nil {
		return nil, err
	}
	return Reverse(now, r, before, after)
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
				data, err = p.writer.reverse(data, r)
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
	planned, reasons := map[string]bool{}, map[string]bool{} // by ID; by group
	for _, r := range p.records {
		planned[r.ID] = true
	}
	for _, r := range records {
		reasons[r.Group] = reasons[r.Group] || p.errs[r.ID] != nil
	}
	var list []UndoResult
	for _, r := range records {
		u := UndoResult{Record: r, By: p.by[r.ID], Err: p.errs[r.ID]}
		if u.By != "" {
			u.Record.State = journal.StateUndone
		}
		if u.Err == nil && u.By == "" && reasons[r.Group] && r.State != journal.StateUndone {
			u.Err = &ConflictError{r.ID, r.FilePath(), "another change of the same group cannot be undone"}
		}
		if u.Err != nil || u.By != "" || planned[r.ID] && p.by == nil {
			list = append(list, u)
		}
	}
	return list
}

// undoSteps divides changes, sorted newest first, into steps. A step is changes of one
// file, or one change that moved a file.
//
// Text moved between files is written to the target before it is removed from the source,
// so the file whose oldest change is the newest comes first: then the text always exists
// somewhere.
func undoSteps(records []journal.Record) (steps [][]journal.Record) {
	from := 0 // the first step after the last move
	sortSteps := func() {
		slices.SortStableFunc(steps[from:], func(a, b []journal.Record) int {
			return cmp.Compare(b[len(b)-1].ID, a[len(a)-1].ID)
		})
		from = len(steps)
	}
	for _, r := range records {
		if r.To != "" {
			sortSteps()
			steps, from = append(steps, []journal.Record{r}), len(steps)+1
			continue
		}
		i := slices.IndexFunc(steps[from:], func(step []journal.Record) bool { return step[0].Path == r.Path })
		if i < 0 {
			steps = append(steps, []journal.Record{r})
		} else {
			steps[from+i] = append(steps[from+i], r)
		}
	}
	sortSteps()
	return steps
}
