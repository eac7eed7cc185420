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

// Clear resolves the temporary files of earlier changes of a file, so that no
// older version is left in them. It puts back a version that another program
// saved meanwhile. It waits a moment for programs that have one open. If a
// temporary file cannot be resolved yet, Clear returns an error, and [Writer.Run]
// retries.
func (w *Writer) Clear(ctx context.Context, path string) error {
	_, err := withSemaphore(ctx, w, func() (none struct{}, err error) {
		for n := 1; ; n++ {
			err = w.rechecks().finishRechecks(path)
			if !errors.Is(err, errConcurrentSave) || n == maxAttempts || ctx.Err() != nil {
				return none, err
			}
			sleepContext(ctx, conflictPause<<(n-1))
		}
	})
	return err
}

// EditConflictCopies changes the versions that were kept next to a file after a
// simultaneous save, by the Writer or by a sync tool. It calls edit with each kept version; edit returns the new
// content, or nil for no change. The changes are not in the journal.
// EditConflictCopies returns the paths of the changed versions, also if it
// returns an error because others could not be changed.
func (w *Writer) EditConflictCopies(ctx context.Context, path string, edit func(kept *File) ([]byte, error)) ([]string,
	error) {
	return withSemaphore(ctx, w, func() ([]string, error) {
		s, err := w.openParent(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		defer s.close()
		names, err := namesIn(s.dir)
		var changed []string
		var errs []error
		for _, name := range names {
			parent := strings.TrimSuffix(path, s.base)
			if of, ok := memory.CopyOf(name); !strings.HasPrefix(name, s.base+".kept-") && (!ok || of != s.base) {
				continue
			}
			at := &dirEntry{parent + name, s.dir, name}
			if ok, err := w.editConflictCopy(at, edit); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", at.path, err))
			} else if ok {
				changed = append(changed, at.path)
			}
		}
		return changed, errors.Join(append(errs, err)...)
	})
}

func (w *Writer) editConflictCopy(s *dirEntry, edit func(*File) ([]byte, error)) (bool, error) {
	old, err := w.openSource(s)
	if err != nil {
		return false, err
	}
	defer old.close()
	data, err := edit(&old.File)
	if err != nil || data == nil || string(data) == string(old.Data) {
		return false, err
	}
	c := &Change{Path: s.path, Cause: "forget", Requested: true, Secret: true}
	if _, err := w.replaceFile(s, old, c, data, time.Time{}); err != nil {
		return false, err
	}
	return true, w.rechecks().finishRechecks(s.path)
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
	return withSemaphore(ctx, w, func() ([]string, error) {
		s, err := w.openParent(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		defer s.close()
		return w.removeEmpty(s)
	})
}

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
	return nil, w.runSyscall("remove directory",
		func() error { return unix.Unlinkat(s.dir, s.base, unix.AT_REMOVEDIR) })
}
