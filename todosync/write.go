package todosync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

const (
	minWait = time.Second     // first delay before a retry
	maxWait = 5 * time.Minute // longest delay before a retry
)

// cause is the cause of every write of this package.
const cause = "todo"

// writeDue ticks the boxes of due requests, one file after the other, and returns
// the ticked boxes.
func (s *Syncer) writeDue(ctx context.Context) (ticked []Copy) {
	s.mu.Lock()
	s.requests = s.catalogue.StillValid(s.requests, s.rules()) // the day may have changed
	s.mu.Unlock()
	group := ""
	for path, requests := s.dueAfter(""); path != ""; path, requests = s.dueAfter(path) {
		// Save the request before acting on it, so that a restart does not take
		// the tick for a manual change.
		if ctx.Err() != nil || !s.saveState(true) {
			return ticked
		}
		id, boxes, err := s.tickFile(ctx, path, requests, group)
		group, ticked = cmp.Or(group, id), append(ticked, boxes...)
		if ctx.Err() != nil {
			return ticked
		}
		s.recordAttempt(path, err)
	}
	if group != "" {
		s.saveState(true)
	}
	return ticked
}

// dueAfter returns the first path after last that has requests to attempt now,
// with these requests.
func (s *Syncer) dueAfter(last string) (path string, list []TickRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.requests {
		if path != "" && w.Path != path {
			break
		}
		if at, ok := s.dueLocked(&w); ok && w.Path > last && !s.Now().Before(at) {
			path, list = w.Path, append(list, w)
		}
	}
	return path, list
}

// dueLocked returns the earliest time to attempt a request. It reports false if
// the request must first wait until one of its files is read.
func (s *Syncer) dueLocked(w *TickRequest) (at time.Time, ok bool) {
	a := s.attempts[w.Path]
	switch {
	case s.hints[w.Path] || s.hints[w.Done.Path]:
		return time.Time{}, false
	case a != nil:
		at = a.after
	}
	return laterOf(at, s.retry), true
}

// tickFile executes the requests of one file. It returns the id of the change and the boxes
// that it ticked.
func (s *Syncer) tickFile(ctx context.Context, path string, requests []TickRequest, group string) (id string,
	ticked []Copy,
	err error) {
	rules := s.rules()
	var before, after *File
	written, err := s.Writer.Write(ctx, vault.Change{
		Path: path, Cause: cause, Group: group, Reason: changeReason(requests),
		Edit: s.editDocument(path, func(doc *memory.Document, parse Parse) ([]byte, error) {
			out, err := rules.Tick(doc, requests, parse)
			before, after = nil, nil
			if out != nil {
				before, after = fileOf(doc), fileOf(parse(out))
			}
			return out, err
		}),
	})
	if err != nil {
		return "", nil, err
	}
	if !written.Changed {
		return "", nil, errChanged
	}
	if after != nil {
		for i := range after.Boxes {
			if before.Boxes[i].State != after.Boxes[i].State {
				ticked = append(ticked, after.Copy(i))
			}
		}
		s.mu.Lock()
		s.recordFilesLocked([]*File{after}, rules)
		s.dirty = s.Now()
		s.mu.Unlock()
		s.Logger.Info("ticked tasks that were done elsewhere", "path", path, "tasks", len(requests))
	}
	s.dropRequests(path)
	return written.ID, ticked, nil
}

// errChanged is the error of tickFile if the file has no box to tick: the user has
// saved it since it was last read, or is saving it.
var errChanged = errors.New("the file has changed since the last read")

func changeReason(requests []TickRequest) string {
	others := map[string]bool{}
	for _, w := range requests {
		others[w.Done.Path] = true
	}
	reason := "done in " + requests[0].Done.Path
	if n := len(others) - 1; n > 0 {
		reason += fmt.Sprintf(" and %d more", n)
	}
	return reason
}

func (s *Syncer) dropRequests(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = slices.DeleteFunc(s.requests, func(w TickRequest) bool { return w.Path == path })
	s.dirty = s.Now()
	delete(s.attempts, path)
}

// recordAttempt records the result of an attempt and schedules the next one.
func (s *Syncer) recordAttempt(path string, err error) {
	if err == nil {
		return
	}
	refused, isRefused := errors.AsType[*vault.RefusedError](err)
	later, isLater := errors.AsType[*vault.WaitError](err)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.attempts[path]
	if a == nil {
		a = &attempt{}
		s.attempts[path] = a
	}
	a.wait = min(max(2*a.wait, minWait), maxWait)
	first, wait, unexpected := a.reason == "", a.wait, false
	a.refused = isRefused
	switch {
	case isRefused:
		wait, a.reason, unexpected = maxWait, refused.Reason, true // the cause may lie outside the file, so try again
	case isLater:
		wait, a.reason = max(later.For, minWait/10), later.Reason // the error contains the time
	case errors.Is(err, errChanged), errors.Is(err, fs.ErrNotExist):
		// The next read decides whether the requests still stand. A file that was
		// briefly moved away may return unchanged.
		a.reason = errChanged.Error()
		s.hintLocked(path)
		s.wakeUpLocked()
	case errors.Is(err, vault.ErrOff):
		a.reason = vault.ErrOff.Error()
	case errors.Is(err, vault.ErrBusy):
		a.reason = vault.ErrBusy.Error()
	default:
		a.reason, unexpected = err.Error(), true
	}
	a.after = s.Now().Add(wait)
	if first && unexpected {
		s.Logger.Warn("cannot tick a task", "path", path, "err", err)
	}
}
