package ops

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/internal/brief"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// compact plans and runs compaction. The plans contain the text of all files.
func (m adminOps) compact(ctx context.Context, c Call, r *api.CompactRequest) (*api.CompactAnswer, error) {
	if m.Compactor == nil {
		return nil, errNoWriter
	}
	if !r.DryRun {
		if err := m.Semaphore.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		defer m.Semaphore.Release(1)
	}
	answer, err := m.Compactor.Compact(ctx, compactor.Request{Path: r.Path, DryRun: r.DryRun, Explain: r.Explain,
		Requested: true, Diff: new(differ).diffFile})
	switch {
	case errors.Is(err, compactor.ErrUnlimited):
		return nil, api.Errorf(api.Invalid, "path: %q is not a long-term file with a limit", r.Path).
			WithHint("set a limit in compactor.limits")
	case err != nil:
		return nil, maintenanceError(err)
	}
	return answer, nil
}

// maintenanceError returns the error for a maintenance run that failed or stopped
// early.
func maintenanceError(err error) error {
	if p, ok := errors.AsType[*compactor.PassiveError](err); ok {
		return api.Errorf(api.Conflict, "%s maintains this memory", p.Host).
			WithHint("run the command on that machine, or set compactor.host on each machine")
	}
	return api.Errorf(api.Unavailable, "%v", err)
}

// restore moves an archived entry back to its original file.
func (m adminOps) restore(ctx context.Context, c Call, r *api.RestoreRequest) (*api.RestoreAnswer, error) {
	switch {
	case r.ID == "":
		return nil, api.Errorf(api.Invalid, "id is missing").
			WithHint("`search` with `include_archived` to find the entry")
	case m.Compactor == nil:
		return nil, errNoWriter
	}
	id := cmp.Or(m.idAt(c, r.ID), r.ID)
	doc, e, err := m.findEntry(ctx, c, id)
	if err != nil {
		return nil, err
	}
	if doc.Place.Kind != memory.Archive {
		return nil, restoreError(id, compactor.ErrNotArchived)
	}
	from, err := m.Files.Load(e.Attributes["from"])
	if err == nil && from.For(c.View) == nil { // the same answer as for a file that does not exist
		return nil, restoreError(id, compactor.ErrNotArchived)
	}
	back, err := m.Compactor.Restore(ctx, doc.Place.Path, e.ID)
	if err != nil {
		return nil, restoreError(id, err)
	}
	return back, nil
}

// idAt returns path#id for the entry at path:line, or "" if there is none.
func (m readOps) idAt(c Call, place string) string {
	path, line, _ := api.CutLines(place)
	doc, err := m.loadFile(c, path)
	if line == 0 || err != nil {
		return ""
	}
	if e := entryAtLine(c, doc, line); e != nil {
		return path + "#" + e.ID
	}
	return ""
}

// restoreError returns the error for a failed restore.
func restoreError(id string, err error) error {
	switch {
	case errors.Is(err, compactor.ErrNotArchived):
		return api.Errorf(api.Invalid, "%s is not an archived entry with a source", id)
	case errors.Is(err, vault.ErrBusy):
		return api.Errorf(api.Busy, "%v", err).WithHint("retry when the file is no longer being edited")
	}
	return writeError(err)
}

// recordUse records that entries were returned. Compaction removes rarely used
// entries first; answers do not depend on the record. Entries of folders beside the
// memory directory are not counted.
func (m readOps) recordUse(ids ...string) {
	ids = slices.DeleteFunc(ids, m.Layout.InRoot)
	if m.Used != nil && len(ids) > 0 {
		m.Used(ids, m.Now())
	}
}

// limitHints returns hints for the caller's long-term files that are nearly
// full.
func (m readOps) limitHints(c Call, lang brief.Lang) []string {
	if m.limits == nil || !c.View.Private() {
		return nil
	}
	var hints []string
	for _, doc := range m.longTerm(c) {
		if hint := m.limits.FillOf(doc).Hint(lang); hint != "" {
			hints = append(hints, hint)
		}
	}
	return hints
}

// minCutoff is the minimum age of compressed files. Younger ones may still
// change.
const minCutoff = 24 * time.Hour

// compress summarizes old sessions and daily notes and thereby removes them
// from the recent files.
func (m adminOps) compress(ctx context.Context, c Call, r *api.CompressRequest) (*api.CompressAnswer, error) {
	if m.Compress == nil {
		return nil, errNoWriter
	}
	var cutoff time.Duration
	if r.Cutoff != "" {
		since, _, err := m.parsePeriod("cutoff", r.Cutoff)
		if err != nil {
			return nil, err
		}
		cutoff = m.Now().Sub(since)
		if cutoff < minCutoff {
			return nil, api.Errorf(api.Invalid, "cutoff: %s is less than %s, and would archive files that are "+
				"still in use",
				r.Cutoff, minCutoff)
		}
	}
	if r.DryRun {
		plan, err := m.Compress.Plan(ctx, cutoff)
		return &api.CompressAnswer{Plan: plan, Left: []api.DayStay{}, DryRun: true}, err
	}
	if err := m.Semaphore.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer m.Semaphore.Release(1)
	answer, err := m.Compress.Run(ctx, cutoff, true)
	if err != nil {
		return nil, maintenanceError(err)
	}
	return answer, nil
}
