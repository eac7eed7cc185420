package vault

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/memory"
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

// Again makes the change with the given ID again, if another program removed its text: it
// reverses the inverse change.
func (u *Undoer) Again(ctx context.Context, id string, dry bool) (UndoResult, error) {
	r, before, after, err := u.contents(id)
	if err != nil {
		return UndoResult{}, err
	}
	if r.To != "" || r.After == "" {
		return UndoResult{Record: r, Err: &ConflictError{r.ID, r.FilePath(),
			"the change moved or removed the file"}}, nil
	}
	inverse := r
	inverse.Before, inverse.After = r.After, r.Before
	if before == nil {
		before = scaffold(after)
	}
	result := UndoResult{Record: r}
	result.By, result.Err = u.merge(ctx, dry, Change{Path: r.FilePath(), Cause: r.Cause,
		Reason: "again, after another program removed it"}, func(now []byte) ([]byte, error) {
		if hasText(now, before, after) {
			return nil, &ConflictError{r.ID, r.FilePath(), "the file has the text already"}
		}
		if now != nil { // another program may have made the file since
			inverse.After = journal.Digest(before)
		}
		text, err := reverse(now, inverse, after, before)
		conflict, ok := errors.AsType[*ConflictError](err)
		if ok && (conflict.Reason == isReversed || conflict.Reason == isGone) {
			conflict.Reason = "the file has the text already"
		}
		return text, err
	})
	return result, nil
}

// hasText reports whether a file contains the entries that a change from before to after wrote,
// wherever they stand.
func hasText(now, before, after []byte) bool {
	parse := func(text []byte) *memory.Document { return new(memory.Layout).Parse("", text, memory.Meta{}) }
	words, count := parse(now).Words(), 0
	for _, h := range diff.Hunks(before, after) {
		for _, e := range parse(h.New).Entries {
			count++
			if !strings.Contains(words, e.Words()) {
				return false
			}
		}
	}
	return count > 0
}

// hasLines reports whether a file contains the lines that a change from before to after wrote.
func hasLines(now, before, after []byte) bool {
	lines, count := make(map[string]bool), 0
	for _, line := range diff.SplitLines(now) {
		lines[strings.TrimSpace(line)] = true
	}
	for _, h := range diff.Hunks(before, after) {
		for _, line := range diff.SplitLines(h.New) {
			line = strings.TrimSpace(line)
			if line != "" && !lines[line] {
				return false
			}
			count += len(line)
		}
	}
	return count > 0
}

// Restore gives a file the content that it had before the change with the given ID,
// which is one of those of the path. Later changes stay, except for those that overlap
// the change and the ones before them.
func (u *Undoer) Restore(ctx context.Context, path, id string, dry bool) (UndoResult, error) {
	r, err := u.Writer.Journal.Get(id)
	if err == nil && r.FilePath() != path {
		err = fmt.Errorf("journal %q: %w", id, journal.ErrNoRecord)
	}
	var before []byte
	if err == nil {
		before, err = u.Writer.Journal.Version(r.Before)
	}
	if err != nil {
		return UndoResult{}, err
	}
	later := u.Writer.Journal.ListAll(r.Time, path, 0)
	slices.Reverse(later)
	later = later[max(0, slices.IndexFunc(later, func(l journal.Record) bool { return l.ID == r.ID })):]
	result := UndoResult{Record: r}
	result.By, result.Err = u.merge(ctx, dry,
		Change{Path: path, Cause: "undo", Reason: "version " + r.ID + " restored"},
		func(now []byte) (text []byte, err error) {
			switch {
			case before == nil:
				return nil, &ConflictError{r.ID, path, "this change created the file"}
			case now == nil:
				return before, nil
			}
			present := &ConflictError{r.ID, path, "the file already has the text of this version"}
			if after, err := u.Writer.Journal.Version(r.After); err == nil && hasLines(now, after, before) {
				return nil, present // which a merge would add again
			}
			for _, l := range later {
				if after, contentErr := u.Writer.Journal.Version(l.After); contentErr == nil {
					l.Before, l.Forgotten = r.Before, false // that the text before it is gone does not matter
					text, err = reverse(now, l, before, after)
					if err == nil {
						break
					}
				} else if err == nil {
					err = contentErr
				}
			}
			if err == nil && bytes.Equal(text, now) {
				err = present
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
		now, err := u.Writer.readIfPresent(c.Path)
		if err == nil {
			_, err = text(now)
		}
		return "", err
	}
	c.Requested, c.Edit = true, editContent(text)
	written, err := u.Writer.Write(ctx, c)
	return written.ID, err
}

// editContent returns an edit by a function of contents, of which nil means that there is no
// file.
func editContent(text func(now []byte) ([]byte, error)) func(*File) ([]byte, error) {
	return func(old *File) ([]byte, error) {
		if old == nil {
			return text(nil)
		}
		data, err := text(old.Data)
		if err == nil && data == nil {
			err = ErrRemove
		}
		return data, err
	}
}

// readIfPresent returns the content of a file, or nil if there is none.
func (w *Writer) readIfPresent(path string) ([]byte, error) {
	file, err := w.Vault.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return file.Data, err
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
	p := &undoPlan{writer: u.Writer, failed: map[string]bool{}, errs: map[string]error{}, by: map[string]string{}}
	for before := -1; len(p.failed) > before; { // each change applies to the file without its later changes
		before = len(p.failed)
		p.selectRecords(records)
	}
	if !dry {
		p.apply(ctx)
	}
	return p.listResults(records, dry)
}

type undoPlan struct {
	writer  *Writer
	records []journal.Record  // the changes to reverse, newest first
	failed  map[string]bool   // groups with a change that cannot be reversed
	errs    map[string]error  // the reasons, by ID
	by      map[string]string // the undoing changes, by ID
	files   map[string][]byte // contents as planned
}

// selectRecords determines the reversible changes by reversing them in memory. A change that
// is undone, and an undo of selected changes, have no effect together, so both stay.
func (p *undoPlan) selectRecords(records []journal.Record) {
	p.records, p.files = nil, map[string][]byte{}
	chosen, undone := map[string]bool{}, map[string]bool{}
	for _, r := range records {
		chosen[r.ID], undone[r.ID] = true, r.State == journal.StateUndone
	}
	for _, r := range records {
		cancels := len(r.Undoes) > 0 && !slices.ContainsFunc(r.Undoes, func(id string) bool { return !chosen[id] })
		if p.failed[r.Group] || undone[r.ID] || cancels {
			continue
		}
		if err := p.reverseChange(r); err != nil {
			p.failed[r.Group], p.errs[r.ID] = true, err
			continue
		}
		p.records = append(p.records, r)
		for _, id := range r.Undoes {
			undone[id] = false
		}
	}
}

func (p *undoPlan) readFile(path string) ([]byte, error) {
	if data, ok := p.files[path]; ok {
		return data, nil
	}
	return p.writer.readIfPresent(path)
}

// reverseChange reverses a change in memory. On an error, the files of the plan stay as they
// are.
func (p *undoPlan) reverseChange(r journal.Record) error {
	at := r.FilePath()
	data, err := p.readFile(at)
	if err == nil {
		data, err = p.writer.reverse(data, r)
	}
	if err == nil && r.To != "" {
		var there []byte
		there, err = p.readFile(r.Path)
		if there != nil {
			err = &ConflictError{r.ID, r.Path, "another file has this name; move the other file, then retry"}
		}
	}
	if err == nil {
		p.files[at] = nil
		p.files[r.Path] = data
	}
	return err
}

// reverse is [Reverse] with the contents in the journal.
func (w *Writer) reverse(now []byte, r journal.Record) ([]byte, error) {
	before, after, err := w.Journal.Contents(r)
	if err != nil {
		return nil, err
	}
	return reverse(now, r, before, after)
}

// apply reverses the planned changes on disk, newest first, so that text moved between files
// always exists somewhere. Successive changes of one file are reversed by one change.
func (p *undoPlan) apply(ctx context.Context) {
	group := "" // shared by all changes of this undo
	for rest := p.records; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[0].To == "" && rest[n].To == "" && rest[n].Path == rest[0].Path {
			n++
		}
		step := slices.DeleteFunc(slices.Clone(rest[:n]), func(r journal.Record) bool { return p.failed[r.Group] })
		rest = rest[n:]
		if len(step) == 0 {
			continue
		}
		written, err := p.writeStep(ctx, step, group)
		group = cmp.Or(group, written.ID)
		for _, r := range step {
			if err != nil {
				p.failed[r.Group], p.errs[r.ID] = true, err
			} else {
				p.by[r.ID] = written.ID
			}
		}
	}
}

// writeStep reverses changes of one file, newest first.
func (p *undoPlan) writeStep(ctx context.Context, step []journal.Record, group string) (Written, error) {
	first := step[0]
	c := Change{
		Path: first.FilePath(), Cause: "undo", Group: group, Requested: true,
		Reason: fmt.Sprintf("%s, %s: undone", first.Cause, first.Time.UTC().Format(time.DateTime)),
		Edit: editContent(func(data []byte) (_ []byte, err error) {
			for _, r := range step {
				data, err = p.writer.reverse(data, r)
				if err != nil {
					return nil, err
				}
			}
			return data, nil
		}),
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

// listResults returns the result of each change. It omits changes without effect.
func (p *undoPlan) listResults(records []journal.Record, dry bool) (list []UndoResult) {
	for _, r := range records {
		u := UndoResult{Record: r, By: p.by[r.ID], Err: p.errs[r.ID]}
		if u.By != "" {
			u.Record.State = journal.StateUndone
		} else if u.Err == nil && p.failed[r.Group] && r.State != journal.StateUndone {
			u.Err = &ConflictError{r.ID, r.FilePath(), "another change of the same group cannot be undone"}
		}
		planned := func(q journal.Record) bool { return q.ID == r.ID }
		if u.Err != nil || u.By != "" || dry && slices.ContainsFunc(p.records, planned) {
			list = append(list, u)
		}
	}
	return list
}

// A ConflictError reports that a change cannot be undone because the text that
// it wrote has changed.
type ConflictError struct {
	ID     string // of the change
	Path   string
	Reason string
}

func (e *ConflictError) Error() string { return fmt.Sprintf("undo %s: %s: %s", e.ID, e.Path, e.Reason) }

// Reasons of conflicts that mean that the file lacks the text to be removed.
const (
	isReversed = "the file already has its earlier content"
	isGone     = "the text of this change was removed or moved afterwards"
)

// reverse returns the content of a file after a change from before to after is reversed
// completely. now is the present content; nil content means that there is no file. The
// error is a [*ConflictError].
//
// If the change was the last one, the result is byte for byte the file before the
// change. Otherwise it is a merge: what others changed since stays, and may not overlap
// the change. If others added text to a file that the change created, the file
// stays, with its frontmatter and headings.
func reverse(now []byte, r journal.Record, before, after []byte) ([]byte, error) {
	conflict := func(format string, args ...any) error {
		return &ConflictError{r.ID, r.FilePath(), fmt.Sprintf(format, args...)}
	}
	digest := journal.Digest(now)
	switch {
	case r.Forgotten:
		return nil, conflict("a version of the file before or after this change was forgotten")
	case digest == r.After:
		return before, nil
	case r.To != "" && r.Before == r.After && now != nil:
		return now, nil // a move
	case digest == r.Before:
		return nil, conflict(isReversed)
	case now == nil:
		return nil, conflict("the file is missing; restore the file, then retry")
	case r.After == "":
		return nil, conflict("a new file exists at this path; move the new file, then retry")
	case r.Before == "":
		before = scaffold(after)
	}
	merged, line := diff.MergeText(after, now, before, frontLines(after))
	switch {
	case line > 0:
		return nil, conflict("line %d: the line was changed afterwards", line)
	case bytes.Equal(merged, now):
		return nil, conflict(isGone)
	}
	return merged, nil
}

// frontLines returns the number of lines of the frontmatter.
func frontLines(text []byte) int {
	for i, line := range diff.SplitLines(text) {
		switch fence := strings.TrimRight(line, "\r\n") == "---"; {
		case i == 0 && !fence:
			return 0
		case i > 0 && fence:
			return i + 1
		}
	}
	return 0
}

// scaffold returns the frontmatter, the headings and the blank lines of a file.
func scaffold(text []byte) (kept []byte) {
	doc, headings := new(memory.Layout).Parse("", text, memory.Meta{}), map[int]bool{} // by line from 1
	for _, h := range doc.Headings {
		headings[h.Line], headings[h.EndLine] = true, true
	}
	for _, e := range doc.Entries {
		headings[e.Line] = headings[e.Line] || e.Block == memory.EmptyHeading
	}
	front := frontLines(text)
	for i, line := range diff.SplitLines(text) {
		if i < front || headings[i+1] || strings.TrimSpace(line) == "" {
			kept = append(kept, line...)
		}
	}
	return kept
}
