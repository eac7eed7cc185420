package journal

import (
	"errors"
	"fmt"
	"slices"

	"github.com/memwatchd/memwatchd/internal/state"
)

// Text to be forgotten is not only in files. The journal contains earlier
// versions of it for undo, and next to a file there may be a version that
// another program saved during a change.

// A HunkSet names hunks of a change in the journal by their indexes.
type HunkSet struct {
	ID    string `json:"id"`
	Hunks []int  `json:"hunks,omitempty"` // all hunks if empty
}

// Newest returns the ID of the newest change, or "".
func (j *Journal) Newest() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.records) == 0 {
		return ""
	}
	return j.records[len(j.records)-1].ID
}

// FindHunks returns the hunks for which holds reports true, by change, oldest
// first. It examines only the changes for which concerns reports true. It skips
// records that it cannot read and reports them in the error; the list is valid
// even then.
func (j *Journal) FindHunks(concerns func(Record) bool, holds func(Record, Hunk) bool) ([]HunkSet, error) {
	j.mu.Lock()
	known := slices.Clone(j.records)
	j.mu.Unlock()
	var list []HunkSet
	var errs []error
	for _, r := range known {
		if !concerns(r) {
			continue
		}
		whole, err := j.rereadRecord(r.ID)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		held := HunkSet{ID: r.ID}
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

// rereadRecord reads a record from its file. If the record was pruned
// meanwhile, rereadRecord returns a record without hunks.
func (j *Journal) rereadRecord(id string) (Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, ok := j.findRecord(id)
	if !ok {
		return Record{}, nil
	}
	return j.readRecord(j.records[i])
}

// Forget permanently removes hunks from changes. The changes stay in the
// journal but cannot be undone. Forget ignores changes that are no longer in
// the journal. An error lists the changes whose hunks are still stored; the
// others are removed.
func (j *Journal) Forget(list []HunkSet) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var errs []error
	for _, held := range list {
		i, ok := j.findRecord(held.ID)
		if !ok {
			continue
		}
		if err := j.forgetHunks(&j.records[i], held.Hunks); err != nil {
			errs = append(errs, fmt.Errorf("journal %s: %w", held.ID, err))
		}
	}
	return errors.Join(errs...)
}

func (j *Journal) forgetHunks(known *Record, hunks []int) error {
	r, err := j.readRecord(*known)
	if err != nil {
		return err
	}
	for i := range r.Hunks {
		if len(hunks) == 0 || slices.Contains(hunks, i) {
			r.Hunks[i] = Hunk{Line: r.Hunks[i].Line} // the other hunks keep their indexes
		}
	}
	r.Forgotten = true
	data, err := r.encode()
	if err != nil {
		return err
	}
	if err := state.Write(j.recordPath(*known), data); err != nil {
		return err
	}
	known.Forgotten = true
	return nil
}
