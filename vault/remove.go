package vault

import (
	"errors"
	"io/fs"
	"time"
)

// remove takes a file away. Until nobody can be about to save it any more, it
// lies beside its place under a temporary name; what is saved to it there is put
// back.
func (w *Writer) remove(s *spot, old *source, c *Change, foreign time.Time) (Written, error) {
	away := &draft{name: draftName()}
	return w.journalled(s, c, away, old.Data, nil, foreign, func() error {
		if err := w.takeAway(s, old, away.temp()); err != nil {
			return err
		}
		err := w.syncDir(s)
		if err != nil {
			err = errors.Join(err, w.call("put back", func() error { return renameNew(s.dir, away.temp(), s.dir, s.base) }))
		}
		return err
	})
}

// takeAway gives a file a temporary name, if it is still what was read.
func (w *Writer) takeAway(s *spot, old *source, temp string) error {
	hold, err := w.lease(old.fd)
	if err != nil {
		return err
	}
	defer hold.release()
	now, err := w.look(s.dir, s.base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || now.stamp != old.Stamp || now.hash != old.hash || !hold.held() {
		return errLost
	}
	err = w.call("take away", func() error { return supported(renameNew(s.dir, s.base, s.dir, temp)) })
	if errors.Is(err, fs.ErrNotExist) {
		return errLost
	}
	if err != nil {
		return err
	}
	out, err := w.look(s.dir, temp)
	if err == nil && out.same(look{old.Stamp, old.hash}) && hold.held() {
		return nil
	}
	// If somebody has made a new file meanwhile, that one stays, and what lies
	// under the temporary name is settled by what it holds.
	err = errors.Join(err, w.call("put back", func() error { return renameNew(s.dir, temp, s.dir, s.base) }))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return errLost
}
