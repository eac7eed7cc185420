package watcher

import (
	"slices"
	"time"
)

// A barrier completes after every mark sent before it has been delivered. The
// debouncer calls done once.
type barrier struct {
	seq  uint64
	done func(error)
}

// skipDebounce checks each entry that the newest barrier waits for, without
// waiting for its debounce time or its retry. Each check costs a system call, so
// skipDebounce runs once for all barriers that arrive together.
func (s *debouncer) skipDebounce(now time.Time) {
	newest := s.barriers[len(s.barriers)-1].seq
	for _, e := range s.byPath {
		if e.seq <= newest {
			s.checkEarly(now, e)
		}
	}
}

// checkEarly checks an entry before it is due, and makes it due now if it may be
// delivered. It skips files that the last check found missing, because an event
// reports their return, and files that the sink has returned several times. It
// does not skip open files, because no event reports that a file was closed.
func (s *debouncer) checkEarly(now time.Time, e *pendingPath) {
	switch {
	case e.checked:
		return
	case !e.missingSince.IsZero() && !e.unchecked:
		return
	case e.tries >= awaitedTries && e.err == nil && !e.open:
		return
	}
	if s.checkPath(now, e) {
		e.checked, e.due = true, now
	}
}

// completeBarriers completes the barriers that no longer wait for any path.
func (s *debouncer) completeBarriers() {
	if len(s.barriers) == 0 {
		return
	}
	oldest := min(s.scanned.oldestSeq(), s.inFlight.oldestSeq())
	for _, e := range s.byPath {
		if !e.unawaited && e.reason != Verify {
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

// failBarriers completes, with err, the barriers sent after the mark with
// sequence number seq, which will not be delivered.
func (s *debouncer) failBarriers(seq uint64, err error) {
	s.barriers = slices.DeleteFunc(s.barriers, func(b *barrier) bool {
		if b.seq < seq {
			return false
		}
		b.done(err)
		return true
	})
}

// oldestSeq returns the lowest sequence number of the batch's paths, without
// Verify paths, which no barrier waits for. It returns never for an empty or
// nil batch.
func (b *batch) oldestSeq() uint64 {
	oldest := uint64(never)
	if b != nil {
		for _, e := range b.items {
			if e.reason != Verify {
				oldest = min(oldest, e.seq)
			}
		}
	}
	return oldest
}
