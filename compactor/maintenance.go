package compactor

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Maintenance is the work of a night, in the order in which it is done. Only the
// machine whose turn it is does more than the first step.
type Maintenance struct {
	Host      *Host
	Compactor *Compactor
	Compress  *Compress // nil if old days are not summed up
	Days      *OldDays  // nil if old days are not archived
	Logger    *slog.Logger

	Enabled  bool                        // files may be changed without being asked
	Prune    func() error                // deletes old records of the journal
	Counters func(context.Context) error // corrects counters in frontmatter
}

// Compaction is tried again while a file is being written, since the next night is
// a day away.
const (
	maxAttempts = 3
	longestWait = time.Minute
)

// Run does the work once. A step that fails does not keep the others from being
// done; the error joins those of all steps.
func (m *Maintenance) Run(ctx context.Context) error {
	if !m.Enabled {
		return nil
	}
	errs := []error{m.Prune()}
	duty, err := m.Host.Duty()
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	if !duty.Ours {
		m.Logger.Info("another machine tidies up", "host", duty.Host)
		return errors.Join(errs...)
	}
	errs = append(errs, m.compact(ctx), m.Counters(ctx))
	if m.Compress != nil {
		_, err := m.Compress.Run(ctx, 0, false)
		errs = append(errs, err)
	}
	if m.Days != nil {
		_, err := m.Days.Run(ctx, false)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// compact makes room in long-term files.
func (m *Maintenance) compact(ctx context.Context) error {
	for n := 1; ; n++ {
		report, err := m.Compactor.Compact(ctx, Request{})
		if err != nil || report.Wait == 0 || n == maxAttempts {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(report.Wait, longestWait)):
		}
	}
}
