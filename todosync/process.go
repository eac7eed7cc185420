package todosync

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"
)

// catchUpTime limits the time that processFiles waits for earlier saves.
const catchUpTime = 5 * time.Second

// processFiles records the current content of files and creates the resulting
// requests. A completion acts once, on the known state. If there is a
// completion, processFiles therefore first reads the files that were saved
// earlier and not read since. Reported are the files whose completions a program
// reports now.
func (s *Syncer) processFiles(paths, reported []string) {
	rules := s.rules()
	files := s.readAll(paths, rules)
	if s.CatchUp != nil && s.hasCompletion(files, rules) {
		ctx, cancel := context.WithTimeout(context.Background(), catchUpTime)
		err := s.CatchUp(ctx)
		cancel()
		if err != nil {
			s.Logger.Debug("comparing tasks without waiting for earlier saves", "err", err)
		}
		s.mu.Lock()
		newer := slices.Sorted(maps.Keys(s.hints))
		s.mu.Unlock()
		files = slices.DeleteFunc(files, func(f *File) bool { return slices.Contains(newer, f.Path) })
		files = append(files, s.readAll(newer, rules)...)
	}
	for _, f := range files {
		f.Reported = slices.Contains(reported, f.Path)
	}
	s.recordFiles(files, rules)
}

func (s *Syncer) hasCompletion(files []*File, rules *Rules) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	done, _ := s.catalogue.clone().Update(files, s.requests, rules)
	return len(done) > 0
}

// readAll clears the hints of files and reads them. It omits files that cannot
// be read at present.
func (s *Syncer) readAll(paths []string, rules *Rules) []*File {
	var files []*File
	for _, path := range paths {
		s.mu.Lock()
		delete(s.hints, path)
		s.mu.Unlock()
		f := s.readFile(path, rules)
		s.mu.Lock()
		s.resetAttemptLocked(path, f)
		s.mu.Unlock()
		if f != nil {
			files = append(files, f)
		}
	}
	return files
}

// resetAttemptLocked resets the retry state of a file that has changed. If its
// content is unchanged, resetAttemptLocked resets the state only after a
// refused write, because the owner or mode may have changed. Other failed
// writes may themselves have touched the file at their last step.
func (s *Syncer) resetAttemptLocked(path string, f *File) {
	known, a := s.catalogue.files[path], s.attempts[path]
	if a == nil || !a.refused && f != nil && known != nil && f.Gone == known.Gone && f.Hash == known.Hash {
		return
	}
	delete(s.attempts, path)
}

// maxReads and readRetryPause bound the attempts to read a file that is
// unreadable, for example during a save. After the last attempt the file waits
// for the next change report.
const (
	maxReads       = 5
	readRetryPause = 50 * time.Millisecond
)

// readFile returns the parsed state of a file, or nil if the file cannot be
// read or is too old.
func (s *Syncer) readFile(path string, rules *Rules) *File {
	doc, err := s.Files.Load(path)
	for n := 1; n < maxReads && err != nil && !errors.Is(err, fs.ErrNotExist); n++ {
		time.Sleep(readRetryPause)
		doc, err = s.Files.Load(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &File{Path: path, Gone: true}
	case err != nil || doc.Stale:
		return nil
	}
	if f := fileOf(doc); f.Day == "" || f.Day >= rules.First {
		return f
	}
	return nil
}

// recordFiles records files and creates the resulting requests.
func (s *Syncer) recordFiles(files []*File, rules *Rules) {
	s.mu.Lock()
	s.catalogue.Prune(rules.First)
	done := s.recordFilesLocked(files, rules)
	if s.dirty.IsZero() && (len(files) > 0 || s.recordOnly) {
		s.dirty = s.Now()
	}
	s.mu.Unlock()
	if len(done) > 0 || s.recordOnly {
		s.saveState(true) // saved at once, so that a restart does not see the completion as new
	}
}

// recordFilesLocked updates the catalogue and the pending requests, and returns the copies of
// tasks that were done in the files.
func (s *Syncer) recordFilesLocked(files []*File, rules *Rules) []Copy {
	c := s.catalogue
	days := map[string]string{}
	for _, w := range s.requests {
		if f := c.files[w.Path]; f != nil {
			days[w.Path] = f.Day
		}
	}
	done, moved := c.Update(files, s.requests, rules)
	if s.Off || s.recordOnly {
		done = nil
	}
	for i := range s.requests {
		w := &s.requests[i]
		if f := c.files[moved[w.Path]]; f != nil && f.Day == days[w.Path] {
			w.Path = f.Path
		}
		d := &w.Done
		if f := c.files[moved[d.Path]]; f != nil {
			d.Path, d.Day, d.Contact = f.Path, f.Day, f.Contact
		}
	}
	s.requests = mergeRequests(c.StillValid(s.requests, rules), nil)
	requests, unclear := c.Resolve(done, rules)
	s.requests = mergeRequests(s.requests, requests)
	for _, w := range unclear {
		s.Logger.Info("task not ticked, more than one box matches equally", "path",
			w.Path)
	}
	return done
}
