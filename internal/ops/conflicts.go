package ops

import (
	"context"
	"errors"
	"io/fs"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// conflicts lists the conflict copies to the owner, and with a path the effect of
// their merges.
func (m adminOps) conflicts(_ context.Context, _ Call, r *api.ConflictsRequest) (*api.ConflictsAnswer, error) {
	paths, err := m.copiesAt(r.Path)
	if err != nil {
		return nil, err
	}
	answer := &api.ConflictsAnswer{Copies: []api.ConflictCopy{}}
	for _, path := range paths {
		c, _ := m.planMerge(path, r.Path != "", nil)
		answer.Copies = append(answer.Copies, c)
	}
	return answer, nil
}

var keepNames = map[string]memory.Keep{"file": memory.KeepOurs, "copy": memory.KeepTheirs, "both": memory.KeepBoth}

// conflictsMerge merges conflict copies into their files.
func (m adminOps) conflictsMerge(ctx context.Context, _ Call,
	r *api.ConflictsMergeRequest) (*api.ConflictsAnswer, error) {
	paths, err := m.copiesAt(r.Path)
	if err != nil {
		return nil, err
	}
	var keep *memory.Keep
	resolution, ok := keepNames[r.Keep]
	if ok {
		keep = &resolution
	}
	answer := &api.ConflictsAnswer{Copies: []api.ConflictCopy{}, DryRun: r.DryRun}
	for _, path := range paths {
		c, plan := m.planMerge(path, r.DryRun, keep)
		if plan != nil && !r.DryRun {
			written, err := m.Merger.Apply(ctx, plan, keep)
			c.Change = written.ID
			switch {
			case errors.Is(err, memory.ErrWhole):
				c.Problem = err.Error()
			case err != nil:
				c.Problem = asError(writeError(err)).Message
			case keep == nil && c.Conflicts > 0: // they wait for a decision
			default:
				c.Merged, c.Problem = true, ""
			}
		}
		answer.Copies = append(answer.Copies, c)
	}
	return answer, nil
}

// copiesAt returns the conflict copies at a path, of the file at the path, or all of
// them if the path is empty, sorted by path.
func (m adminOps) copiesAt(path string) (paths []string, err error) {
	for _, p := range m.Merger.Writer.Vault.Catalogue.Files() {
		of, ok := memory.CopyOf(p)
		if ok && (path == "" || path == p || path == of) {
			paths = append(paths, p)
		}
	}
	if path != "" && len(paths) == 0 {
		return nil, notFound("conflict copy", path).WithHint("run `memwatchd conflicts list` to list them")
	}
	return paths, nil
}

// planMerge describes the merge of a conflict copy, with details the entries that
// both versions changed and the difference with a treatment of conflicts. The plan is nil
// if the copy cannot be merged now.
func (m adminOps) planMerge(path string, details bool, keep *memory.Keep) (api.ConflictCopy, *vault.CopyMerge) {
	of, _ := memory.CopyOf(path)
	c := api.ConflictCopy{Path: path, File: of}
	plan, err := m.Merger.Plan(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.Problem = "the conflict copy is gone"
		return c, nil
	case err != nil:
		c.Problem = err.Error()
		return c, nil
	}
	c.Added, c.Changed, c.Removed, c.Base = plan.Added, plan.Changed, plan.Removed, plan.Base
	c.Conflicts, c.Whole = len(plan.Conflicts), plan.Whole
	merged, err := plan.Result(keep)
	switch {
	case err != nil:
		c.Problem = err.Error()
	case c.Conflicts > 0 && keep == nil:
		c.Problem = "both versions changed an entry; set keep to file, copy or both"
	}
	if !details {
		return c, plan
	}
	for _, both := range plan.Conflicts {
		c.Both = append(c.Both, api.ConflictEntry{Base: both.Base, File: both.Ours, Copy: both.Theirs})
	}
	if err == nil {
		diff := Diff(of, plan.File.Data, merged)
		c.Diff, c.Truncated = diff.Hunks, diff.Truncated
	}
	return c, plan
}
