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
)

// What is to be forgotten is not only in files: the journal has what they said
// before, for [Undoer], and beside a file there may be what others had saved when
// it was changed.

// A Holding is hunks of a change in the journal, by their numbers.
type Holding struct {
	ID    string `json:"id"`
	Hunks []int  `json:"hunks,omitempty"` // all that are there, if none are named
}

// Holding lists, oldest first, the changes of those that concern whoever asks whose
// hunks hold something. One that cannot be read is left out, and the error says
// so; the list is of use all the same.
func (j *Journal) Holding(concerns func(Record) bool, holds func(Record, Hunk) bool) ([]Holding, error) {
	j.mu.Lock()
	known := slices.Clone(j.records)
	j.mu.Unlock()
	var list []Holding
	var errs []error
	for _, r := range known {
		if !concerns(r) {
			continue
		}
		whole, err := j.again(r.ID)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		held := Holding{ID: r.ID}
		for i, h := range whole.Hunks {
			if holds(whole, h) {
				held.Hunks = append(held.Hunks, i)
			}
		}
		if held.Hunks != nil {
			list = append(list, held)
		}
	}
	return list, errors.Join(errs...)
}

// again reads a change anew. What is not kept any more has no hunks.
func (j *Journal) again(id string) (Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, ok := j.find(id)
	if !ok {
		return Record{}, nil
	}
	return j.read(j.records[i])
}

// Forget takes hunks out of changes, for good. The changes stay in the journal,
// and cannot be undone. What has gone already does no harm.
func (j *Journal) Forget(list []Holding) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var errs []error
	for _, held := range list {
		i, ok := j.find(held.ID)
		if !ok {
			continue
		}
		if err := j.forget(&j.records[i], held.Hunks); err != nil {
			errs = append(errs, fmt.Errorf("journal %s: %w", held.ID, err))
		}
	}
	return errors.Join(errs...)
}

func (j *Journal) forget(known *Record, hunks []int) error {
	r, err := j.read(*known)
	if err != nil {
		return err
	}
	for i := range r.Hunks {
		if len(hunks) == 0 || slices.Contains(hunks, i) {
			r.Hunks[i] = Hunk{Line: r.Hunks[i].Line} // the others keep their numbers
		}
	}
	r.Forgotten = true
	data, err := r.encode()
	if err != nil {
		return err
	}
	ending := madeEnding
	if known.State == StateIntent {
		ending = intentEnding
	}
	if err := j.disk.Write(j.path(r.ID, ending), data); err != nil {
		return err
	}
	known.Forgotten = true
	return nil
}

// Clear sees to it that nothing is left of older versions of a file where it
// was changed: what others have saved meanwhile is put where it belongs.
func (w *Writer) Clear(ctx context.Context, path string) error {
	_, err := inTurn(ctx, w, func() (none struct{}, _ error) { return none, w.finishLate(path) })
	return err
}

// EditKept changes what was kept beside a file because others had saved it when it
// was changed: edit is given each such version. It returns those that it has
// changed, and is not in the journal.
func (w *Writer) EditKept(ctx context.Context, path string, edit func(kept *File) ([]byte, error)) ([]string, error) {
	return inTurn(ctx, w, func() ([]string, error) {
		s, err := w.open(path)
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
			if !strings.HasPrefix(name, s.base+".kept-") {
				continue
			}
			parent := strings.TrimSuffix(path, s.base)
			at := &spot{parent + name, s.dir, name}
			if ok, err := w.editKept(at, edit); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", at.path, err))
			} else if ok {
				changed = append(changed, at.path)
			}
		}
		return changed, errors.Join(append(errs, err)...)
	})
}

func (w *Writer) editKept(s *spot, edit func(*File) ([]byte, error)) (bool, error) {
	fd, err := w.Vault.openFile(s.dir, s.base)
	if err != nil {
		return false, err
	}
	old := &source{fd: fd}
	defer old.close()
	if err := unix.Fstat(fd, &old.stat); err != nil {
		return false, err
	}
	if old.File, err = w.Vault.readAt(s.dir, s.base, s.path); err != nil {
		return false, err
	}
	old.hash = hashOf(old.Data)
	data, err := edit(&old.File)
	if err != nil || data == nil || string(data) == string(old.Data) {
		return false, err
	}
	c := &Change{Path: s.path, Cause: "forget", Asked: true, Secret: true}
	if _, err := w.replace(s, old, c, data, time.Time{}); err != nil {
		return false, err
	}
	return true, w.finishLate(s.path)
}

// namesIn are the names in an open directory, sorted.
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

// RemoveEmpty removes a directory below the root, and what directories are in it,
// as far as there is nothing else there. It returns the files that are, by path,
// and what is hidden, into which it does not look.
func (w *Writer) RemoveEmpty(ctx context.Context, dir string) ([]string, error) {
	return inTurn(ctx, w, func() ([]string, error) {
		s, err := w.open(dir)
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

func (w *Writer) removeEmpty(s *spot) (left []string, err error) {
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
		if strings.HasPrefix(name, ".") { // others rely on what is empty in there, too, such as git
			left = append(left, joinPath(s.path, name))
			continue
		}
		below, err := w.removeEmpty(&spot{joinPath(s.path, name), dir, name})
		if err != nil {
			return nil, err
		}
		left = append(left, below...)
	}
	if len(left) > 0 {
		return left, nil
	}
	return nil, w.call("remove directory", func() error { return unix.Unlinkat(s.dir, s.base, unix.AT_REMOVEDIR) })
}
