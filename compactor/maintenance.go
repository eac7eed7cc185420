package compactor

import (
	"context"
	"errors"
	"log/slog"

	"github.com/memwatchd/memwatchd/api"
)

// Maintenance runs the nightly tasks in order. A machine that is not on duty
// runs none.
type Maintenance struct {
	Host      *Host
	Compactor *Compactor
	Compress  *Compress // nil disables summaries of old days
	Days      *OldDays  // nil disables archiving of old days
	Logger    *slog.Logger

	Enabled  bool                        // files may be changed without a request
	Counters func(context.Context) error // corrects counters in frontmatter
}

// Run runs all tasks once. A failed task does not stop the others; Run returns
// the joined errors. If maintenance is disabled or another machine runs it, Run does
// nothing.
func (m *Maintenance) Run(ctx context.Context) error {
	if !m.Enabled {
		return nil
	}
	duty, err := m.Host.Duty()
	if err != nil {
		return err
	}
	if !duty.Active {
		m.Logger.Info("another machine runs maintenance", "host", duty.Host)
		return nil
	}
	_, err = m.Compactor.Compact(ctx, Request{})
	errs := []error{err, m.Counters(ctx)}
	if m.Compress != nil {
		report, err := m.Compress.Run(ctx, 0, false)
		if err == nil {
			m.logLeft("cannot summarize a file of an old day, trying again the next night", report.Left)
		}
		errs = append(errs, err)
	}
	if m.Days != nil {
		report, err := m.Days.Run(ctx)
		if err == nil {
			m.logLeft("cannot archive a file of an old day, trying again the next night", report.Left)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (m *Maintenance) logLeft(message string, left []api.DayStay) {
	for _, f := range left {
		m.Logger.Warn(message, "path", f.Path, "reason", f.Reason)
	}
}
