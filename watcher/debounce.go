package watcher

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// chunkSize is the number of scanned paths in one batch. Between chunks,
	// newly saved files go first.
	chunkSize = 1000
	// firstRetry and lastRetry are the shortest and longest delays before the
	// retry of a path that could not be read.
	firstRetry = 250 * time.Millisecond
	lastRetry  = time.Minute
	// closeWait is the time a barrier waits for a changed file that is open for
	// writing. If a process saves a file in one thread and starts a program in
	// another, the child holds the file open until it calls exec, which may be
	// after the save has returned.
	closeWait = 50 * time.Millisecond
	// awaitedTries is the number of deliveries for which a barrier waits if the
	// sink returns the path each time. A file that another program opens, moves
	// or changes while it is read is complete soon; others may never be.
	awaitedTries = 4
)

// A hint is a hint that a path may have changed, or a barrier.
type hint struct {
	path   string
	reason Reason
	// expand, if not nil, returns the paths that replace path. The debouncer calls
	// it when it processes the mark, and passes the paths being delivered at
	// that time, because the sink may be about to know them.
	expand  func(inFlight []string) []string
	barrier *barrier
}

// pathState is the result of a check of a path: whether it has stopped changing.
type pathState uint8

const (
	pathReady   pathState = iota // no process has it open for writing
	pathWriting                  // a process has it open for writing
	pathGone                     // the file does not exist
)

// A batch holds the paths of one delivery, sorted.
type batch struct {
	reason  Reason
	paths   []string
	items   []*pendingPath // the entries of paths
	started uint64         // sequence number of the last mark before the delivery
}

// debouncer collects marks, debounces their paths and delivers them. It is
// independent of the source of the marks and uses only times of the time
// package.
type debouncer struct {
	debounce, maxWait, deletionDelay time.Duration

	checkState func(path string) pathState
	deliver    func(context.Context, batch) (retry []string, err error) // never called concurrently

	pending atomic.Int64 // saved paths that are known to differ and not yet delivered

	seq      uint64
	byPath   map[string]*pendingPath
	scanned  queue // paths found by scans, not yet checked
	verify   queue // paths to compare by content
	barriers []*barrier
	inFlight *batch
}

// A pendingPath is a path that has changed or that must be delivered again.
type pendingPath struct {
	path         string
	seq          uint64
	reason       Reason
	unchecked    bool
	first        time.Time // time of the first undelivered change
	last         time.Time // time of the last one, not counting changes after a barrier that waits for the entry
	missingSince time.Time // since when checks have found it missing
	due          time.Time
	checked      bool  // has just been checked and may be delivered
	open         bool  // the last check found it open for writing
	overdue      bool  // it has been open for longer than maxWait
	unawaited    bool  // no barrier waits for it: it stays open for writing or could not be read
	tries        int   // number of failed deliveries since the last change
	returned     int   // number of deliveries in a row after which the sink returned it
	err          error // error of the last delivery, if it returned one
}

// A pathKind is the kind of a path that may be delivered. Each kind forms batches of its
// own, the lowest first.
type pathKind int

const (
	kindOverdue pathKind = iota
	kindReady
	kindGone
	notReady
)

func (e *pendingPath) kind() pathKind {
	switch {
	case e.overdue:
		return kindOverdue
	case !e.missingSince.IsZero():
		return kindGone
	}
	return kindReady
}

// run processes marks and deliveries until ctx is done.
func (s *debouncer) run(ctx context.Context, in <-chan []hint) {
	s.byPath = make(map[string]*pendingPath)
	results := make(chan func())
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var next *batch
		wait := time.Hour
		if s.inFlight == nil {
			next, wait = s.nextBatch(time.Now())
			s.inFlight = next
		}
		s.publishPending()
		s.completeBarriers()
		if next != nil {
			go func() {
				retry, err := s.deliver(ctx, *next)
				results <- func() { s.finishDelivery(time.Now(), retry, err) }
			}()
		}
		timer.Reset(wait)
		select {
		case marks := <-in:
			now, barriers := time.Now(), len(s.barriers)
			for _, m := range marks {
				s.addHint(now, m)
			}
			if len(s.barriers) > barriers {
				s.skipDebounce(now)
			}
		case result := <-results:
			result()
		case <-timer.C:
		case <-ctx.Done():
			if s.inFlight != nil {
				(<-results)()
			}
			s.failBarriers(0, context.Cause(ctx))
			return
		}
	}
}

// addHint adds a hint. Only an event starts or extends the debounce of its path; a scan leaves
// that of a pending path as it is.
func (s *debouncer) addHint(now time.Time, m hint) {
	if m.expand != nil {
		var inFlight []string
		if s.inFlight != nil {
			inFlight = s.inFlight.paths
		}
		for _, path := range m.expand(inFlight) {
			s.addHint(now, hint{path: path, reason: m.reason})
		}
		return
	}
	s.seq++
	switch {
	case m.barrier != nil:
		m.barrier.seq = s.seq
		s.barriers = append(s.barriers, m.barrier)
	case m.reason == Verify:
		if !s.scanned.has(m.path) { // else it is read anyway
			s.verify.add(m.path, s.seq)
		}
	case m.reason == Scan:
		if e := s.byPath[m.path]; e == nil {
			s.scanned.add(m.path, s.seq)
		} else {
			s.mergeScanned(now, e, Scan, s.seq)
		}
	default:
		e := s.ensurePath(m.path, s.seq)
		if e.first.IsZero() || e.tries > 0 {
			e.first = now
		}
		e.unchecked = true
		e.reason, e.checked, e.overdue, e.unawaited, e.tries, e.err = Event, false, false, false, 0, nil
		if n := len(s.barriers); n > 0 && e.seq <= s.barriers[n-1].seq {
			e.due = now // a barrier that waits for the entry skips the debounce
		} else {
			e.last, e.returned = now, 0
			e.due = earlier(now.Add(s.debounce), e.first.Add(s.maxWait))
		}
	}
}

func (s *debouncer) ensurePath(path string, seq uint64) *pendingPath {
	e := s.byPath[path]
	if e == nil {
		e = &pendingPath{path: path, seq: seq}
		s.byPath[path] = e
	}
	return e
}

// checkPath checks a path and reports whether it may be delivered now. If not,
// checkPath schedules the next check.
func (s *debouncer) checkPath(now time.Time, e *pendingPath) bool {
	e.unchecked = false
	if e.first.IsZero() {
		e.first, e.last = now, now
	}
	state := s.checkState(e.path)
	e.open = state == pathWriting
	switch state {
	case pathGone:
		e.overdue, e.unawaited = false, false
		if e.missingSince.IsZero() {
			e.missingSince = now
		}
		if until := e.missingSince.Add(s.deletionDelay); now.Before(until) {
			e.due = until
			return false
		}
		return true
	case pathWriting:
		closed := e.last.Add(closeWait)
		e.unawaited, e.missingSince = e.overdue || !now.Before(closed), time.Time{}
		limit := e.first.Add(s.maxWait)
		switch {
		case e.overdue:
			// The current content has been delivered already.
			e.due = now.Add(s.maxWait)
			return false
		case now.Before(limit):
			next := earlier(now.Add(s.debounce), limit)
			if !e.unawaited {
				next = earlier(next, closed)
			}
			e.due = next
			return false
		}
		e.overdue = true
		return true
	default:
		e.overdue, e.unawaited, e.missingSince = false, false, time.Time{}
		return true
	}
}

// nextBatch returns the next batch of due paths, or the time to wait. Each path is
// due by its own changes only, however many others change meanwhile. A checkout
// forms few batches all the same, because a batch takes all paths that became due
// while the one before was delivered.
func (s *debouncer) nextBatch(now time.Time) (*batch, time.Duration) {
	b := &batch{reason: Gone, started: s.seq}
	kind := notReady
	for _, e := range s.byPath {
		if now.Before(e.due) || !e.checked && !s.checkPath(now, e) {
			continue // checkPath has rescheduled it
		}
		e.checked, e.due = true, now
		kind = min(kind, e.kind())
	}
	for _, e := range s.byPath {
		if e.checked && e.kind() == kind {
			s.addToBatch(b, e)
		}
	}
	if len(b.paths) == 0 {
		s.takeChunk(now, b, Scan, &s.scanned)
	}
	if len(b.paths) == 0 {
		s.takeChunk(now, b, Verify, &s.verify)
	}
	if len(b.paths) > 0 {
		slices.Sort(b.paths)
		return b, time.Hour
	}
	wait := time.Hour
	for _, e := range s.byPath {
		wait = min(wait, e.due.Sub(now))
	}
	return nil, wait
}

// takeChunk moves paths from a queue to the batch. Paths that are not ready
// become entries.
func (s *debouncer) takeChunk(now time.Time, b *batch, why Reason, q *queue) {
	for len(b.paths) < chunkSize && q.len() > 0 {
		path, seq := q.pop()
		if e := s.byPath[path]; e != nil {
			s.mergeScanned(now, e, why, seq)
			continue
		}
		e := s.ensurePath(path, seq)
		e.reason = why
		if s.checkPath(now, e) {
			s.addToBatch(b, e)
		}
	}
}

// mergeScanned handles a scanned path that already has an entry. If the path
// could not be read before, mergeScanned schedules another attempt, which
// barriers wait for.
func (s *debouncer) mergeScanned(now time.Time, e *pendingPath, why Reason, seq uint64) {
	e.reason, e.seq, e.checked = min(e.reason, why), min(e.seq, seq), false
	if e.tries > 0 && !e.overdue {
		e.unawaited, e.tries, e.err = false, 0, nil
		e.due = now
	}
}

func (s *debouncer) addToBatch(b *batch, e *pendingPath) {
	delete(s.byPath, e.path)
	b.items = append(b.items, e)
	b.paths = append(b.paths, e.path)
	b.reason = min(b.reason, [...]Reason{Overdue, e.reason, Gone}[e.kind()])
}

// finishDelivery ends the delivery of a batch. After an error it schedules all paths of the
// batch again, else those in retry.
func (s *debouncer) finishDelivery(now time.Time, retry []string, err error) {
	b := s.inFlight
	s.inFlight = nil
	if err != nil {
		for _, e := range b.items {
			e.overdue = false // its current content has not been delivered
			s.retryLater(now, b, e, err)
		}
		s.failBarriers(b.oldestSeq(), err)
		return
	}
	if len(retry) == 0 {
		return
	}
	given := make(map[string]*pendingPath, len(b.items))
	for _, e := range b.items {
		given[e.path] = e
	}
	for _, path := range retry {
		e := given[path]
		if e == nil { // the sink checked more paths than the batch contained
			e = &pendingPath{path: path, seq: b.oldestSeq(), reason: Scan}
		}
		s.retryLater(now, b, e, nil)
	}
}

// retryLater schedules a retry for a path that batch b did not deliver, unless
// the path has changed since. The barriers that wait for the path, and those
// that arrived during the delivery, wait for the next delivery too, if the file
// is then complete.
func (s *debouncer) retryLater(now time.Time, b *batch, old *pendingPath, err error) {
	seq, returned := b.started+1, 0
	if err == nil {
		returned = old.returned + 1
		if returned < awaitedTries {
			seq = min(seq, old.seq)
		}
	}
	e := s.byPath[old.path]
	if e == nil {
		e = s.ensurePath(old.path, seq)
		e.reason, e.tries, e.err, e.unawaited = old.reason, old.tries+1, err, true
		e.open, e.overdue = old.open, old.overdue
		if !e.overdue {
			e.first, e.last = old.first, old.last
		}
		e.due = now.Add(min(firstRetry<<min(old.tries, 16), lastRetry))
	}
	e.seq, e.returned = min(e.seq, seq), returned
	if n := len(s.barriers); n > 0 && err == nil && e.seq <= s.barriers[n-1].seq {
		s.checkEarly(now, e)
	}
}

func (s *debouncer) publishPending() {
	n := s.scanned.len()
	for _, e := range s.byPath {
		if !e.unawaited || e.err != nil { // else it is not saved, or cannot be read
			n++
		}
	}
	if s.inFlight != nil && s.inFlight.reason != Verify {
		n += len(s.inFlight.paths)
	}
	s.pending.Store(int64(n))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// never exceeds every sequence number of a mark.
const never = math.MaxUint64

// A queue holds each path once, in the order of the first insertion.
type queue struct {
	items  []queued
	member map[string]bool
}

type queued struct {
	path string
	seq  uint64
}

func (q *queue) add(path string, seq uint64) {
	if q.member[path] {
		return
	}
	if q.member == nil {
		q.member = make(map[string]bool)
	}
	q.member[path] = true
	q.items = append(q.items, queued{path, seq})
}

func (q *queue) pop() (string, uint64) {
	first := q.items[0]
	q.items = q.items[1:]
	if len(q.items) == 0 {
		*q = queue{} // release the memory
	} else {
		delete(q.member, first.path)
	}
	return first.path, first.seq
}

func (q *queue) has(path string) bool { return q.member[path] }

func (q *queue) len() int { return len(q.items) }

func (q *queue) oldestSeq() uint64 {
	if len(q.items) == 0 {
		return never
	}
	return q.items[0].seq
}
