package ipc

import (
	"context"
	"time"

	"github.com/memwatchd/memwatchd/compactor"
)

// CompressRequest asks to sum up old sessions and daily notes.
type CompressRequest struct {
	Cutoff string `json:"cutoff" doc:"how old they are, such as 48h or 30d; as configured if empty"`
	DryRun bool   `json:"dry_run" doc:"tell what would be summed up and archived, and write nothing"`
	Scope
}

// CompressAnswer says what is summed up and archived, and what came of it.
type CompressAnswer struct {
	compactor.CompressReport
	DryRun bool `json:"dry_run"`

	Redaction
}

// minCutoff: what is younger may still be written to.
const minCutoff = 24 * time.Hour

// compress sums up old sessions and daily notes, which takes them out of what is
// recent.
func (m *Memory) compress(ctx context.Context, c Call, r *CompressRequest) (*CompressAnswer, error) {
	switch {
	case !c.Whole:
		return nil, Errorf(Forbidden, "summing up is for the owner, in private")
	case m.Compress == nil:
		return nil, Errorf(Unavailable, "nothing can be written").hint("status says why")
	}
	var cutoff time.Duration
	if r.Cutoff != "" {
		since, err := m.ago("cutoff", r.Cutoff)
		if err != nil {
			return nil, err
		}
		if cutoff = m.now().Sub(since); cutoff < minCutoff {
			return nil, Errorf(Invalid, "cutoff: %s is less than %s: what is still written to would go", r.Cutoff, minCutoff)
		}
	}
	if r.DryRun {
		plan, err := m.Compress.Plan(ctx, cutoff)
		return &CompressAnswer{CompressReport: compactor.CompressReport{Plan: plan, Left: []compactor.DayStay{}}, DryRun: true}, err
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
	return &CompressAnswer{CompressReport: *report}, nil
}
