package todosync

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"
)

// catchUpTime limits the time that a look waits for earlier saves.
const catchUpTime = 5 * time.Second

// look records the current content of files and creates the resulting wishes. A
// completion acts once, on the known state. If there is a completion, look
// therefore first reads the files that were saved earlier and not read since.
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

// completes reports whether the files contain a newly completed task.
func (s *Syncer) completes(files []*File, rules *Rules) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	done, _ := s.catalogue.clone().Learn(files, s.wishes, rules)
	return len(done) > 0
}

// readAll clears the hints of files and reads them. It omits files that cannot
// be read at present.
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
		o, ok := s.ours[path]
		switch {
		case f == nil:
		case ok && !f.Gone && f.Hash == o.before && s.now().Sub(o.at) < hindsight:
			s.hintLocked(path) // read again later
		default:
			delete(s.ours, path)
			files = append(files, f)
		}
		s.mu.Unlock()
	}
	return files
}

// anewLocked resets the retry state of a file that has changed. If its content
// is unchanged, anewLocked resets the state only after a refused write, because
// the owner or mode may have changed. Other failed writes may themselves have
// touched the file at their last step.
func (s *Syncer) anewLocked(path string, f *File) {
	known, a := s.catalogue.files[path], s.at[path]
	if a == nil || !a.refused && f != nil && known != nil && f.Gone == known.Gone && f.Hash == known.Hash {
		return
	}
	delete(s.at, path)
}

// tries and tryAgain bound the attempts to read a file that is unreadable, for
// example during a save. After the last attempt the file waits for the next
// change report.
const (
	tries    = 5
	tryAgain = 50 * time.Millisecond
)

// read returns the parsed state of a file, or nil if the file cannot be read or
// is too old.
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

// learn records files and creates the resulting wishes.
func (s *Syncer) learn(files []*File, rules *Rules) {
	s.mu.Lock()
	s.catalogue.Forget(rules.First)
	done := s.learnLocked(files, rules)
	if s.dirty.IsZero() && len(files) > 0 {
		s.dirty = s.now()
	}
	s.mu.Unlock()
	if len(done) > 0 {
		s.save(true) // saved at once, so that a restart does not see the completion as new
	}
}

func (s *Syncer) learnLocked(files []*File, rules *Rules) []Copy {
	c := s.catalogue
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
	wishes, unclear, _ := c.Resolve(done, rules)
	s.wishes = merge(s.wishes, wishes)
	for _, w := range unclear {
		s.logger().Info("a task that was done elsewhere is left alone: more than one box fits it equally", "path",
			w.Path)
	}
	return done
}
