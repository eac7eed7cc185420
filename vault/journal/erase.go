package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/memwatchd/memwatchd/internal/state"
)

// A Use is a file that has or had a stored content.
type Use struct {
	Record Record // the newest change before or after which the file had it; zero for a present file
	Path   string
	Digest string
}

// listUses returns every use of a stored content: those of the present files, and those of
// the changes, newest first.
func (j *Journal) listUses() (uses []Use) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(j.history.current)) {
		uses = append(uses, Use{Path: path, Digest: j.history.current[path]})
	}
	for _, r := range slices.Backward(j.records) {
		uses = append(uses, Use{r, r.Path, r.Before}, Use{r, r.FilePath(), r.After})
	}
	return uses
}

// EachVersion calls visit with every content that a file has or had, once for each such file:
// first with those of the present files, then with those before and after the changes, newest
// first. An error is that of reading the content.
func (j *Journal) EachVersion(visit func(u Use, content []byte, err error)) {
	type place struct{ path, digest string }
	seen := map[place]bool{}
	for _, u := range j.listUses() {
		at := place{u.Path, u.Digest}
		if seen[at] {
			continue
		}
		seen[at] = true
		if content, err := j.Version(u.Digest); content != nil || err != nil {
			visit(u, content, err)
		}
	}
}

// Erase permanently removes the contents for which selects returns true, of those that a file
// at path has or had. A change from or to such a content is marked as forgotten and cannot be
// undone. Contents that are damaged or that nothing refers to are removed, too. If Erase
// returns an error, selected contents may remain.
func (j *Journal) Erase(selects func(path string, content []byte) bool) error {
	var errs []error
	gone := map[string]bool{} // by digest; whether it was selected
	j.EachVersion(func(u Use, content []byte, err error) {
		switch {
		case isLost(err):
			gone[u.Digest] = false
		case err != nil:
			errs = append(errs, fmt.Errorf("journal: %w", err))
		case selects(u.Path, content):
			gone[u.Digest] = true
		}
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	errs = append(errs, j.log.flush(0)) // it contains recent versions
	for i := range j.records {
		r := &j.records[i]
		if (gone[r.Before] || gone[r.After]) && !r.Forgotten {
			errs = append(errs, j.markForgotten(r))
		}
	}
	used := j.usedVersions()
	for digest := range gone {
		delete(used, versionName(digest))
	}
	return errors.Join(append(errs, j.store.keepOnly(used))...)
}

// EraseUnused removes the contents that nothing refers to. Call it once all present files are
// known.
func (j *Journal) EraseUnused() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return errors.Join(j.log.flush(0), j.store.keepOnly(j.usedVersions()))
}

// isLost reports whether an error of reading a version will stay.
func isLost(err error) bool {
	return errors.Is(err, errDamaged) || errors.Is(err, ErrNoVersion) || errors.Is(err, fs.ErrNotExist)
}

func (j *Journal) markForgotten(r *Record) error {
	marked := *r
	marked.Forgotten = true
	data, err := marked.encode()
	if err == nil {
		err = state.Write(j.recordPath(marked), data)
	}
	if err != nil {
		return fmt.Errorf("journal %s: %w", r.ID, err)
	}
	*r = marked
	return nil
}
