package vault

import (
	"errors"
	"io/fs"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// createFile creates a file if the change returns content. It creates the file
// atomically and fails with errConcurrentSave if another program creates it first.
func (w *Writer) createFile(c *Change) (Written, error) {
	f := &newFile{change: c}
	w.createFiles([]*newFile{f})
	if !f.created {
		return Written{}, f.err
	}
	return f.written(), nil
}

// nameFile gives a draft the name of its file. If the file exists, the error is
// errConcurrentSave.
func (w *Writer) nameFile(s *dirEntry, draft *tempFile) error {
	err := w.runSyscall("name file", func() error { return exchangeError(renameNew(s.dir, draft.name, s.dir, s.base)) })
	if errors.Is(err, fs.ErrExist) {
		return errConcurrentSave
	}
	return err
}

// undoName reverts nameFile.
func (w *Writer) undoName(s *dirEntry, draft *tempFile) error {
	return w.runSyscall("undo create", func() error { return renameNew(s.dir, s.base, s.dir, draft.tempName()) })
}

// createParent opens the directory of a file. It creates missing directories with
// the mode 0700 and returns their number, for [Writer.removeMade].
func (w *Writer) createParent(path string) (s *dirEntry, made int, err error) {
	root, err := w.Vault.openRoot()
	if err != nil {
		return nil, 0, err
	}
	defer unix.Close(root)
	dir, err := openDir(root, "", unix.O_RDONLY)
	if err != nil {
		return nil, 0, err
	}
	for at := 0; ; {
		slash := strings.IndexByte(path[at:], '/')
		if slash < 0 {
			return &dirEntry{path, dir, path[at:]}, made, nil
		}
		name := path[at : at+slash]
		at += slash + 1
		below, err := openDir(dir, name, unix.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) {
			below, err = w.makeDir(dir, name)
			made++
		}
		unix.Close(dir)
		if err != nil {
			w.removeMade(path[:at], made)
			return nil, 0, err
		}
		dir = below
	}
}

// removeMade removes the last n directories of a path that are empty.
func (w *Writer) removeMade(path string, n int) {
	for range n {
		path, _ = cutLast(path)
		up, err := w.openParent(path)
		if err != nil {
			continue
		}
		w.runSyscall("remove directory", func() error { return unix.Unlinkat(up.dir, up.base, unix.AT_REMOVEDIR) })
		up.close()
	}
}

// makeDir creates a directory for the user of the process only, and opens it.
func (w *Writer) makeDir(parent int, name string) (int, error) {
	err := w.runSyscall("make directory", func() error { return unix.Mkdirat(parent, name, 0o700) })
	if errors.Is(err, fs.ErrExist) { // another program has just created the directory
		return openDir(parent, name, unix.O_RDONLY)
	}
	if err != nil {
		return -1, err
	}
	dir, err := openDir(parent, name, unix.O_RDONLY)
	if err != nil {
		return -1, err
	}
	err = w.runSyscall("set mode of directory", func() error {
		var st unix.Stat_t
		if err := unix.Fstat(dir, &st); err != nil {
			return err
		}
		return unix.Fchmod(dir, uint32(st.Mode)&0o7000|0o700) // the group may be inherited, its rights are not
	})
	if err == nil {
		err = w.runSyscall("sync directory", func() error { return unix.Fsync(parent) })
	}
	if err != nil {
		unix.Close(dir)
		return -1, err
	}
	return dir, nil
}

// removeFile removes a file. The file first gets a temporary name next to its path,
// until no program can still write to it. A version written to the renamed file
// is put back.
func (w *Writer) removeFile(s *dirEntry, old *source, c *Change, foreign time.Time) (Written, error) {
	away := &tempFile{name: newStagingName()}
	target := &dirEntry{dir: s.dir, base: away.tempName()}
	return w.applyJournaled(s, c, away, old.Data, nil, foreign,
		func() error { return w.renameFile(s, target, old, "move aside", "put back") },
		func() error { return w.renameBack(s, target, "put back") })
}
