package journal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Pending returns the pending changes, oldest first.
func (j *Journal) Pending() []Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(j.records), func(r Record) bool { return r.State != StateIntent })
}

// List returns completed changes of memwatchd since a time, newest first. It selects
// changes of the file at path or of files below the directory at path; an empty path
// selects all changes. It returns at most limit changes, or all if limit is zero.
func (j *Journal) List(since time.Time, path string, limit int) []Record {
	return j.list(since, path, limit, func(r *Record) bool { return !r.External })
}

// ListAll is [Journal.List] with the changes of other programs.
func (j *Journal) ListAll(since time.Time, path string, limit int) []Record {
	return j.list(since, path, limit, func(*Record) bool { return true })
}

// list returns the newest applied changes that affect path and that selects accepts, at most
// limit unless limit is 0.
func (j *Journal) list(since time.Time, path string, limit int, selects func(*Record) bool) []Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []Record
	for _, r := range slices.Backward(j.records) {
		if r.State == StateIntent || r.Time.Before(since) || !r.affectsPath(path) || !selects(&r) {
			continue
		}
		list = append(list, r)
		if len(list) == limit {
			break
		}
	}
	return list
}

// affectsPath reports whether the change affects the file at path or a file below
// the directory at path.
func (r *Record) affectsPath(path string) bool {
	below := func(file string) bool {
		rest, ok := strings.CutPrefix(file, path)
		return ok && (rest == "" || rest[0] == '/')
	}
	return path == "" || below(r.Path) || below(r.To)
}

// Get returns a completed change. The id may be a unique prefix, in letters of
// either case. The error is [ErrNoRecord] or [ErrAmbiguous].
func (j *Journal) Get(id string) (Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	typed := idNormalizer.Replace(strings.ToLower(strings.TrimSpace(id)))
	i, _ := j.findRecord(typed)
	var found []Record
	for _, r := range j.records[i:] {
		if typed == "" || !strings.HasPrefix(r.ID, typed) {
			break
		}
		if r.State != StateIntent {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return Record{}, fmt.Errorf("journal %q: %w", id, ErrNoRecord)
	case 1:
		return found[0], nil
	}
	return Record{}, fmt.Errorf("journal %q: %w: %s, %s", id, ErrAmbiguous, found[0].ID, found[1].ID)
}

// Version returns the content with a digest. An empty digest means that there is no file; its
// content is nil. If the content is not stored, the error is [ErrNoVersion].
func (j *Journal) Version(digest string) ([]byte, error) {
	if digest == "" {
		return nil, nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	content, err := j.store.read(versionName(digest))
	return slices.Clip(content), err
}

// Contents returns the contents of a file before and after a change.
func (j *Journal) Contents(r Record) (before, after []byte, err error) {
	before, err = j.Version(r.Before)
	if err == nil {
		after, err = j.Version(r.After)
	}
	if errors.Is(err, ErrNoVersion) && r.Forgotten {
		return nil, nil, nil
	}
	return before, after, err
}
