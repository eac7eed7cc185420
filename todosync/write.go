package todosync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

const (
	minWait = time.Second     // first delay before a retry
	maxWait = 5 * time.Minute // longest delay before a retry
)

// Cause is the cause of every write of this package.
const Cause = "todo"

// write ticks the boxes of due wishes, one file after the other, and returns
// the ticked boxes.
func (s *Syncer) write(ctx context.Context) (ticked []Copy) {
	s.mu.Lock()
	s.wishes = s.catalogue.Standing(s.wishes, s.Rules()) // the day may have changed
	s.mu.Unlock()
	group := ""
	for path, wishes := s.dueAfter(""); path != ""; path, wishes = s.dueAfter(path) {
		// Save the wish before acting on it, so that a restart does not take
		// the tick for a manual change.
		if ctx.Err() != nil || !s.save(true) {
			return ticked
		}
		id, boxes, err := s.tick(ctx, path, wishes, group)
		group, ticked = cmp.Or(group, id), append(ticked, boxes...)
		if ctx.Err() != nil {
			return ticked
		}
		s.note(path, err)
	}
	if group != "" {
		s.save(true)
	}
	return ticked
}

// dueAfter returns the first path after last that has wishes to attempt now,
// with these wishes.
func (s *Syncer) dueAfter(last string) (path string, list []Wish) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.wishes {
		if path != "" && w.Path != path {
			break
		}
		if at, ok := s.dueLocked(&w); ok && w.Path > last && !s.now().Before(at) {
			path, list = w.Path, append(list, w)
		}
	}
	return path, list
}

// dueLocked returns the earliest time to attempt a wish. It reports false if
// the wish must first wait until one of its files is read.
func (s *Syncer) dueLocked(w *Wish) (at time.Time, ok bool) {
	a := s.at[w.Path]
	switch {
	case s.hints[w.Path] || s.hints[w.Done.Path]:
		return time.Time{}, false
	case a != nil:
		at = a.after
	}
	return laterOf(at, s.retry), true
}

// tick fulfils wishes in one file.
func (s *Syncer) tick(ctx context.Context, path string, wishes []Wish, group string) (id string, ticked []Copy,
	err error) {
	rules := s.Rules()
	var before, after *File
	written, err := s.Writer.Write(ctx, vault.Change{
		Path: path, Cause: Cause, Group: group, Reason: reasonOf(wishes),
		Edit: s.edit(path, func(doc *memory.Document, parse Parse) ([]byte, error) {
			out, err := rules.Tick(doc, wishes, parse)
			before, after = nil, nil
			if out != nil {
				before, after = FileOf(doc), FileOf(parse(out))
			}
			return out, err
		}),
	})
	if err != nil {
		return "", nil, err
	}
	if !written.Changed {
		return "", nil, errOther
	}
	if after != nil {
		for i := range after.Boxes {
			if before.Boxes[i].State != after.Boxes[i].State {
				ticked = append(ticked, after.Copy(i))
			}
		}
		s.mu.Lock()
		s.ours[path] = own{before.Hash, s.now()}
		s.rememberLocked(path, wishes)
		s.learnLocked([]*File{after}, rules)
		s.dirty = s.now()
		s.mu.Unlock()
		s.logger().Info("ticked what was done elsewhere", "path", path, "tasks", len(wishes))
	}
	s.drop(path)
	return written.ID, ticked, nil
}

// settledAfter is well above the time within which a write may be reverted.
const settledAfter = time.Hour

// rememberLocked records the wishes that a write fulfilled, in case the write
// is reverted.
func (s *Syncer) rememberLocked(path string, wishes []Wish) {
	now := s.now()
	maps.DeleteFunc(s.ticks, func(_ string, t ticks) bool { return now.Sub(t.at) > settledAfter })
	s.ticks[path] = ticks{wishes, now}
}

// errOther is the error of tick if the file has no box to tick: the user has
// saved it since it was last read, or is saving it.
var errOther = errors.New("it has changed since it was last read")

// reasonOf returns the reason for a change, as shown to the user.
func reasonOf(wishes []Wish) string {
	others := map[string]bool{}
	for _, w := range wishes {
		others[w.Done.Path] = true
	}
	reason := "done in " + wishes[0].Done.Path
	if n := len(others) - 1; n > 0 {
		reason += fmt.Sprintf(" and %d more", n)
	}
	return reason
}

// drop removes the fulfilled wishes of a file.
func (s *Syncer) drop(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wishes = slices.DeleteFunc(s.wishes, func(w Wish) bool { return w.Path == path })
	s.dirty = s.now()
	delete(s.at, path)
}

// note records the result of an attempt and schedules the next one.
func (s *Syncer) note(path string, err error) {
	if err == nil {
		return
	}
	other := errors.Is(err, errOther) || errors.Is(err, fs.ErrNotExist)
	refused, isRefused := errors.AsType[*vault.RefusedError](err)
	later, isLater := errors.AsType[*vault.WaitError](err)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.at[path]
	if a == nil {
		a = &attempt{}
		s.at[path] = a
	}
	a.wait = min(max(2*a.wait, minWait), maxWait)
	first, wait := a.reason == "", a.wait
	a.refused = isRefused
	switch {
	case isRefused:
		wait, a.reason = maxWait, refused.Reason // the cause may lie outside the file, so try again
	case isLater:
		wait, a.reason = max(later.For, minWait/10), later.Reason // the error contains the time
	case other:
		// The next read decides whether the wishes still stand. A file that was
		// briefly moved away may return unchanged.
		a.reason = errOther.Error()
		s.hintLocked(path)
		s.wakeUpLocked()
	case errors.Is(err, vault.ErrOff):
		a.reason = vault.ErrOff.Error()
	case errors.Is(err, vault.ErrBusy):
		a.reason = vault.ErrBusy.Error()
	default:
		a.reason = err.Error()
	}
	a.after = s.now().Add(wait)
	if expected := isLater || other || errors.Is(err, vault.ErrOff) ||
		errors.Is(err, vault.ErrBusy); first && !expected {
		s.logger().Warn("task cannot be ticked", "path", path, "err", err)
	}
}
