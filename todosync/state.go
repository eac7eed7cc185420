package todosync

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/internal/state"
)

// stateVersion changes whenever the boxes of an older state would no longer
// match. A state of another version counts as lost.
const stateVersion = 4

// A savedState is the persistent part of a Syncer: the files seen and the pending
// requests.
type savedState struct {
	Version  int           `json:"version"`
	Root     string        `json:"root"`
	Since    string        `json:"since"`
	Files    []*File       `json:"files"`
	Requests []TickRequest `json:"wishes,omitempty"`
}

// readState reads the state of the last run. It sets a state of another root, or an invalid
// one, aside.
func readState(path, root string) (c *Catalogue, requests []TickRequest, err error) {
	var s savedState
	if err := state.Load(path, stateVersion, &s); err != nil {
		return nil, nil, err
	}
	if s.Root != root {
		return nil, nil, state.SetAside(path, fmt.Errorf("written for %s", s.Root))
	}
	c = &Catalogue{Since: s.Since, files: make(map[string]*File, len(s.Files))}
	for _, f := range s.Files {
		if f == nil || f.Path == "" ||
			slices.ContainsFunc(f.Boxes, func(b Box) bool { return b.State > Unticked || b.Section > FollowUps }) {
			return nil, nil, state.SetAside(path, errors.New("invalid file entry"))
		}
		c.files[f.Path] = f
	}
	return c, s.Requests, nil
}

// saveState writes unsaved state, either now or once saveAfter has passed. It
// reports whether all state is on disk.
func (s *Syncer) saveState(now bool) bool {
	s.mu.Lock()
	t := s.Now()
	if s.dirty.IsZero() || s.catalogue == nil {
		s.mu.Unlock()
		return s.unsaved == nil
	}
	if !now && t.Before(laterOf(s.dirty.Add(saveAfter), s.retry)) {
		s.mu.Unlock()
		return false
	}
	data, err := json.Marshal(savedState{Version: stateVersion, Root: s.Root, Since: s.catalogue.Since,
		Files: s.catalogue.Files(), Requests: s.requests})
	s.mu.Unlock()
	if err == nil {
		err = state.Write(s.State, data)
	}
	s.mu.Lock()
	changed := (err == nil) != (s.unsaved == nil)
	s.unsaved = err
	if err == nil {
		s.dirty, s.retry = time.Time{}, time.Time{}
	} else {
		s.retry = t.Add(maxWait / 10)
	}
	s.mu.Unlock()
	switch {
	case changed && err != nil:
		s.Logger.Warn("cannot save the task state, ticking is paused", "err", err)
	case changed:
		s.Logger.Info("task state is saved again")
	}
	return err == nil
}
