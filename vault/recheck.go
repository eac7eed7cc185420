package vault

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// resolveChange resolves a change that may be half done. It compares the
// temporary file with the recorded digests, restores or removes it, and reports
// whether the change was made. It records the result in the journal. made is
// true if the journal already has the change as complete. It never removes
// a version written by another program.
//
// On error, the result is still undecided, and happened is the value of made
// for the next call; errConcurrentSave means that a program may still write to
// the temporary file. If s is nil, resolveChange opens the directory of the
// file itself.
func (w rechecks) resolveChange(s *dirEntry, r journal.Record, made bool) (happened bool, err error) {
	if r.To != "" {
		happened, err = w.resolveMove(r)
	} else {
		happened, err = w.resolveTemp(s, r, made)
	}
	if made && !happened {
		w.countLostRace(r.Path)
	}
	if err == nil {
		err = w.closeRecord(r, made, happened)
	}
	if err != nil {
		return made && happened, err
	}
	if happened {
		w.removeUndoneDirs(r)
	}
	return happened, nil
}

// removeUndoneDirs removes the empty directories that the changes created which
// the given change undoes.
func (w rechecks) removeUndoneDirs(r journal.Record) {
	if r.After != "" && r.To == "" {
		return
	}
	for _, id := range r.Undoes {
		if undone, err := w.Journal.Get(id); err == nil {
			w.removeMade(undone.FilePath(), undone.Made)
		}
	}
}

// resolveTemp removes, restores or keeps the temporary file of a change. It
// reports whether the change was made. On error, happened is false if the
// change was reverted, and made otherwise.
func (w rechecks) resolveTemp(s *dirEntry, r journal.Record, made bool) (happened bool, err error) {
	if s == nil {
		s, err = w.openParent(r.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return made, nil // its directory is gone, too
		} else if err != nil {
			return made, err
		}
		defer s.close()
	}
	if err := w.unlinkFile(s.dir, stagingNameOf(r.Temp)); err != nil {
		return made, err
	}
	var hold *lease
	if fd, err := openAt(s.dir, r.Temp, readOnly); err == nil {
		defer unix.Close(fd)
		hold, err = w.leaseSource(fd)
		if err != nil {
			return made, err
		}
		defer hold.release()
	}
	temp, tempErr := w.readVersion(s.dir, r.Temp)
	if tempErr == nil && hold == nil && temp.hasDigest(r.After) {
		// A program may have opened this version while it was in place, and
		// no lease shows it.
		time.Sleep(w.delay())
		temp, tempErr = w.readVersion(s.dir, r.Temp)
	}
	base, err := w.readVersion(s.dir, s.base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return made, err
	}
	there := err == nil
	ours := there && base.hasDigest(r.After) || !there && r.After == ""
	remove := func() error {
		if !hold.held() { // a program is opening it
			return errConcurrentSave
		}
		return w.unlinkFile(s.dir, r.Temp)
	}
	switch {
	case errors.Is(tempErr, fs.ErrNotExist):
		return made || ours, nil
	case tempErr != nil:
		return made, tempErr
	case temp.hasDigest(r.After):
		// The new version was never in place or was put back.
		return ours, remove()
	case temp.hasDigest(r.Before):
		return true, remove()
	case !there: // which is also this writer's version if the change removes the file
		// Other programs saved the replaced file and moved the new one away.
		err = w.runSyscall("put back", func() error { return renameNew(s.dir, r.Temp, s.dir, s.base) })
		return made && err != nil, err
	case !ours:
		return made, w.makeConflictCopy(s, r)
	}
	if err := w.putBack(s, r.Temp, base); err != nil {
		return made, err
	}
	// The temporary file is now this writer's version, or a later save.
	return w.resolveTemp(s, r, false)
}

// makeConflictCopy renames a temporary file to a visible name for the user. The
// file contains a version saved by another program that a later save
// superseded.
func (w rechecks) makeConflictCopy(s *dirEntry, r journal.Record) error {
	name := s.base + ".kept-" + r.ID
	err := w.runSyscall("keep", func() error { return renameNew(s.dir, r.Temp, s.dir, name) })
	if errors.Is(err, unix.ENAMETOOLONG) || errors.Is(err, fs.ErrExist) {
		name, err = r.Temp, nil
	}
	if err != nil {
		return err
	}
	parent, _ := cutLast(s.path)
	w.addConflictCopy(joinPath(parent, name))
	return nil
}

// closeRecord records in the journal whether a change was made, unless the
// journal has this result already.
func (w rechecks) closeRecord(r journal.Record, made, happened bool) error {
	var err error
	switch {
	case happened && !made:
		err = w.Journal.Done(r.ID)
	case !happened:
		err = w.Journal.Abandon(r.ID)
	}
	if errors.Is(err, journal.ErrNoRecord) {
		return nil
	}
	return err
}

const (
	// recheckDelay is the delay before a file that was in place is removed: a
	// program that had it open, or was opening it, may still write to it.
	recheckDelay = 50 * time.Millisecond
	// maxRecheckDelay bounds the delay between rechecks of a temporary file that
	// cannot be cleared.
	maxRecheckDelay = time.Minute
)

func (w rechecks) delay() time.Duration { return cmp.Or(w.recheckDelay, recheckDelay) }

// A recheck is a pending recheck of a temporary file.
type recheck struct {
	entry    *dirEntry // open so that a renamed directory does not matter; nil if it could not be opened
	record   journal.Record
	due      time.Time
	pause    time.Duration
	recorded bool // the journal has the change as complete, and it was not reverted
	first    bool // the change was made, and the old file was not examined since
	logged   bool // a failure was logged
}

// Run rechecks recently replaced files and removes the old versions. It returns
// nil after the context ends and the first recheck of each file is done.
//
// Without Run, each Write does its own recheck and takes longer.
func (w *Writer) Run(ctx context.Context) error {
	w.init()
	w.mu.Lock()
	w.running = true
	w.mu.Unlock()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for done := ctx.Done(); ; {
		next, more := w.rechecks().nextRecheck(done == nil)
		if !more {
			return nil
		}
		timer.Reset(next)
		select {
		case <-w.wake:
			continue
		case <-done:
			// First rechecks are still made. Files that could not be cleared
			// are left to the next start.
			done = nil
			continue
		case <-timer.C:
		}
		_, err := withSemaphore(context.WithoutCancel(ctx), w, func() (none struct{}, _ error) {
			now := time.Now()
			for _, l := range w.rechecks().takeRechecks(func(l recheck) bool { return !l.due.After(now) }) {
				w.rechecks().runRecheck(l)
			}
			w.dropRemovedCopies()
			return none, nil
		})
		if err != nil { // the disk does not respond
			time.Sleep(stepTimeout / 5)
		}
	}
}

// nextRecheck returns the time until the next recheck is due. If ending is true
// and no first recheck is pending, nextRecheck reports false and marks Run as
// ended.
func (w rechecks) nextRecheck(ending bool) (wait time.Duration, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait = maxRecheckDelay
	for _, l := range w.pendingRechecks {
		wait = min(wait, time.Until(l.due))
		more = more || l.first
	}
	w.running = more || !ending
	return max(wait, 0), w.running
}

// scheduleRecheck schedules a recheck and reports whether [Writer.Run] will
// make it.
func (w rechecks) scheduleRecheck(l recheck) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.due = time.Now().Add(l.pause)
	w.pendingRechecks = append(w.pendingRechecks, l)
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return w.running
}

// finishRechecks makes the rechecks of a file before the file is changed again.
// It waits until each first recheck is due.
func (w rechecks) finishRechecks(path string) error {
	var errs []error
	for _, l := range w.takeRechecks(func(l recheck) bool { return l.record.Path == path || l.record.To == path }) {
		if l.first {
			time.Sleep(time.Until(l.due))
		}
		errs = append(errs, w.runRecheck(l))
	}
	return errors.Join(errs...)
}

// takeRechecks removes the selected rechecks from the list and returns them.
func (w rechecks) takeRechecks(which func(recheck) bool) (mine []recheck) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pendingRechecks = slices.DeleteFunc(w.pendingRechecks, func(l recheck) bool {
		if !which(l) {
			return false
		}
		mine = append(mine, l)
		return true
	})
	return mine
}

// runRecheck resolves the change of one recheck. On failure it schedules another
// one.
func (w rechecks) runRecheck(l recheck) error {
	var err error
	l.recorded, err = w.resolveChange(l.entry, l.record, l.recorded)
	if err == nil {
		if l.entry != nil {
			l.entry.close()
		}
		return nil
	}
	if !errors.Is(err, errConcurrentSave) && !l.logged {
		w.logger().Warn("cannot clean up after a change, retrying later", "path", l.record.Path, "err", err)
		l.logged = true
	}
	l.first, l.pause = false, min(2*l.pause, maxRecheckDelay)
	w.scheduleRecheck(l)
	return err
}

// finishChange records a complete change in the journal and schedules the
// recheck of the old file.
func (w rechecks) finishChange(s *dirEntry, c *Change, r journal.Record) {
	if !c.Requested {
		w.countWrite(r.Path)
	}
	l := recheck{record: r, pause: w.delay(), first: true, recorded: w.closeRecord(r, false, true) == nil}
	if l.recorded && r.Before == "" {
		return // there was no old file
	}
	l.entry = s.reopen()
	if !w.scheduleRecheck(l) {
		w.finishRechecks(r.Path)
	}
}
