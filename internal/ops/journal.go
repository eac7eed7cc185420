package ops

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// journal returns the recorded changes to the owner.
func (m adminOps) journal(ctx context.Context, c Call, r *api.JournalRequest) (*api.JournalAnswer, error) {
	since, selected, err := m.selectWrites(c, r.Since, r.Mine, r.By)
	switch {
	case err != nil:
		return nil, err
	case r.Injected:
		return &api.JournalAnswer{Writes: []api.WriteRecord{},
			Injected: m.listInjected(ctx, c, since, selected, r.Limit)}, nil
	}
	path := strings.TrimSuffix(r.Path, "/")
	answer, differ := &api.JournalAnswer{Writes: []api.WriteRecord{}}, differ{}
	limit := r.Limit
	if selected != nil {
		limit = 0
	}
	for _, known := range m.Undoer.Writer.Journal.ListAll(since, path, limit) {
		if selected != nil && !selected(&known) {
			continue
		}
		if len(answer.Writes) == r.Limit {
			break
		}
		answer.Writes = append(answer.Writes, m.recorded(&differ, known, false))
	}
	return answer, nil
}

// selectWrites returns the start of a period and a function that reports whether a change
// was requested by the calling program in its present session, if mine is set, and by a
// program or session, if by is not empty. The function is nil if it would select all.
func (m readOps) selectWrites(c Call, period string, mine bool, by string) (since time.Time,
	selected func(*journal.Record) bool, err error) {
	since, _, err = m.parsePeriod("since", period)
	switch {
	case err != nil, !mine && by == "":
		return since, nil, err
	case mine && (c.program.Name == "" || c.program.Session == ""):
		return since, nil, api.Errorf(api.Invalid, "mine: the request names no program and session").
			WithHint("set the headers %s and %s", api.ProgramHeader, api.SessionHeader)
	}
	return since, func(r *journal.Record) bool {
		return (!mine || r.Program == c.program.Name && r.Session == c.program.Session) &&
			(by == "" || r.Program == by || strings.HasPrefix(r.Program, by+":") || r.Session == by)
	}, nil
}

// undo reverts recorded changes.
func (m adminOps) undo(ctx context.Context, c Call, r *api.UndoRequest) (*api.UndoAnswer, error) {
	var list []vault.UndoResult
	var u vault.UndoResult
	var err error
	path, id, named := cutVersion(r.ID)
	switch {
	case (r.ID == "") == (r.Since == ""):
		return nil, api.Errorf(api.Invalid, "set either `id` or `since`").
			WithHint("run `memwatchd journal` to list ids")
	case r.Since != "":
		since, selected, err := m.selectWrites(c, r.Since, r.Mine, r.By)
		if err != nil {
			return nil, err
		}
		list = m.Undoer.UndoSince(ctx, since, selected, r.DryRun)
	case r.Again:
		u, err = m.Undoer.Again(ctx, r.ID, r.DryRun)
		list = []vault.UndoResult{u}
	case named:
		u, err = m.Undoer.Restore(ctx, path, id, r.DryRun)
		list = []vault.UndoResult{u}
	default:
		list, err = m.Undoer.Undo(ctx, r.ID, r.DryRun)
	}
	if err != nil {
		return nil, undoError(r.ID, err)
	}
	answer, differ := &api.UndoAnswer{Undone: []api.UndoRecord{}, DryRun: r.DryRun, Again: r.Again}, differ{}
	for _, u := range list {
		w := api.UndoRecord{WriteRecord: m.recorded(&differ, u.Record, !r.Again), By: u.By}
		if u.Err != nil {
			answer.Refused++
			w.Refusal = reasonOf(u.Err)
		}
		answer.Undone = append(answer.Undone, w)
	}
	return answer, nil
}

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

// recorded converts a change for an answer, with its differences or, if reverse is set, those of its
// reversal.
func (m adminOps) recorded(d *differ, r journal.Record, reverse bool) api.WriteRecord {
	w := writeRecord(r)
	before, after, err := m.Undoer.Writer.Journal.Contents(r)
	if err != nil {
		w.Problem = err.Error()
	}
	if reverse {
		before, after = after, before
	}
	w.Hunks, w.Truncated = d.hunks(before, after)
	return w
}

// writeRecord converts a record for an answer, without differences.
func writeRecord(r journal.Record) api.WriteRecord {
	w := api.WriteRecord{
		ID: r.ID, Group: r.Group, Time: r.Time, Path: r.Path, To: r.To, What: "changed",
		Cause: r.Cause, Reason: r.Reason, State: string(r.State), Undoes: r.Undoes,
		Program: r.Program, Session: r.Session, Automatic: r.Automatic, External: r.External, Forgotten: r.Forgotten,
	}
	switch {
	case r.To != "":
		w.What = "moved"
	case r.Before == "":
		w.What = "created"
	case r.After == "":
		w.What = "removed"
	}
	return w
}

// history returns the earlier versions of a file to the owner, or the text of one.
func (m adminOps) history(ctx context.Context, c Call, r *api.HistoryRequest) (*api.HistoryAnswer, error) {
	if r.Path == "" {
		return nil, api.Errorf(api.Invalid, "path is missing").WithHint("set `path` to the path of a file, or FILE@VERSION")
	}
	if err := m.syncIndex(ctx, &c); err != nil {
		return nil, err
	}
	records := m.Undoer.Writer.Journal
	path, id, named := cutVersion(r.Path)
	m.RecordHistory(ctx, path)
	answer := &api.HistoryAnswer{Path: path, Versions: []api.FileVersion{}}
	if named {
		record, err := records.Get(id)
		if err != nil || record.FilePath() != path {
			return nil, notFound("version", r.Path).WithHint("run `memwatchd history %s` to list the versions", path)
		}
		text, err := records.Version(record.Before)
		if err != nil {
			return nil, api.Errorf(api.NotFound, "version %s: %v", r.Path, err)
		}
		answer.Versions, answer.Text = append(answer.Versions, fileVersion(record, text)), string(text)
		return answer, nil
	}
	for _, record := range records.ListAll(time.Time{}, path, 0) {
		if text, err := records.Version(record.Before); err == nil && text != nil && record.FilePath() == path {
			answer.Versions = append(answer.Versions, fileVersion(record, text))
		}
		if len(answer.Versions) == r.Limit {
			break
		}
	}
	return answer, nil
}

// cutVersion splits FILE@VERSION, and reports whether there is a version.
func cutVersion(name string) (path, id string, named bool) {
	if i := strings.LastIndexByte(name, '@'); i > 0 && journal.IsID(name[i+1:]) {
		return name[:i], name[i+1:], true
	}
	return name, "", false
}

func fileVersion(r journal.Record, text []byte) api.FileVersion {
	return api.FileVersion{Version: r.ID, Replaced: r.Time, Cause: r.Cause, Program: r.Program, External: r.External,
		Bytes: len(text), Lines: len(diff.SplitLines(text))}
}
