package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/internal/state"
)

// A Use is a file that has or had a stored content.
type Use struct {
	Record Record // of the change before or after which the file had it; zero for others
	Path   string // "" for a content that nothing refers to, such as one of an abandoned change
	Digest string
}

// listUses returns every use of a stored content: those of the present files, those of the
// changes, oldest first, and one of each content that nothing refers to.
func (j *Journal) listUses() (uses []Use) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(j.history.current)) {
		uses = append(uses, Use{Path: path, Digest: j.history.current[path]})
	}
	for _, r := range j.records {
		for _, path := range slices.Compact([]string{r.Path, r.FilePath()}) {
			uses = append(uses, Use{r, path, r.Before}, Use{r, path, r.After})
		}
	}
	used := j.usedVersions(anyRecord, true)
	for _, name := range slices.Sorted(maps.Keys(j.store.versions)) {
		if !used[name] {
			uses = append(uses, Use{Digest: name})
		}
	}
	return uses
}

// EachVersion calls visit with every stored content, once for each path that has or had it:
// first with those of the present files, then with those before and after the changes, oldest
// first. An error is that of reading the content.
func (j *Journal) EachVersion(visit func(u Use, content []byte, err error)) {
	type place struct{ path, digest string }
	seen := map[place]bool{}
	for _, u := range j.listUses() {
		if seen[place{u.Path, u.Digest}] {
			continue
		}
		seen[place{u.Path, u.Digest}] = true
		if content, err := j.Version(u.Digest); content != nil || err != nil {
			visit(u, content, err)
		}
	}
}

// A cut is the lines to remove from a stored version.
type cut struct {
	sum    string   // digest of the content that has the lines
	lines  [][2]int // first and last lines, from 1
	unused bool     // nothing referred to the content
}

// Erase permanently removes the lines that find returns, as first and last lines from 1,
// from the contents that a file at path has or had. It visits every stored content: one that
// nothing refers to, whose path is "", is dropped if find returns lines of it, and so are
// damaged ones. Changes whose own text lost lines are marked as forgotten and cannot be
// undone; all others can. If Erase returns an error, lines may remain.
func (j *Journal) Erase(find func(path string, content []byte) [][2]int) error {
	cuts, unreadable := map[string]cut{}, map[string]bool{} // by the name of the version
	j.EachVersion(func(u Use, content []byte, err error) {
		name := versionName(u.Digest)
		if err != nil {
			unreadable[name] = true
		} else if lines := find(u.Path, content); lines != nil {
			cuts[name] = cut{Digest(content), append(cuts[name].lines, lines...), u.Path == ""}
		}
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	errs := []error{j.log.flush(0)} // it contains recent versions
	used := j.usedVersions(anyRecord, true)
	maps.DeleteFunc(cuts, func(name string, c cut) bool { return c.unused && used[name] }) // a file has it again
	for i := range j.records {
		if err := j.markCut(&j.records[i], cuts); err != nil {
			errs = append(errs, fmt.Errorf("journal %s: %w", j.records[i].ID, err))
		}
	}
	for name := range unreadable {
		_, err := j.store.read(name)
		switch {
		case isLost(err):
			delete(used, name)
		case err != nil:
			errs = append(errs, fmt.Errorf("journal: %w", err))
		}
	}
	return errors.Join(append(errs, j.store.rewrite(used, cuts))...)
}

// checkedName is the name of an empty file in the directory of the versions. Without it, an
// earlier build wrote them, which left forgotten text in contents that nothing refers to.
const checkedName = "checked"

// EraseUnused drops every content that nothing refers to if an earlier build wrote the
// journal, and records a problem if text was forgotten there. Call it once all present files
// are known.
func (j *Journal) EraseUnused() error {
	marker := filepath.Join(j.store.dir, checkedName)
	if _, err := os.Stat(marker); err == nil {
		return nil
	}
	dropped := 0
	err := j.Erase(func(path string, _ []byte) [][2]int {
		if path != "" {
			return nil
		}
		dropped++
		return [][2]int{{1, math.MaxInt}}
	})
	if err == nil {
		err = state.Write(marker, nil)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil && dropped > 0 && slices.ContainsFunc(j.records, func(r Record) bool { return r.Forgotten }) {
		j.problems = append(j.problems, fmt.Sprintf("removed versions that no change refers to, which may have "+
			"contained forgotten text: %d", dropped))
	}
	return err
}

// isLost reports whether an error of reading a version will stay.
func isLost(err error) bool {
	return errors.Is(err, errDamaged) || errors.Is(err, ErrNoVersion) || errors.Is(err, fs.ErrNotExist)
}

// markCut marks a change as forgotten if the cuts remove different lines from the contents
// before and after it.
func (j *Journal) markCut(r *Record, cuts map[string]cut) error {
	lost := func(digest string) (string, error) {
		c, ok := cuts[versionName(digest)]
		if !ok {
			return "", nil
		}
		content, err := j.store.read(versionName(digest))
		_, text := c.apply(content)
		return text, err
	}
	before, err := lost(r.Before)
	after, err2 := lost(r.After)
	if err = errors.Join(err, err2); err != nil || before == after || r.Forgotten {
		return err
	}
	marked := *r
	marked.Forgotten = true
	data, err := marked.encode()
	if err == nil {
		err = state.Write(j.recordPath(marked), data)
	}
	if err == nil {
		*r = marked
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
