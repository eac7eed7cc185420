package vault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/memory"
)

// Clear waits until the temporary files of earlier changes of a file are gone, so
// that no older version is left in them. It waits a moment for programs that have
// one open. If a temporary file cannot be removed yet, or has become a conflict copy, Clear
// returns an error.
func (w *Writer) Clear(ctx context.Context, path string) error {
	var errs []error
	for _, l := range w.leftoversOf(path) {
		sleepContext(ctx, time.Until(l.due))
		err := w.settle(l)
		for n := 1; errors.Is(err, errConcurrentSave) && n < maxAttempts && ctx.Err() == nil; n++ {
			sleepContext(ctx, conflictPause<<(n-1))
			err = w.settle(l)
		}
		if l.copied != "" {
			err = fmt.Errorf("%s has the text of another program; list the entries again", l.copied)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// EditConflictCopies changes the conflict copies of a file. It calls edit with each of
// them; edit returns the new content, or nil for no change. The journal does not
// contain the text of the changes. If some copies cannot be changed, EditConflictCopies
// returns an error, and the others are changed.
func (w *Writer) EditConflictCopies(ctx context.Context, path string, edit func(kept *File) ([]byte, error)) error {
	parent, base := cutLast(path)
	names, err := withTimeout(ctx, w.Vault, func(context.Context) (names []string, err error) {
		err = w.inParent(path, func(s *dirEntry) (err error) { names, err = namesIn(s.dir); return err })
		return names, err
	})
	errs := []error{err}
	for _, name := range names {
		if of, ok := memory.CopyOf(name); !ok || of != base {
			continue
		}
		at := joinPath(parent, name)
		_, err := w.Write(ctx, Change{Path: at, Cause: "forget", Requested: true, Secret: true, Edit: edit})
		if err = errors.Join(err, w.Clear(ctx, at)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", at, err))
		}
	}
	return errors.Join(errs...)
}

// namesIn returns the names in an open directory, sorted.
func namesIn(dir int) ([]string, error) {
	fd, err := openDir(dir, "", unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// RemoveEmpty removes a directory below the root and its subdirectories if they
// contain no files. It returns the paths of remaining files and of hidden
// entries, which it does not enter, or nil if the directory is removed or was
// missing. On error, some subdirectories may have been removed.
func (w *Writer) RemoveEmpty(ctx context.Context, dir string) ([]string, error) {
	return withTimeout(ctx, w.Vault, func(context.Context) (left []string, err error) {
		err = w.inParent(dir, func(s *dirEntry) (err error) { left, err = w.removeEmpty(s); return err })
		return left, err
	})
}

// removeEmpty removes a directory if it contains nothing but such directories. Otherwise it
// returns the paths that remain.
func (w *Writer) removeEmpty(s *dirEntry) (left []string, err error) {
	var st unix.Stat_t
	if err := fstatat(s.dir, s.base, &st); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return []string{s.path}, err
	}
	dir, err := openDir(s.dir, s.base, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	names, err := namesIn(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasPrefix(name, ".") { // programs such as git rely on empty hidden directories
			left = append(left, joinPath(s.path, name))
			continue
		}
		below, err := w.removeEmpty(&dirEntry{joinPath(s.path, name), dir, name})
		if err != nil {
			return nil, err
		}
		left = append(left, below...)
	}
	if len(left) > 0 {
		return left, nil
	}
	return nil, w.removeDir(s)
}
