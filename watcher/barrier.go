package watcher

import (
	"slices"
	"time"
)

// A barrier is behind all marks that were sent before it: done is called once,
// when they have been delivered.
type barrier struct {
	seq  uint64
	done func(error)
}

// flush makes every entry due that the newest barrier waits for and that only
// waits to be quiet, to be closed, or for its first retry. Each costs a look at
// the file, so flush runs once for all barriers that arrive together, and skips
// files that were seen to be gone: an event reports their return. No event
// reports that a file was closed.
func (s *settler) flush(now time.Time) {
	newest := s.barriers[len(s.barriers)-1].seq
	for _, e := range s.entries {
		switch {
		case e.now, e.seq > newest:
			continue
		case !e.gone.IsZero() && !e.fresh:
			continue
		case e.tries > 1 && e.err == nil && !e.busy:
			continue // it could not be read, more than once
		}
		if s.check(now, e) {
			e.now = true
			s.schedule(e, now)
		}
	}
}

// pass lets the barriers through that have nothing left to wait for.
func (s *settler) pass() {
	if len(s.barriers) == 0 {
		return
	}
	oldest := min(s.scanned.oldest(), s.inFlight.oldest())
	for _, e := range s.entries {
		if !e.free && e.why != Verify {
			oldest = min(oldest, e.seq)
		}
	}
	s.barriers = slices.DeleteFunc(s.barriers, func(b *barrier) bool {
		if oldest <= b.seq {
			return false
		}
		b.done(nil)
		return true
	})
}

// fail tells the barriers that wait for what was marked at seq that it will not
// be delivered.
func (s *settler) fail(seq uint64, err error) {
	s.barriers = slices.DeleteFunc(s.barriers, func(b *barrier) bool {
		if b.seq < seq {
			return false
		}
		b.done(err)
		return true
	})
}

// oldest is when the first of the paths was marked that a barrier waits for.
func (b *batch) oldest() uint64 {
	oldest := uint64(never)
	if b != nil {
		for _, e := range b.entries {
			if e.why != Verify {
				oldest = min(oldest, e.seq)
			}
		}
	}
	return oldest
}
