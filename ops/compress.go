package ops

import (
	"context"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// minCutoff: what is younger may still be written to.
const minCutoff = 24 * time.Hour

// compress sums up old sessions and daily notes, which takes them out of what is
// recent.
func (m admin) compress(ctx context.Context, c Call, r *api.CompressRequest) (*api.CompressAnswer, error) {
	switch {
	case !c.Whole:
		return nil, api.Errorf(api.Forbidden, "summing up is for the owner, in private")
	case m.Compress == nil:
		return nil, api.Errorf(api.Unavailable, "nothing can be written").WithHint("status says why")
	}
	var cutoff time.Duration
	if r.Cutoff != "" {
		since, err := m.ago("cutoff", r.Cutoff)
		if err != nil {
			return nil, err
		}
		if cutoff = m.now().Sub(since); cutoff < minCutoff {
			return nil, api.Errorf(api.Invalid, "cutoff: %s is less than %s: what is still written to would go", r.Cutoff, minCutoff)
		}
	}
	if r.DryRun {
		plan, err := m.Compress.Plan(ctx, cutoff)
		return &api.CompressAnswer{Plan: convertCompressPlan(plan), Left: []api.DayStay{}, DryRun: true}, err
	}
	back, err := m.Turn.Take(ctx)
	if err != nil {
		return nil, err
	}
	defer back()
	report, err := m.Compress.Run(ctx, cutoff, true)
	if err != nil {
		return nil, tidyError(err)
	}
	return &api.CompressAnswer{
		Plan: convertCompressPlan(report.Plan), Applied: report.Applied, Left: convertEach(report.Left, convertStay),
	}, nil
}
