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

// Newest returns the ID of the newest change, or "".
func (j *Journal) Newest() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.records) == 0 {
		return ""
	}
	return j.records[len(j.records)-1].ID
}

// Forget permanently removes the hunks for which holds reports true from the changes for
// which concerns does. The changes stay in the journal but cannot be undone. An error lists
// the changes that cannot be read or rewritten.
func (j *Journal) Forget(concerns func(Record) bool, holds func(Record, Hunk) bool) error {
	j.mu.Lock()
	known := slices.Clone(j.records)
	j.mu.Unlock()
	var errs []error
	for _, r := range known {
		if concerns(r) {
			if err := j.forgetHunks(r.ID, holds); err != nil {
				errs = append(errs, fmt.Errorf("journal %s: %w", r.ID, err))
			}
		}
	}
	return errors.Join(errs...)
}

// forgetHunks removes hunks from a change, if it is still in the journal.
func (j *Journal) forgetHunks(id string, holds func(Record, Hunk) bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, ok := j.findRecord(id)
	if !ok {
		return nil
	}
	r, err := j.readRecord(j.records[i])
	if err != nil {
		return err
	}
	found := false
	for i, h := range r.Hunks {
		if holds(r, h) {
			found, r.Hunks[i] = true, Hunk{Line: h.Line} // the other hunks keep their indexes
		}
	}
	if !found {
		return nil
	}
	r.Forgotten = true
	data, err := r.encode()
	if err != nil {
		return err
	}
	if err := state.Write(j.recordPath(j.records[i]), data); err != nil {
		return err
	}
	j.records[i].Forgotten = true
	return nil
}
