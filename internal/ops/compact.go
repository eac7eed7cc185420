package ops

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/internal/brief"
)

// compact plans and runs compaction. The plans contain the text of all files.
func (m adminOps) compact(ctx context.Context, c Call, r *api.CompactRequest) (*api.CompactAnswer, error) {
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
