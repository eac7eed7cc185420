package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/internal/ops"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
	"github.com/memwatchd/memwatchd/watcher"
)

// openWriting opens the journal, the writer and the jobs that change files.
// Reading and searching do not need them: without a journal the daemon runs
// read-only.
func (d *daemon) openWriting() (err error) {
	c := d.config
	records, err := journal.Open(filepath.Join(c.StateDir, "journal"), c.Journal.Keep)
	if err != nil {
		d.logger.Error("journal is unavailable, no files are changed", "err", err)
		d.writerErr = err
		return nil
	}
	records.Now = config.Now
	records.Completed = func(r journal.Record) {
		d.pipeline.overwritten.wrote(r)
		d.pipeline.events.publish(ops.Change{Event: api.Event{Event: "write", Path: r.Path, Cause: r.Cause, ID: r.ID}})
	}
	d.writer = &vault.Writer{
		Vault: d.memory.Vault, Journal: records, Logger: d.logger, Enabled: d.mayWrite,
		Settings: []string{memory.IdentitiesPath}, Quiet: c.Tuning.Quiet,
		MaxChangesPerMinute: c.Tuning.MaxChanges,
	}
	d.maintenance, err = d.openMaintenance()
	if err != nil {
		return err
	}
	d.pipeline.uses, d.pipeline.overwritten.journal = d.maintenance.compactor.Uses, records
	d.openHistory()
	d.openTodos()
	return nil
}

// errHolding is the error of changes while so many files are missing that the disk may be
// away. A change would go to the wrong directory.
var errHolding = fmt.Errorf("%w: many files disappeared at once; mount the disk again, or wait until a second "+
	"scan confirms the loss", vault.ErrRoot)

// mayWrite returns why no file is changed now, or nil. It scans a directory that has replaced
// the one of the last change, which shows whether files are missing. On its own, the daemon changes
// nothing while the directory is being replaced.
func (d *daemon) mayWrite(ctx context.Context, requested bool) error {
	w := d.memory.watcher.Status()
	if !requested {
		if d.config.Write.Enabled && rootState(w) == watcher.RootWatched {
			return nil
		}
		return vault.ErrOff
	}
	root, err := d.memory.Root()
	if err != nil {
		return err
	}
	if last := d.writeRoot.Load(); last == nil || *last != root {
		if err := d.memory.watcher.Sync(ctx); err != nil {
			return err
		}
		d.writeRoot.Store(&root)
		w = d.memory.watcher.Status()
	}
	if w.Held > 0 {
		return errHolding
	}
	return nil
}

// attachWriter gives the operations the writer and the jobs that change files.
func (d *daemon) attachWriter(m *ops.Memory) {
	if d.writer == nil {
		return
	}
	m.Writer, m.Todos = d.writer, d.todos
	m.Undoer = &vault.Undoer{Writer: d.writer}
	m.Merger = &vault.Merger{Writer: d.writer, Layout: d.pipeline.layout}
	m.Compactor, m.Compress, m.Semaphore = d.maintenance.compactor, d.maintenance.compress, d.maintenance.semaphore
	m.RecordHistory, m.Used = d.pipeline.history.record, d.maintenance.compactor.Uses.Used
}

// startWriteJobs starts the task syncer, now that every file has been seen.
func (d *daemon) startWriteJobs(ctx context.Context) error {
	if d.writer == nil || d.mayMissFiles() {
		return nil // runTodos waits for the unread files
	}
	return d.todos.Start(ctx)
}

// runTodos keeps the copies of tasks in step. It starts once the root can be
// read, because changes made before the first snapshot must not count as new.
func (d *daemon) runTodos(ctx context.Context) error {
	for !d.todos.Started() {
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
		if d.memory.watcher.Sync(ctx) != nil || d.mayMissFiles() {
			continue
		}
		if err := d.todos.Start(ctx); err != nil && ctx.Err() == nil {
			d.logger.Warn("task state cannot be recorded yet", "err", err)
		}
	}
	return d.todos.Run(ctx)
}

// runWriter repairs interrupted changes and then rechecks the replaced files.
func (d *daemon) runWriter(ctx context.Context) error {
	logged := "" // the error that was logged last
	for err := d.writer.Repair(ctx); err != nil; err = d.writer.Repair(ctx) {
		if ctx.Err() == nil && err.Error() != logged &&
			!errors.Is(err, vault.ErrRoot) { // the watcher reports a missing root
			logged = err.Error()
			d.logger.Warn("an interrupted change cannot be recovered yet", "err", err)
		}
		if err := sleep(ctx, maxRetryWait); err != nil {
			return err
		}
	}
	d.pipeline.overwritten.findMissed()
	return d.writer.Run(ctx)
}

const (
	// pruneInterval is the time between two attempts to delete old changes from
	// the journal. Clocks that are wrong at the start of a machine are usually
	// corrected sooner.
	pruneInterval = time.Hour
	// maxClockDrift is the largest correction per interval of a steady clock.
	maxClockDrift = time.Minute
)

// runPruning deletes old changes from the journal, now and every pruneInterval.
func (d *daemon) runPruning(ctx context.Context) error {
	for steady := false; ; {
		if err := d.writer.Journal.Prune(config.Now(), steady); err != nil {
			d.logger.Warn("old journal entries cannot be removed", "err", err)
		}
		start := time.Now()
		if err := sleep(ctx, pruneInterval); err != nil {
			return err
		}
		// Sub uses the monotonic clock, which ignores corrections of the time.
		took := time.Since(start)
		steady = (time.Now().Round(0).Sub(start.Round(0)) - took).Abs() < maxClockDrift
	}
}
