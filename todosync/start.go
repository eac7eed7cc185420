package todosync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Start compares all files with the state saved by the last process. Call it
// once every file has been found; it may be called again. Without a saved
// state, Start only records the files. The only error is that of the context:
// unreadable files are retried later.
func (s *Syncer) Start(ctx context.Context) error {
	s.workMu.Lock()
	defer s.workMu.Unlock()
	return s.compareAll(ctx)
}

// wasClockAhead reports whether the clock was ahead when files were last seen. In that
// case the files of all days until now were too old to be kept.
func (s *Syncer) wasClockAhead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.catalogue.Since > s.rules().Last
}

// compareAll compares the tasks of all files with the catalogue of the last run. If the clock
// was ahead then, compareAll only records the tasks.
func (s *Syncer) compareAll(ctx context.Context) error {
	s.loadState()
	if s.wasClockAhead() {
		s.mu.Lock()
		s.catalogue, s.recordOnly = &Catalogue{}, true
		s.mu.Unlock()
	}
	rules := s.rules()
	s.mu.Lock()
	known := s.catalogue.clone()
	s.mu.Unlock()
	known.Prune(rules.First)
	var files []*File
	for _, listed := range s.List() {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("compare tasks: %w", err)
		}
		before := known.files[listed.Path]
		delete(known.files, listed.Path)
		if listed.Day != "" && listed.Day < rules.First ||
			before != nil && !before.Gone && before.Hash == hashDigest(listed.Hash) {
			continue
		}
		if f := s.readFile(listed.Path, rules); f != nil {
			files = append(files, f)
		}
	}
	for _, f := range known.Files() {
		if f := s.readFile(f.Path, rules); f != nil { // it may have lost its tasks
			files = append(files, f)
		}
	}
	s.recordFiles(files, rules)
	if s.recordOnly {
		s.Logger.Info("recorded the current tasks, synchronizing changes from now on", "files", len(files))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started, s.recordOnly = true, false
	s.wakeUpLocked()
	return nil
}

// loadState loads the state saved by the last process, once.
func (s *Syncer) loadState() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalogue != nil {
		return
	}
	s.attempts = map[string]*attempt{}
	var err error
	s.catalogue, s.requests, err = readState(s.State, s.Root)
	if s.Off && len(s.requests) > 0 {
		s.requests, s.dirty = nil, s.Now()
	}
	if err == nil {
		return
	}
	if !errors.Is(err, fs.ErrNotExist) {
		s.Logger.Warn("cannot read the task state, only new changes are synchronized", "err", err)
	}
	s.catalogue, s.requests, s.recordOnly = &Catalogue{}, nil, true
}
