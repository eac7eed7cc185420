package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/internal/state"
)

// A cut is the lines to remove from a stored version.
type cut struct {
	sum   string   // digest of the content that has the lines
	lines [][2]int // first and last lines, from 1
}

// EachVersion calls visit with the stored contents before and after the changes for which
// concerns returns true, oldest first, and once for each path. Its error lists the changes
// whose contents cannot be read.
func (j *Journal) EachVersion(concerns func(Record) bool, visit func(r Record, digest string, content []byte)) error {
	j.mu.Lock()
	records := slices.Clone(j.records)
	j.mu.Unlock()
	var errs []error
	type place struct{ path, digest string }
	seen := map[place]bool{}
	for _, r := range records {
		if !concerns(r) {
			continue
		}
		for _, digest := range []string{r.Before, r.After} {
			if seen[place{r.Path, digest}] {
				continue
			}
			seen[place{r.Path, digest}] = true
			content, err := j.Version(digest)
			if err == nil {
				visit(r, digest, content)
			} else if !errors.Is(err, ErrNoVersion) {
				errs = append(errs, fmt.Errorf("journal %s: %w", r.ID, err))
			}
		}
	}
	return errors.Join(errs...)
}

// Forget permanently removes the lines that find returns, as first and last lines from 1, from
// the versions of the changes for which concerns returns true. Changes whose own text lost
// lines are marked as forgotten and cannot be undone; all others can. An error lists the
// changes that cannot be read or rewritten.
func (j *Journal) Forget(concerns func(Record) bool, find func(r Record, text []byte) [][2]int) error {
	cuts := map[string]cut{} // by the name of the version
	err := j.EachVersion(concerns, func(r Record, digest string, content []byte) {
		if lines := find(r, content); lines != nil {
			name := versionName(digest)
			cuts[name] = cut{Digest(content), append(cuts[name].lines, lines...)}
		}
	})
	return errors.Join(err, j.cutVersions(cuts))
}

// cutVersions removes lines from versions, and marks the changes that wrote or removed them.
func (j *Journal) cutVersions(cuts map[string]cut) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	lost := func(digest string) (string, error) {
		c, ok := cuts[versionName(digest)]
		if !ok {
			return "", nil
		}
		content, err := j.store.read(versionName(digest))
		_, text := c.apply(content)
		return text, err
	}
	errs := []error{j.log.flush(0)} // it contains recent versions
	for i := range j.records {
		r := &j.records[i]
		before, err := lost(r.Before)
		after, err2 := lost(r.After)
		if err = errors.Join(err, err2); err == nil && before != after && !r.Forgotten {
			err = j.markForgotten(r)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("journal %s: %w", r.ID, err))
		}
	}
	errs = append(errs, j.store.change(slices.Collect(maps.Keys(cuts)), func(name string, content []byte) []byte {
		content, _ = cuts[name].apply(content)
		return content
	}))
	for _, name := range j.outdated { // which also contain text
		if err := os.Remove(filepath.Join(j.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	// Versions without a change, such as that of a file that forget has just changed, go.
	return errors.Join(append(errs, j.store.retain(j.usedVersions(anyRecord, true)))...)
}

// markForgotten marks a change as forgotten.
func (j *Journal) markForgotten(known *Record) error {
	r := *known
	r.Forgotten = true
	data, err := r.encode()
	if err == nil {
		err = state.Write(j.recordPath(r), data)
	}
	if err == nil {
		*known = r
	}
	return err
}

// apply removes the lines from the content that they are for, and returns them.
func (c cut) apply(content []byte) (rest []byte, lost string) {
	if c.sum != Digest(content) {
		return content, ""
	}
	rest = []byte{}
	for i, line := range diff.SplitLines(content) {
		if slices.ContainsFunc(c.lines, func(l [2]int) bool { return l[0] <= i+1 && i+1 <= l[1] }) {
			lost += line
		} else {
			rest = append(rest, line...)
		}
	}
	return rest, lost
}
