package journal

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Pending returns the pending changes, oldest first, without their hunks.
func (j *Journal) Pending() []Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []Record
	for _, r := range j.records {
		if r.State == StateIntent {
			list = append(list, r)
		}
	}
	return list
}

// List returns completed changes since a time, newest first, without their
// hunks. It selects changes of the file at path or of files below the directory
// at path; an empty path selects all changes. It returns at most limit changes,
// or all if limit is zero.
func (j *Journal) List(since time.Time, path string, limit int) []Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []Record
	for _, r := range slices.Backward(j.records) {
		if r.State == StateIntent || r.Time.Before(since) || !r.affectsPath(path) {
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
	return path == "" || below(r.Path) || r.To != "" && below(r.To)
}

// Get returns a completed change with its hunks. The id may be a unique prefix,
// in letters of either case. The error is [ErrNoRecord] or [ErrAmbiguous], or
// reports why the record cannot be read.
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
		return j.readRecord(found[0])
	}
	return Record{}, fmt.Errorf("journal %q: %w: %s, %s", id, ErrAmbiguous, found[0].ID, found[1].ID)
}

func (j *Journal) readRecord(known Record) (Record, error) {
	data, err := os.ReadFile(j.recordPath(known))
	if err != nil {
		return Record{}, fmt.Errorf("journal: %w", err)
	}
	r, err := decodeRecord(data)
	if err == nil && r.ID != known.ID {
		err = fmt.Errorf("damaged: unexpected id %q", r.ID)
	}
	if err != nil {
		return Record{}, fmt.Errorf("journal %s: %w", known.ID, err)
	}
	r.State = known.State
	return r, nil
}
