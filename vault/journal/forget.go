package journal

import (
	"errors"
	"fmt"
	"slices"
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
