package vault

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// create makes a file if the change returns content. It creates the file
// atomically and fails with errLost if another program creates it first.
func (w *Writer) create(ctx context.Context, c *Change) (Written, error) {
	data, err := w.ask(c, nil)
	if errors.Is(err, ErrRemove) {
		return Written{}, nil
	}
	if err != nil || data == nil {
		return Written{}, err
	}
	if err := w.gate().fits(c.Path, data); err != nil {
		return Written{}, err
	}
	if err := w.gate().mayTouch(c, time.Time{}); err != nil {
		return Written{}, err
	}
	s, undo, err := w.openMaking(c.Path)
	if err != nil {
		return Written{}, err
	}
	defer s.close()
	written, err := w.createAt(s, c, data)
	if err != nil {
		undo()
	}
	return written, err
}

func (w *Writer) createAt(s *spot, c *Change, data []byte) (Written, error) {
	draft, err := w.makeDraft(s, data, nil)
	if err != nil {
		return Written{}, err
	}
	return w.journalled(s, c, draft, nil, data, time.Time{}, func() error {
		err := w.call("name file", func() error { return supported(renameNew(s.dir, draft.name, s.dir, s.base)) })
		if errors.Is(err, fs.ErrExist) {
			return errLost
		}
		if err != nil {
			return err
		}
		err = w.syncDir(s)
		if err != nil {
			// The caller will retry.
			err = errors.Join(err,
				w.call("take back", func() error { return renameNew(s.dir, s.base, s.dir, draft.temp()) }))
		}
		return err
	})
}

// openMaking opens the directory of a file. It creates missing directories with
// the permissions of their parents. undo removes the created directories if
// they are empty.
func (w *Writer) openMaking(path string) (s *spot, undo func(), err error) {
	root, err := w.Vault.openRoot()
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(root)
	dir, err := openDir(root, "", unix.O_RDONLY)
	if err != nil {
		return nil, nil, err
	}
	var made []string
	undo = func() {
		for len(made) > 0 {
			if up, err := w.open(made[len(made)-1]); err == nil {
				w.call("remove directory", func() error { return unix.Unlinkat(up.dir, up.base, unix.AT_REMOVEDIR) })
				up.close()
			}
			made = made[:len(made)-1]
		}
	}
	for at := 0; ; {
		slash := strings.IndexByte(path[at:], '/')
		if slash < 0 {
			return &spot{path, dir, path[at:]}, undo, nil
		}
		name := path[at : at+slash]
		at += slash + 1
		below, err := openDir(dir, name, unix.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) {
			made = append(made, path[:at-1])
			below, err = w.makeDir(dir, name)
		}
		unix.Close(dir)
		if err != nil {
			undo()
			return nil, nil, err
		}
		dir = below
	}
}

// makeDir creates a directory and opens it.
func (w *Writer) makeDir(parent int, name string) (int, error) {
	err := w.call("make directory", func() error { return unix.Mkdirat(parent, name, 0o700) })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return -1, err
	}
	dir, err := openDir(parent, name, unix.O_RDONLY)
	if err != nil {
		return -1, err
	}
	err = w.call("set mode of directory", func() error {
		var above, st unix.Stat_t
		if err := errors.Join(unix.Fstat(parent, &above), unix.Fstat(dir, &st)); err != nil {
			return err
		}
		return unix.Fchmod(dir, uint32(st.Mode)&0o7000|uint32(above.Mode)&0o777)
	})
	if err == nil {
		err = w.call("sync directory", func() error { return unix.Fsync(parent) })
	}
	if err != nil {
		unix.Close(dir)
		return -1, err
	}
	return dir, nil
}

// remove removes a file. The file first gets a temporary name next to its path,
// until no program can still write to it. A version written to the renamed file
// is put back.
func (w *Writer) remove(s *spot, old *source, c *Change, foreign time.Time) (Written, error) {
	away := &draft{name: draftName()}
	return w.journalled(s, c, away, old.Data, nil, foreign, func() error {
		if err := w.rename(s, &spot{dir: s.dir, base: away.temp()}, old, "take away", "put back"); err != nil {
			return err
		}
		err := w.syncDir(s)
		if err != nil {
			err = errors.Join(err,
				w.call("put back", func() error { return renameNew(s.dir, away.temp(), s.dir, s.base) }))
		}
		return err
	})
}
