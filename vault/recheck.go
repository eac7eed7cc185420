package vault

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// settle resolves a change that may be half done. It compares the temporary
// file with the recorded digests, restores or removes it, and reports whether
// the change was made. It records the result in the journal. made is true if
// the journal already has the change as complete. settle never removes a
// version written by another program.
//
// On error, the result is still undecided; errLost means that a program is
// still writing the replaced file. If s is nil, settle opens the directory of
// the file itself.
func (w rechecks) settle(s *spot, r journal.Record, made bool) (happened bool, err error) {
	if r.To != "" {
		happened, err = w.settleMove(r)
	} else {
		happened, err = w.clearTemp(s, r, made)
	}
	if err != nil {
		return false, err
	}
	if made && !happened {
		w.lost(r.Path)
		if w.TakenBack != nil {
			w.TakenBack(r.Path)
		}
	}
	return happened, w.conclude(r, made, happened)
}

// clearTemp removes, restores or keeps the temporary file of a change. It
// reports whether the change was made.
func (w rechecks) clearTemp(s *spot, r journal.Record, made bool) (happened bool, err error) {
	if s == nil {
		s, err = w.open(r.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return made, nil // its directory is gone, too
		} else if err != nil {
			return false, err
		}
		defer s.close()
	}
	if err := w.discard(s.dir, draftOf(r.Temp)); err != nil {
		return false, err
	}
	if fd, err := openAt(s.dir, r.Temp, readOnly); err == nil {
		defer unix.Close(fd)
		hold, err := w.lease(fd)
		if err != nil {
			return false, err
		}
		defer hold.release()
		if !hold.held() {
			return false, errLost
		}
	}
	base, err := w.look(s.dir, s.base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	there := err == nil
	ours := there && base.holds(r.After) || !there && r.After == ""
	temp, err := w.look(s.dir, r.Temp)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return made || ours, nil
	case err != nil:
		return false, err
	case temp.holds(r.After):
		// The new version was never in place or was put back.
		return ours, w.discard(s.dir, r.Temp)
	case temp.holds(r.Before):
		return true, w.discard(s.dir, r.Temp)
	case !there: // which is also this writer's version if the change removes the file
		// Other programs saved the replaced file and moved the new one away.
		return false, w.call("put back", func() error { return renameNew(s.dir, r.Temp, s.dir, s.base) })
	case !ours:
		return made, w.keep(s, r)
	}
	if err := w.putBack(s, r.Temp, base); err != nil {
		return false, err
	}
	temp, err = w.look(s.dir, r.Temp)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case temp.holds(r.After):
		return false, w.discard(s.dir, r.Temp)
	}
	return false, w.keep(s, r)
}

// keep renames a temporary file to a visible name for the user. The file
// contains a version saved by another program that a later save superseded.
func (w rechecks) keep(s *spot, r journal.Record) error {
	name := s.base + ".kept-" + r.ID
	err := w.call("keep", func() error { return renameNew(s.dir, r.Temp, s.dir, name) })
	if errors.Is(err, unix.ENAMETOOLONG) || errors.Is(err, fs.ErrExist) {
		name, err = r.Temp, nil
	}
	if err != nil {
		return err
	}
	parent, _ := cutLast(s.path)
	w.kept(joinPath(parent, name))
	return nil
}

// conclude records in the journal whether a change was made, unless the journal
// has this result already.
func (w rechecks) conclude(r journal.Record, made, happened bool) error {
	var err error
	switch {
	case happened && !made:
		var hash [32]byte
		_, err = hex.Decode(hash[:], []byte(r.After))
		if err == nil {
			err = w.Journal.Done(r.ID, hash)
		}
	case !happened:
		err = w.Journal.Abandon(r.ID)
	}
	if errors.Is(err, journal.ErrNoRecord) {
		return nil
	}
	return err
}

const (
	// lateAfter is the delay before the recheck of a replaced file: a program
	// that had the file open, or was opening it, may still write to it.
	lateAfter = 50 * time.Millisecond
	// lateMost bounds the delay between rechecks of a temporary file that
	// cannot be cleared.
	lateMost = time.Minute
)

// A lateLook is a pending recheck of a temporary file.
type lateLook struct {
	spot   *spot // nil after the first recheck; open so that a renamed directory does not matter
	record journal.Record
	due    time.Time
	pause  time.Duration
	made   bool // the journal has the change as complete
	told   bool // a failure was logged
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
		next, more := w.rechecks().nextLook(done == nil)
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
		inTurn(context.WithoutCancel(ctx), w, func() (none struct{}, _ error) {
			w.rechecks().lookDue()
			return none, nil
		})
	}
}

// nextLook returns the time until the next recheck is due. If ending is true
// and no first recheck is pending, nextLook reports false and marks Run as
// ended.
func (w rechecks) nextLook(ending bool) (wait time.Duration, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait = lateMost
	for _, l := range w.late {
		wait = min(wait, time.Until(l.due))
		more = more || l.spot != nil
	}
	w.running = more || !ending
	return max(wait, 0), w.running
}

// lookLater schedules a recheck and reports whether [Writer.Run] will make it.
func (w rechecks) lookLater(l lateLook) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.due = time.Now().Add(l.pause)
	w.late = append(w.late, l)
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return w.running
}

// lookDue makes the rechecks that are due.
func (w rechecks) lookDue() {
	now := time.Now()
	for _, l := range w.takeLooks(func(l lateLook) bool { return !l.due.After(now) }) {
		w.takeLook(l)
	}
}

// finishLate makes the rechecks of a file before the file is changed again. It
// waits until each first recheck is due.
func (w rechecks) finishLate(path string) error {
	var errs []error
	for _, l := range w.takeLooks(func(l lateLook) bool { return l.record.Path == path || l.record.To == path }) {
		if l.spot != nil {
			time.Sleep(time.Until(l.due))
		}
		errs = append(errs, w.takeLook(l))
	}
	return errors.Join(errs...)
}

// takeLooks removes the selected rechecks from the list and returns them.
func (w rechecks) takeLooks(which func(lateLook) bool) (mine []lateLook) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = slices.DeleteFunc(w.late, func(l lateLook) bool {
		if !which(l) {
			return false
		}
		mine = append(mine, l)
		return true
	})
	return mine
}

// takeLook resolves the change of one recheck. On failure it schedules another
// one.
func (w rechecks) takeLook(l lateLook) error {
	_, err := w.settle(l.spot, l.record, l.made)
	if l.spot != nil {
		l.spot.close()
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, errLost) && !l.told {
		w.logger().Warn("what a change has left cannot be cleared away yet", "path", l.record.Path, "err", err)
		l.told = true
	}
	l.spot, l.pause = nil, min(2*l.pause, lateMost)
	w.lookLater(l)
	return err
}

// done records a complete change in the journal and schedules the recheck of
// the old file.
func (w rechecks) done(s *spot, c *Change, r journal.Record, hash [32]byte) {
	if !c.Asked {
		w.spend(r.Path)
	}
	l := lateLook{record: r, pause: cmp.Or(w.lateAfter, lateAfter), made: w.conclude(r, false, true) == nil}
	if l.made && r.Before == "" {
		return // there was no old file
	}
	if fd, err := unix.FcntlInt(uintptr(s.dir), unix.F_DUPFD_CLOEXEC, 0); err == nil {
		l.spot = &spot{s.path, fd, s.base}
	}
	if !w.lookLater(l) {
		w.finishLate(r.Path)
	}
}
