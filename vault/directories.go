package vault

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// createParent opens the directory of a file. It creates missing directories with
// the mode 0700 and returns their number, for [Writer.removeMade].
func (w *Writer) createParent(path string) (s *dirEntry, made int, err error) {
	parent, base := cutLast(path)
	s, err = w.openParent(path)
	if parent == "" || !errors.Is(err, fs.ErrNotExist) {
		return s, 0, err
	}
	up, made, err := w.createParent(parent)
	if err != nil {
		return nil, 0, err
	}
	defer up.close()
	dir, err := w.makeDir(up.dir, up.base)
	if err != nil {
		w.removeMade(path, made+1)
		return nil, 0, err
	}
	return &dirEntry{path, dir, base}, made + 1, nil
}

// removeMade removes the last n directories above a path, if they are empty.
func (w *Writer) removeMade(path string, n int) {
	for range n {
		path, _ = cutLast(path)
		w.inParent(path, w.removeDir)
	}
}

func (w *Writer) removeDir(s *dirEntry) error {
	return w.runSyscall("remove directory", func() error { return unix.Unlinkat(s.dir, s.base, unix.AT_REMOVEDIR) })
}

// makeDir creates a directory for the user of the process only, and opens it.
func (w *Writer) makeDir(parent int, name string) (int, error) {
	err := w.runSyscall("make directory", func() error { return unix.Mkdirat(parent, name, 0o700) })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return -1, err
	}
	created := err == nil // else another program has just created the directory
	dir, err := openDir(parent, name, unix.O_RDONLY)
	if err != nil || !created {
		return dir, err
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

// removeEmptyParents removes the directories above a path that changes in the journal
// created, if they are empty.
func (w *Writer) removeEmptyParents(path string) {
	created := map[string]bool{}
	for _, r := range w.Journal.List(time.Time{}, "", 0) {
		dir := r.FilePath()
		for range r.Made {
			dir, _ = cutLast(dir)
			created[dir] = true
		}
	}
	n := 0
	for dir, _ := cutLast(path); created[dir]; dir, _ = cutLast(dir) {
		n++
	}
	w.removeMade(path, n)
}
