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

// settle decides, by what it holds, what becomes of the file under the temporary
// name of a change, and of the change itself: it reports whether that has
// happened, and tells the journal. That the journal has it as made is given.
// Nothing that others wrote is removed.
//
// With an error it cannot be decided now; errLost is that somebody is still
// writing to the file that was replaced. The spot is the one of the file, or nil
// if it has to be opened.
func (w *Writer) settle(s *spot, r journal.Record, made bool) (happened bool, err error) {
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

// clearTemp clears away the temporary file of a change, and reports whether it
// has happened.
func (w *Writer) clearTemp(s *spot, r journal.Record, made bool) (happened bool, err error) {
	if s == nil {
		if s, err = w.open(r.Path); errors.Is(err, fs.ErrNotExist) {
			return made, nil // and so is its directory
		} else if err != nil {
			return false, err
		}
		defer s.close()
	}
	if err := w.discard(s.dir, draftOf(r.Temp)); err != nil {
		return false, err
	}
	if fd, err := retry(func() (int, error) {
		return unix.Openat(s.dir, r.Temp, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	}); err == nil {
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
		// Ours, which never was in the file's place or was sent back.
		return ours, w.discard(s.dir, r.Temp)
	case temp.holds(r.Before):
		return true, w.discard(s.dir, r.Temp)
	case !there: // which is ours, too, if it was to be removed
		// Others have saved what was replaced, and moved the new one away.
		return false, w.call("put back", func() error { return renameNew(s.dir, r.Temp, s.dir, s.base) })
	case !ours:
		return made, w.keep(s, r)
	}
	if err := w.putBack(s, r.Temp, base); err != nil {
		return false, err
	}
	switch temp, err = w.look(s.dir, r.Temp); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case temp.holds(r.After):
		return false, w.discard(s.dir, r.Temp)
	}
	return false, w.keep(s, r)
}

// keep gives what others have saved, and what was in the way of something that
// others have saved later, a name under which a person finds it.
func (w *Writer) keep(s *spot, r journal.Record) error {
	name := s.base + ".kept-" + r.ID
	err := w.call("keep", func() error { return renameNew(s.dir, r.Temp, s.dir, name) })
	if errors.Is(err, unix.ENAMETOOLONG) || errors.Is(err, fs.ErrExist) {
		name, err = r.Temp, nil
	}
	if err != nil {
		return err
	}
	parent, _, nested := cutLast(s.path)
	if !nested {
		parent = ""
	}
	w.kept(joinPath(parent, name))
	return nil
}

// conclude tells the journal what has become of a change. It does not tell it
// what it knows.
func (w *Writer) conclude(r journal.Record, made, happened bool) error {
	var err error
	switch {
	case happened && !made:
		var hash [32]byte
		if _, err = hex.Decode(hash[:], []byte(r.After)); err == nil {
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
