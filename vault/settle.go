package vault

import (
	"encoding/hex"
	"errors"
	"io/fs"

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
