package journal

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Pending lists, oldest first and with their hunks, the changes of which it is
// not known whether they have happened. One whose hunks cannot be read is
// without them: what settles it are the digests.
func (j *Journal) Pending() []Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []Record
	for _, r := range j.records {
		if r.State == StateIntent {
			if whole, err := j.read(r); err == nil {
				r = whole
			}
			list = append(list, r)
		}
	}
	return list
}

// List lists changes that have happened, newest first and without their hunks:
// at most limit, or all if it is zero, since a time, of the file at path or
// below the directory there, or of all if it is "".
func (j *Journal) List(since time.Time, path string, limit int) []Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []Record
	for _, r := range slices.Backward(j.records) {
		if r.State == StateIntent || r.Time.Before(since) || !r.concerns(path) {
			continue
		}
		if list = append(list, r); len(list) == limit {
			break
		}
	}
	return list
}

// concerns reports whether the change is one of the file at path, or of a file
// below it.
func (r *Record) concerns(path string) bool {
	below := func(file string) bool {
		rest, ok := strings.CutPrefix(file, path)
		return ok && (rest == "" || rest[0] == '/')
	}
	return path == "" || below(r.Path) || r.To != "" && below(r.To)
}

// Get gives a change that has happened, with its hunks. It takes the beginning
// of an id, too, in letters of either case. The error is an [ErrNoRecord] or an
// [ErrAmbiguous], or says why it cannot be read.
func (j *Journal) Get(id string) (Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	typed := tidyID.Replace(strings.ToLower(strings.TrimSpace(id)))
	i, _ := j.find(typed)
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
		return j.read(found[0])
	}
	return Record{}, fmt.Errorf("journal %q: %w: %s, %s", id, ErrAmbiguous, found[0].ID, found[1].ID)
}

// Group lists the changes of a group that have happened, newest first and
// without their hunks.
func (j *Journal) Group(group string) []Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []Record
	for _, r := range slices.Backward(j.records) {
		if r.Group == group && r.State != StateIntent {
			list = append(list, r)
		}
	}
	return list
}

// read reads the hunks of a change that is known.
func (j *Journal) read(known Record) (Record, error) {
	ending := madeEnding
	if known.State == StateIntent {
		ending = intentEnding
	}
	data, err := os.ReadFile(j.path(known.ID, ending))
	if err != nil {
		return Record{}, fmt.Errorf("journal: %w", err)
	}
	r, err := decode(data)
	if err == nil && r.ID != known.ID {
		err = fmt.Errorf("damaged: it says that it is %q", r.ID)
	}
	if err != nil {
		return Record{}, fmt.Errorf("journal %s: %w", known.ID, err)
	}
	r.State = known.State
	return r, nil
}
