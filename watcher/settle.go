package watcher

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// burst is the number of simultaneously changing paths up to which each
	// path is delivered on its own. A higher number indicates a checkout or an
	// import, whose paths are delivered in one batch.
	burst = 16
	// chunk is the number of scanned paths in one batch. Between chunks, newly
	// saved files go first.
	chunk = 1000
	// firstRetry and lastRetry are the shortest and longest delays before the
	// retry of a path that could not be read.
	firstRetry = 250 * time.Millisecond
	lastRetry  = time.Minute
	// closing is the time a barrier waits for a changed file that is open for
	// writing. If a process saves a file in one thread and starts a program in
	// another, the child holds the file open until it calls exec, which may be
	// after the save has returned.
	closing = 50 * time.Millisecond
)

// A mark is a hint that a path may have changed, or a barrier.
type mark struct {
	path string
	why  Why
	// among, if not nil, returns the paths that replace path. The settler calls
	// it when it processes the mark, and passes the paths being delivered at
	// that time, because the sink may be about to know them.
	among   func(inFlight []string) []string
	barrier *barrier
}

// seen is the result of a check of a path: whether it has stopped changing.
type seen uint8

const (
	ready   seen = iota // no process has it open for writing
	writing             // a process has it open for writing
	gone                // the file does not exist
)

// A batch holds the paths of one delivery, sorted.
type batch struct {
	why     Why
	paths   []string
	entries []*entry // the entries of paths
}

// settler collects marks, debounces their paths and delivers them. It is
// independent of the source of the marks and uses only times of the time
// package.
type settler struct {
	settle, maxWait, vanish time.Duration

	look    func(path string) seen
	deliver func(context.Context, batch) (again []string, err error) // never called concurrently

	pending atomic.Int64 // paths known to differ and not yet delivered

	seq      uint64
	entries  map[string]*entry
	due      dueHeap // a heap of the same entries
	fresh    int     // entries whose latest change has not been checked
	lastMark time.Time
	bursting time.Time // since when more than burst entries are fresh
	scanned  queue     // paths found by scans, not yet checked
	verify   queue     // paths to compare by content
	barriers []*barrier
	inFlight *batch
}

// An entry is a path that has changed or that must be delivered again.
type entry struct {
	path  string
	seq   uint64
	why   Why
	fresh bool
	first time.Time // time of the first undelivered change
	last  time.Time // time of the last one, not counting changes after a barrier that waits for the entry
	gone  time.Time // since when checks have found it missing
	due   time.Time
	index int   // in the heap; -1 if not in it
	now   bool  // has just been checked and may be delivered
	busy  bool  // that check found it open for writing
	late  bool  // it has been open for longer than maxWait
	free  bool  // no barrier waits for it: it stays open for writing or could not be read
	tries int   // number of failed deliveries
	err   error // error of the last delivery, if it returned one
}

// run processes marks and deliveries until ctx is done.
func (s *settler) run(ctx context.Context, in <-chan []mark) {
	s.entries = make(map[string]*entry)
	results := make(chan func())
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var next *batch
		wait := time.Hour
		if s.inFlight == nil {
			next, wait = s.collect(time.Now())
			s.inFlight = next
		}
		s.count()
		s.pass()
		if next != nil {
			go func() {
				again, err := s.deliver(ctx, *next)
				results <- func() { s.delivered(time.Now(), again, err) }
			}()
		}
		timer.Reset(wait)
		select {
		case marks := <-in:
			now, barriers := time.Now(), len(s.barriers)
			for _, m := range marks {
				s.mark(now, m)
			}
			if len(s.barriers) > barriers {
				s.flush(now)
			}
		case result := <-results:
			result()
		case <-timer.C:
		case <-ctx.Done():
			if s.inFlight != nil {
				(<-results)()
			}
			s.fail(0, context.Cause(ctx))
			return
		}
	}
}

// mark records one mark.
func (s *settler) mark(now time.Time, m mark) {
	if m.among != nil {
		var inFlight []string
		if s.inFlight != nil {
			inFlight = s.inFlight.paths
		}
		for _, path := range m.among(inFlight) {
			s.mark(now, mark{path: path, why: m.why})
		}
		return
	}
	s.seq++
	switch {
	case m.barrier != nil:
		m.barrier.seq = s.seq
		s.barriers = append(s.barriers, m.barrier)
	case m.why == Verify:
		s.verify.add(m.path, s.seq)
	case m.why == Scan:
		if e := s.entries[m.path]; e == nil {
			s.scanned.add(m.path, s.seq)
		} else {
			s.sighted(now, e, Scan, s.seq)
		}
	default:
		e := s.entry(m.path, s.seq)
		if e.first.IsZero() || e.tries > 0 {
			e.first = now
		}
		if !e.fresh {
			e.fresh = true
			s.fresh++
			if s.fresh == burst+1 {
				s.bursting = now
			}
		}
		s.lastMark = now
		e.why, e.now, e.late, e.free, e.tries, e.err = Event, false, false, false, 0, nil
		if n := len(s.barriers); n > 0 && e.seq <= s.barriers[n-1].seq {
			s.schedule(e, now) // a barrier that waits for the entry skips the debounce
		} else {
			e.last = now
			s.schedule(e, earlier(now.Add(s.settle), e.first.Add(s.maxWait)))
		}
	}
}

// entry returns the entry of a path and creates it if necessary.
func (s *settler) entry(path string, seq uint64) *entry {
	e := s.entries[path]
	if e == nil {
		e = &entry{path: path, seq: seq, index: -1}
		s.entries[path] = e
	}
	return e
}

// check checks a path and reports whether it may be delivered now. If not,
// check schedules the next check.
func (s *settler) check(now time.Time, e *entry) bool {
	if e.fresh {
		e.fresh = false
		s.fresh--
	}
	if e.first.IsZero() {
		e.first, e.last = now, now
	}
	look := s.look(e.path)
	e.busy = look == writing
	switch look {
	case gone:
		e.free = false
		if e.gone.IsZero() {
			e.gone = now
		}
		if until := e.gone.Add(s.vanish); now.Before(until) {
			s.schedule(e, until)
			return false
		}
		return true
	case writing:
		closed := e.last.Add(closing)
		e.free, e.gone = e.late || !now.Before(closed), time.Time{}
		limit := e.first.Add(s.maxWait)
		switch {
		case e.late:
			// The current content has been delivered already.
			s.schedule(e, now.Add(s.maxWait))
			return false
		case now.Before(limit):
			next := earlier(now.Add(s.settle), limit)
			if !e.free {
				next = earlier(next, closed)
			}
			s.schedule(e, next)
			return false
		}
		e.late = true
		return true
	default:
		e.late, e.free, e.gone = false, false, time.Time{}
		return true
	}
}

// collect returns the next batch of due paths, or the time to wait.
func (s *settler) collect(now time.Time) (*batch, time.Duration) {
	if s.fresh > burst && len(s.barriers) == 0 {
		if until := earlier(s.lastMark.Add(s.settle), s.bursting.Add(s.maxWait)); now.Before(until) {
			return nil, until.Sub(now)
		}
		s.bursting = now
	}
	b := &batch{why: Gone}
	var ready, late, gone []*entry
	for len(s.due) > 0 && !now.Before(s.due[0].due) {
		e := s.due[0]
		if !e.now && !s.check(now, e) {
			continue // check has rescheduled it
		}
		s.due.remove(e)
		switch {
		case e.late:
			late = append(late, e)
		case !e.gone.IsZero():
			gone = append(gone, e)
		default:
			ready = append(ready, e)
		}
	}
	// Overdue files form a batch of their own, and so do missing files.
	first := late
	for _, rest := range [][]*entry{ready, gone} {
		if len(first) == 0 {
			first = rest
			continue
		}
		for _, e := range rest {
			e.now = true
			s.schedule(e, now)
		}
	}
	for _, e := range first {
		s.take(b, e)
	}
	if len(b.paths) == 0 {
		s.chunk(now, b, Scan, &s.scanned)
	}
	if len(b.paths) == 0 {
		s.chunk(now, b, Verify, &s.verify)
	}
	switch {
	case len(b.paths) > 0:
		slices.Sort(b.paths)
		return b, time.Hour
	case len(s.due) > 0:
		return nil, s.due[0].due.Sub(now)
	}
	return nil, time.Hour
}

// chunk moves paths from a queue to the batch. Paths that are not ready become
// entries.
func (s *settler) chunk(now time.Time, b *batch, why Why, q *queue) {
	for len(b.paths) < chunk && q.len() > 0 {
		path, seq := q.pop()
		if e := s.entries[path]; e != nil {
			s.sighted(now, e, why, seq)
			continue
		}
		e := s.entry(path, seq)
		e.why = why
		if s.check(now, e) {
			s.take(b, e)
		}
	}
}

// sighted handles a scanned path that already has an entry. If the path could
// not be read before, sighted schedules another attempt, which barriers wait
// for.
func (s *settler) sighted(now time.Time, e *entry, why Why, seq uint64) {
	e.why, e.seq = min(e.why, why), min(e.seq, seq)
	if e.tries > 0 && !e.late {
		e.free, e.tries, e.err = false, 0, nil
		s.schedule(e, now)
	}
}

// take moves an entry into the batch.
func (s *settler) take(b *batch, e *entry) {
	s.remove(e)
	b.entries = append(b.entries, e)
	b.paths = append(b.paths, e.path)
	why := e.why
	switch {
	case e.late:
		why = Overdue
	case !e.gone.IsZero():
		why = Gone
	}
	b.why = min(b.why, why)
}

// remove deletes an entry.
func (s *settler) remove(e *entry) {
	delete(s.entries, e.path)
	s.due.remove(e)
	if e.fresh {
		e.fresh = false
		s.fresh--
	}
}

func (s *settler) schedule(e *entry, due time.Time) {
	e.due = due
	s.due.put(e)
}

// delivered records the result of a delivery.
func (s *settler) delivered(now time.Time, again []string, err error) {
	b := s.inFlight
	s.inFlight = nil
	if err != nil {
		for _, e := range b.entries {
			s.again(now, e, err)
		}
		s.fail(b.oldest(), err)
		return
	}
	if len(again) == 0 {
		return
	}
	given := make(map[string]*entry, len(b.entries))
	for _, e := range b.entries {
		given[e.path] = e
	}
	for _, path := range again {
		e := given[path]
		if e == nil { // the sink checked more paths than the batch contained
			e = &entry{path: path, why: Scan}
		}
		s.again(now, e, nil)
	}
}

// again schedules a retry for a path that was not delivered, unless the path
// has changed since.
func (s *settler) again(now time.Time, old *entry, err error) {
	if s.entries[old.path] != nil {
		return
	}
	s.seq++
	e := s.entry(old.path, s.seq)
	e.why, e.tries, e.err, e.free, e.busy, e.late = old.why, old.tries+1, err, true, old.busy, old.late
	if !e.late {
		e.first = old.first
	}
	s.schedule(e, now.Add(min(firstRetry<<min(old.tries, 16), lastRetry)))
}

// count publishes the number of pending paths.
func (s *settler) count() {
	n := len(s.entries) + s.scanned.len()
	if s.inFlight != nil && s.inFlight.why != Verify {
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
