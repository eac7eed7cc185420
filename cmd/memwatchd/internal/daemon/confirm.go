package daemon

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// maxRetryWait bounds the wait between attempts to complete an index that cannot
// be written.
const maxRetryWait = 30 * time.Second

// rootsWait bounds the wait for the folders before the index counts as complete. Answers
// that include a folder report themselves whether it has been read.
const rootsWait = 10 * time.Second

// runConfirmation confirms that the index is complete after the first scan, and each
// time the index was opened again. epoch is the index's epoch before that scan.
func (d *daemon) runConfirmation(ctx context.Context, epoch uint64) error {
	for first := true; ; first = false {
		setGCPercent(gcPercentBuilding)
		err := d.confirmIndex(ctx, epoch)
		trimHeap()
		blind := errors.Is(err, errUnreadable)
		if err != nil && !blind {
			return err
		}
		if first {
			close(d.scanned)
		}
		for blind && d.mayMissFiles() {
			if err := sleep(ctx, time.Second); err != nil {
				return err
			}
		}
		if blind {
			continue // the scan that ended this was requested after the epoch was read
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.indexIncomplete:
		}
		epoch = d.index.Status().Epoch
		for _, r := range d.roots {
			r.watcher.VerifyNow()
		}
	}
}

// errUnreadable is returned by confirmIndex while part of the memory cannot be read.
var errUnreadable = errors.New("part of the memory cannot be read")

// mayMissFiles reports whether unknown files may exist: the root is missing, or a
// directory or a file that may claim its directory could not be read.
func (d *daemon) mayMissFiles() bool {
	mayClaim := func(path string) bool { return d.pipeline.layout.Place(path).Dir != "" }
	return d.memory.isMissing() || d.memory.watcher.Status().Unread ||
		slices.ContainsFunc(d.pipeline.listUnreadable(), mayClaim)
}

// confirmIndex waits until every file of the memory has been compared with the index,
// and those of the folders as far as rootsWait permits, and confirms that. A scan must have
// been requested since the epoch was read. While part of the memory cannot be read,
// confirmIndex confirms nothing and returns errUnreadable. The order of the steps matters: see completeness in package index.
func (d *daemon) confirmIndex(ctx context.Context, epoch uint64) error {
	for wait := time.Second; ; wait = min(2*wait, maxRetryWait) {
		if d.subjects.isIncomplete() {
			d.restoreClaims() // the root may not have been there before
		}
		err := d.syncAll(ctx, rootsWait)
		blind := d.mayMissFiles()
		if err == nil && !blind {
			d.subjects.markComplete()
			err = d.index.Confirm(epoch)
		}
		if err == nil {
			err = d.startWriteJobs(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && blind:
			d.logger.Warn("index is not complete yet", "err", errUnreadable)
			return errUnreadable
		case err == nil:
			status := d.index.Status()
			d.logger.Info("index is complete", "files", status.Files, "entries", status.Entries,
				"took", time.Since(d.started).Round(time.Millisecond))
			mixed := slices.DeleteFunc(d.listProblems(),
				func(p api.FileProblem) bool { return p.Code != memory.PrivateMarked })
			if len(mixed) > 0 {
				d.logger.Warn("private text makes all of its public file private; memwatchd check --fix splits such files",
					"files", len(mixed))
			}
			return nil
		}
		d.logger.Warn("index is not complete yet", "err", err)
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		epoch = d.index.Status().Epoch
		for _, r := range d.roots {
			r.watcher.Rescan()
		}
	}
}
