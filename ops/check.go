package ops

import (
	"context"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
	"github.com/memwatchd/memwatchd/vault"
)

// check compares files and index. With Fix it also repairs the differences and
// then returns the remaining ones.
func (m writeOps) check(ctx context.Context, c Call, r *api.CheckRequest) (*api.CheckAnswer, error) {
	answer, err := m.Indexer.Check(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	if r.Fix {
		f := fix{m: m}
		f.repairCounters(ctx, answer.Problems)
		f.repairIndex(ctx, answer.Differing)
		if len(f.repaired) > 0 {
			if err := m.Indexer.Sync(ctx); err != nil {
				return nil, api.Errorf(api.Unavailable, "some corrected files are not indexed yet").
					WithHint("run `memwatchd check` again")
			}
			answer, err = m.Indexer.Check(ctx, r.Path)
			if err != nil {
				return nil, err
			}
		}
		answer.Repaired, answer.Refused = f.repaired, f.refused
	}
	missing, err := m.missingEvidence(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	answer.Problems = append(answer.Problems, missing...)
	sortProblems(answer.Problems)
	answer.TookMS = c.took()
	return answer, nil
}

// A fix repairs the problems that a check found.
type fix struct {
	m        writeOps
	group    string // of the repairs that were written
	repaired []api.Skipped
	refused  []api.Skipped
}

// repairCounters rewrites incorrect counters and nothing else in a file.
func (f *fix) repairCounters(ctx context.Context, problems []api.FileProblem) {
	last := ""
	for _, p := range problems { // in path order
		if p.Code != memory.CounterWrong || p.Path == last {
			continue
		}
		last = p.Path
		if f.m.Writer == nil {
			f.refused = append(f.refused, api.Skipped{Path: p.Path, Reason: "the daemon cannot write files; run `memwatchd status` for the reason"})
			continue
		}
		written, err := todosync.MendCounters(ctx, f.m.Writer, f.m.Parse,
			vault.Change{Path: p.Path, Cause: "check", Group: f.group, Requested: true})
		switch {
		case err != nil:
			f.refused = append(f.refused, api.Skipped{Path: p.Path, Reason: err.Error()})
		case written.Changed:
			f.repaired = append(f.repaired, api.Skipped{Path: p.Path, Reason: "counters corrected"})
			if f.group == "" {
				f.group = written.ID
			}
		}
	}
}

// repairIndex reindexes the differing files.
func (f *fix) repairIndex(ctx context.Context, differing []api.Skipped) {
	var paths []string
	for _, d := range differing {
		paths = append(paths, d.Path)
	}
	if len(paths) == 0 {
		return
	}
	if err := f.m.Indexer.Reindex(ctx, paths); err != nil {
		for _, p := range paths {
			f.refused = append(f.refused, api.Skipped{Path: p, Reason: err.Error()})
		}
		return
	}
	for _, d := range differing {
		f.repaired = append(f.repaired, api.Skipped{Path: d.Path, Reason: "reindexed: the file " + d.Reason})
	}
}
