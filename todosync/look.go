package todosync

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"
)

// catchUpTime is the longest time that a look waits for earlier saves.
const catchUpTime = 5 * time.Second

// look learns the present content of files, and wishes what follows. A completion
// acts once, on all that is known: so if there is one, files that were saved before
// it and have not been read since are read first.
func (s *Syncer) look(paths []string) {
	rules := s.Rules()
	files := s.readAll(paths, rules)
	if s.CatchUp != nil && s.completes(files, rules) {
		ctx, cancel := context.WithTimeout(context.Background(), catchUpTime)
		err := s.CatchUp(ctx)
		cancel()
		if err != nil {
			s.logger().Debug("tasks are compared without waiting for earlier saves", "err", err)
		}
		s.mu.Lock()
		newer := slices.Sorted(maps.Keys(s.hints))
		s.mu.Unlock()
		files = slices.DeleteFunc(files, func(f *File) bool { return slices.Contains(newer, f.Path) })
		files = append(files, s.readAll(newer, rules)...)
	}
	s.learn(files, rules)
}

// completes reports whether a task was done in one of the files.
func (s *Syncer) completes(files []*File, rules *Rules) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	done, _ := s.catalogue.clone().Learn(files, s.wishes, rules)
	return len(done) > 0
}

// readAll takes the hints of files and reads them. It omits files that cannot be
// read for the moment.
func (s *Syncer) readAll(paths []string, rules *Rules) []*File {
	var files []*File
	for _, path := range paths {
		s.mu.Lock()
		delete(s.hints, path)
		if wishes := s.takenBack[path]; len(wishes) > 0 {
			delete(s.takenBack, path)
			s.catalogue.untick(path, wishes, rules)
			s.wishes = merge(s.wishes, wishes)
		}
		s.mu.Unlock()
		f := s.read(path, rules)
		s.mu.Lock()
		s.anewLocked(path, f)
		s.mu.Unlock()
		if f == nil {
			continue
		}
		s.mu.Lock()
		if o, ok := s.ours[path]; ok && !f.Gone && f.Hash == o.before && s.now().Sub(o.at) < hindsight {
			s.hintLocked(path) // once more, in a while
			f = nil
		} else {
			delete(s.ours, path)
		}
		s.mu.Unlock()
		if f != nil {
			files = append(files, f)
		}
	}
	return files
}

// anewLocked gives a file that has changed a new chance. One that says what it
// did has it only if it was refused, which may have been for its owner or mode:
// a try that fails at its last step is a change of the file too.
func (s *Syncer) anewLocked(path string, f *File) {
	known, a := s.catalogue.files[path], s.at[path]
	if a == nil || !a.refused && f != nil && known != nil && f.Gone == known.Gone && f.Hash == known.Hash {
		return
	}
	delete(s.at, path)
}

// A file that cannot be read, as while it is being saved, is tried again so often,
// after so long. Then it is left to whoever tells that it has changed.
const (
	tries    = 5
	tryAgain = 50 * time.Millisecond
)

// read is what is compared of a file; nil if it cannot be told, or is too old.
func (s *Syncer) read(path string, rules *Rules) *File {
	doc, err := s.Files.Load(path)
	for n := 1; n < tries && err != nil && !errors.Is(err, fs.ErrNotExist); n++ {
		time.Sleep(tryAgain)
		doc, err = s.Files.Load(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &File{Path: path, Gone: true}
	case err != nil || doc.Stale:
		return nil
	}
	if f := FileOf(doc); f.Day == "" || f.Day >= rules.First {
		return f
	}
	return nil
}

// learn takes note of files, and wishes what follows.
func (s *Syncer) learn(files []*File, rules *Rules) {
	s.mu.Lock()
	s.catalogue.Forget(rules.First)
	done := s.learnLocked(s.catalogue, files, rules)
	if s.dirty.IsZero() && len(files) > 0 {
		s.dirty = s.now()
	}
	s.mu.Unlock()
	if len(done) > 0 {
		s.save(true) // it must not be seen for the first time again
	}
}

func (s *Syncer) learnLocked(c *Catalogue, files []*File, rules *Rules) []Copy {
	done, moved := c.Learn(files, s.wishes, rules)
	if s.Off {
		done = nil
	}
	for i := range s.wishes {
		d := &s.wishes[i].Done
		if f := c.files[moved[d.Path]]; f != nil {
			d.Path, d.Day, d.Contact = f.Path, f.Day, f.Contact
		}
	}
	s.wishes = merge(c.Standing(s.wishes, rules), nil)
	wishes, unclear := c.Resolve(done, rules)
	s.wishes = merge(s.wishes, wishes)
	for _, w := range unclear {
		s.logger().Info("a task that was done elsewhere is left alone: more than one box fits it equally", "path", w.Path)
	}
	return done
}
