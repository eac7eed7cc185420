package compactor

import (
	"context"
	"errors"
	"log/slog"
)

// Maintenance runs the nightly tasks in order. A machine that is not on duty
// runs none.
type Maintenance struct {
	Host      *Host
	Compactor *Compactor
	Compress  *Compress // of old files; nil for none
	Logger    *slog.Logger

	Counters func(context.Context) error // corrects counters in frontmatter
}

// Run runs all tasks once. A failed task does not stop the others; Run returns
// the joined errors. If another machine runs maintenance, Run does nothing.
func (m *Maintenance) Run(ctx context.Context) error {
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
		errs = append(errs, err)
		for _, f := range report.Left {
			m.Logger.Warn("cannot archive a file of an old day, trying again the next night", "path", f.Path,
				"reason", f.Reason)
		}
	}
	return errors.Join(errs...)
}
