package todosync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/memwatchd/memwatchd/vault"
)

// Start compares all files with the state saved by the last process. Call it
// once every file has been found; it may be called again. Without a saved
// state, Start only records the files.
func (s *Syncer) Start(ctx context.Context) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	return s.survey(ctx)
}

// ahead reports whether the clock was ahead when files were last seen. In that
// case the files of all days until now were too old to be kept.
func (s *Syncer) ahead(r *Rules) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.catalogue.Since > r.Last
}

// survey compares all files with their known state.
func (s *Syncer) survey(ctx context.Context) error {
	first := s.recall()
	rules := s.Rules()
	ahead := s.ahead(rules)
	s.mu.Lock()
	known := s.catalogue.clone()
	s.mu.Unlock()
	known.Forget(rules.First)
	var files []*File
	for _, listed := range s.List() {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("compare tasks: %w", err)
		}
		was := known.files[listed.Path]
		delete(known.files, listed.Path)
		if listed.Day != "" && listed.Day < rules.First ||
			was != nil && !was.Gone && was.Hash == HashDigest(listed.Hash) {
			continue
		}
		if f := s.read(listed.Path, rules); f != nil {
			files = append(files, f)
		}
	}
	for _, f := range known.Files() {
		if f := s.read(f.Path, rules); f != nil { // it may have lost its tasks
			files = append(files, f)
		}
	}
	if first {
		s.mu.Lock()
		s.catalogue.Learn(files, nil, rules)
		s.catalogue.Forget(rules.First)
		s.dirty = s.now()
		s.mu.Unlock()
		s.save(true)
		s.logger().Info("tasks are noted as they are, what is done from now on is ticked elsewhere too", "files",
			len(files))
	} else {
		s.learn(files, rules)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ahead {
		s.catalogue.Since, s.dirty = rules.First, s.now()
	}
	s.started = true
	s.wakeUpLocked()
	return nil
}

// recall loads the state saved by the last process and reports whether there
// was none.
func (s *Syncer) recall() (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalogue != nil {
		return s.first && !s.started
	}
	s.at, s.ours = map[string]*attempt{}, map[string]own{}
	s.ticks, s.takenBack = map[string]ticks{}, map[string][]Wish{}
	data, err := vault.ReadState(s.State)
	if err == nil {
		s.catalogue, s.wishes, err = decodeState(s.Root, data)
	}
	if s.Off && len(s.wishes) > 0 {
		s.wishes, s.dirty = nil, s.now()
	}
	if err == nil {
		return false
	}
	if !errors.Is(err, fs.ErrNotExist) {
		s.logger().Warn("what was known of tasks is lost, none are ticked until something changes", "err", err)
	}
	s.catalogue, s.wishes, s.first = &Catalogue{}, nil, true
	return true
}
