package vault

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/vault/journal"
)

const (
	// lateAfter is how long after it was replaced an old file is looked at once
	// more: whoever had it open, or was opening it, may still write to it.
	lateAfter = 50 * time.Millisecond
	// lateMost is the longest time between two looks at what could not be
	// cleared away.
	lateMost = time.Minute
)

// A lateLook is a look that is due at what lies under a temporary name.
type lateLook struct {
	spot   *spot // until the first look, in case the directory is renamed
	record journal.Record
	due    time.Time
	pause  time.Duration
	made   bool // the change is in the journal as made
	told   bool // that it could not be cleared away yet
}

// Run looks once more at files that were replaced a moment ago, and removes the
// old ones, until the context ends and no such look is left. It returns nil.
//
// Without it each Write takes a little longer, because it does that itself.
func (w *Writer) Run(ctx context.Context) error {
	w.init()
	w.mu.Lock()
	w.running = true
	w.mu.Unlock()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for done := ctx.Done(); ; {
		next, more := w.nextLook(done == nil)
		if !more {
			return nil
		}
		timer.Reset(next)
		select {
		case <-w.wake:
			continue
		case <-done:
			// What has been replaced is looked at; what could not be cleared away
			// is left to the next start.
			done = nil
			continue
		case <-timer.C:
		}
		inTurn(context.WithoutCancel(ctx), w, func() (none struct{}, _ error) {
			w.lookDue()
			return none, nil
		})
	}
}

// nextLook is how long it is until the next look is due. At the end it reports
// that there is no more to do if there is no first look to be taken: then nobody
// looks any more.
func (w *Writer) nextLook(ending bool) (wait time.Duration, more bool) {
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

// lookLater sees to it that the temporary file of a change is looked at, and
// reports whether [Writer.Run] will.
func (w *Writer) lookLater(l lateLook) bool {
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

// lookDue takes the looks that are due.
func (w *Writer) lookDue() {
	now := time.Now()
	for _, l := range w.takeLooks(func(l lateLook) bool { return !l.due.After(now) }) {
		w.takeLook(l)
	}
}

// finishLate takes the looks at a file that are to be taken before it is changed
// again, each at its time.
func (w *Writer) finishLate(path string) error {
	var errs []error
	for _, l := range w.takeLooks(func(l lateLook) bool { return l.record.Path == path || l.record.To == path }) {
		if l.spot != nil {
			time.Sleep(time.Until(l.due))
		}
		errs = append(errs, w.takeLook(l))
	}
	return errors.Join(errs...)
}

// takeLooks takes looks off the list.
func (w *Writer) takeLooks(which func(lateLook) bool) (mine []lateLook) {
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

// takeLook clears away what lies under the temporary name of a change. If it
// cannot, it is tried again later.
func (w *Writer) takeLook(l lateLook) error {
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

// done notes that a change has been made: the journal is told, and the old file
// is looked at once more.
func (w *Writer) done(s *spot, c *Change, r journal.Record, hash [32]byte) {
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
