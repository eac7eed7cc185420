package ops

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// journal returns the recorded changes to the owner.
func (m adminOps) journal(_ context.Context, c Call, r *api.JournalRequest) (*api.JournalAnswer, error) {
	if m.Undoer == nil {
		return nil, errNoJournal
	}
	since, _, err := m.parsePeriod("since", r.Since)
	if err != nil {
		return nil, err
	}
	selected, err := c.selectWrites(r.Mine, r.By)
	if err != nil {
		return nil, err
	}
	path := strings.TrimSuffix(r.Path, "/")
	answer, differ := &api.JournalAnswer{Writes: []api.WriteRecord{}}, differ{}
	limit := r.Limit
	if selected != nil {
		limit = 0
	}
	for _, known := range m.Undoer.Writer.Journal.List(since, path, limit) {
		if selected != nil && !selected(&known) {
			continue
		}
		if len(answer.Writes) == r.Limit {
			break
		}
		whole, err := m.Undoer.Writer.Journal.Get(known.ID)
		switch {
		case errors.Is(err, journal.ErrNoRecord):
			continue // it has just expired
		case err != nil:
			w := differ.wrote(known)
			w.Problem = err.Error()
			answer.Writes = append(answer.Writes, w)
		default:
			answer.Writes = append(answer.Writes, differ.wrote(whole))
		}
	}
	return answer, nil
}

// selectWrites returns a function that reports whether a change was requested by the
// calling program in its present session, if mine is set, and by a program or session,
// if by is not empty. The function is nil if it would select all.
func (c Call) selectWrites(mine bool, by string) (func(*journal.Record) bool, error) {
	switch {
	case !mine && by == "":
		return nil, nil
	case mine && (c.program.Name == "" || c.program.Session == ""):
		return nil, api.Errorf(api.Invalid, "mine: the request names no program and session").
			WithHint("set the headers %s and %s", api.ProgramHeader, api.SessionHeader)
	}
	return func(r *journal.Record) bool {
		return (!mine || r.Program == c.program.Name && r.Session == c.program.Session) &&
			(by == "" || r.Program == by || strings.HasPrefix(r.Program, by+":") || r.Session == by)
	}, nil
}

// undo reverts recorded changes.
func (m adminOps) undo(ctx context.Context, c Call, r *api.UndoRequest) (*api.UndoAnswer, error) {
	if m.Undoer == nil {
		return nil, errNoJournal
	}
	var list []vault.UndoResult
	switch {
	case (r.ID == "") == (r.Since == ""):
		return nil, api.Errorf(api.Invalid, "set either `id` or `since`").WithHint("run `memwatchd journal` to list ids")
	case r.Again:
		u, err := m.Undoer.Again(ctx, m.Layout, r.ID, r.DryRun)
		if err != nil {
			return nil, undoError(r.ID, err)
		}
		list = []vault.UndoResult{u}
	case r.ID != "":
		var err error
		list, err = m.Undoer.Undo(ctx, r.ID, r.DryRun)
		if err != nil {
			return nil, undoError(r.ID, err)
		}
	default:
		since, _, err := m.parsePeriod("since", r.Since)
		if err != nil {
			return nil, err
		}
		selected, err := c.selectWrites(r.Mine, r.By)
		if err != nil {
			return nil, err
		}
		list = m.Undoer.UndoSince(ctx, since, selected, r.DryRun)
	}
	answer, differ := &api.UndoAnswer{Undone: []api.UndoRecord{}, DryRun: r.DryRun, Again: r.Again}, differ{}
	for _, u := range list {
		if !r.Again {
			u.Record.Hunks = reverseHunks(u.Record.Hunks)
		}
		w := api.UndoRecord{WriteRecord: differ.wrote(u.Record), By: u.By}
		if u.Err != nil {
			answer.Refused++
			w.Refusal = reasonOf(u.Err)
		}
		answer.Undone = append(answer.Undone, w)
	}
	return answer, nil
}

// errNoJournal reports that the journal cannot be opened.
var errNoJournal = api.Errorf(api.Unavailable, "the journal is unavailable").WithHint("run `memwatchd status` for the reason")

// undoError returns the error for an id that cannot be undone.
func undoError(id string, err error) error {
	conflict, undone := errors.AsType[*vault.ConflictError](err)
	switch {
	case errors.Is(err, journal.ErrNoRecord):
		return notFound("change", id).WithHint("run `memwatchd journal` to list the changes")
	case errors.Is(err, journal.ErrAmbiguous):
		return api.Errorf(api.Conflict, "more than one change has an id that starts with %q", id).
			WithHint("use a longer prefix of the id")
	case undone:
		return api.Errorf(api.Conflict, "change %s: %s", conflict.ID, conflict.Reason)
	}
	return api.Errorf(api.Unavailable, "%v", err)
}

// reasonOf returns why a change was not reverted, without details that the
// answer already contains.
func reasonOf(err error) string {
	if conflict, ok := errors.AsType[*vault.ConflictError](err); ok {
		return conflict.Reason
	}
	return err.Error()
}

// reverseHunks returns the hunks that revert a change, with line numbers of the
// changed file.
func reverseHunks(hunks []journal.Hunk) []journal.Hunk {
	moved := 0 // line offset of the changed file
	list := slices.Clone(hunks)
	for i, h := range hunks {
		list[i].Line, list[i].Old, list[i].New = h.Line+moved, h.New, h.Old
		moved += countLines(h.New) - countLines(h.Old)
	}
	return list
}

// wrote converts a record for an answer.
func (d *differ) wrote(r journal.Record) api.WriteRecord {
	w := api.WriteRecord{
		ID: r.ID, Group: r.Group, Time: r.Time, Path: r.Path, To: r.To, What: "changed",
		Cause: r.Cause, Reason: r.Reason, State: string(r.State), Undoes: r.Undoes,
		Program: r.Program, Session: r.Session, Automatic: r.Automatic, Forgotten: r.Forgotten,
	}
	switch {
	case r.To != "":
		w.What = "moved"
	case r.Before == "":
		w.What = "created"
	case r.After == "":
		w.What = "removed"
	}
	w.Hunks, w.Truncated = d.hunks(r.Hunks)
	return w
}
