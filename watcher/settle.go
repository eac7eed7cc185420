package watcher

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// burst is how many paths may be changing at once for each to be taken on
	// its own. More of them are a checkout or an import, and wait for each
	// other, to be one batch.
	burst = 16
	// chunk is how many paths found by a scan are named at once. Between chunks
	// whatever has just been saved goes first.
	chunk = 1000
	// The shortest and longest wait before a path is named again that could not
	// be read.
	firstRetry = 250 * time.Millisecond
	lastRetry  = time.Minute
	// closing is how long a barrier waits for a changed file that is open for
	// writing. A process that saves a file in one thread and starts a program in
	// another leaves the file open in the child until that has called exec, also
	// after the save has returned.
	closing = 50 * time.Millisecond
)

// A mark is a hint that a path may have changed, or a barrier.
type mark struct {
	path string
	why  Why
	// among, if not nil, returns the paths that are meant in path's place. It is
	// called when the mark is taken note of, with the paths that are being taken
	// over at that time: the sink may hold something for them in a moment.
	among   func(inFlight []string) []string
	barrier *barrier
}

// seen is what a look at a path says about whether it has stopped changing.
type seen uint8

const (
	ready   seen = iota // nobody is writing it
	writing             // somebody has it open for writing
	gone                // there is no such file
)

// A batch is the paths that are named together, sorted.
type batch struct {
	why     Why
	paths   []string
	entries []*entry // of the paths
}

// settler collects marks, waits until the paths have stopped changing, and
// delivers them. It knows nothing of where marks come from; all its times are
// those of the time package.
type settler struct {
	settle, maxWait, vanish time.Duration

	look    func(path string) seen
	deliver func(context.Context, batch) (again []string, err error) // never called twice at the same time

	pending atomic.Int64 // paths that are known to differ and not yet delivered

	seq      uint64
	entries  map[string]*entry
	due      dueHeap // the same entries
	fresh    int     // entries with a change that has not been looked at
	lastMark time.Time
	bursting time.Time // since when more than burst of them are fresh
	scanned  queue     // found by scans, not yet looked at
	verify   queue     // to be compared by content
	barriers []*barrier
	inFlight *batch
}

// An entry is a path that has changed, or that must be given again.
type entry struct {
	path  string
	seq   uint64
	why   Why
	fresh bool
	first time.Time // of the changes that have not been delivered
	last  time.Time // of them, except those after a barrier that waits for it
	gone  time.Time // since when it has been seen to be gone
	due   time.Time
	index int   // in the heap
	now   bool  // has just been looked at
	busy  bool  // somebody was writing it then
	late  bool  // that has been waited for long enough
	free  bool  // no barrier waits for it: it stays open for writing, or it could not be read
	tries int   // how often it has been given in vain
	err   error // why, if that was an error
}

// run works until ctx is done.
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

// mark takes note of a hint.
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
			if s.fresh++; s.fresh == burst+1 {
				s.bursting = now
			}
		}
		s.lastMark = now
		e.why, e.now, e.late, e.free, e.tries, e.err = Event, false, false, false, 0, nil
		if n := len(s.barriers); n > 0 && e.seq <= s.barriers[n-1].seq {
			s.schedule(e, now) // whoever waits for it does not wait for it to be quiet
		} else {
			e.last = now
			s.schedule(e, earlier(now.Add(s.settle), e.first.Add(s.maxWait)))
		}
	}
}

// entry returns the entry of a path, a new one if it has none.
func (s *settler) entry(path string, seq uint64) *entry {
	e := s.entries[path]
	if e == nil {
		e = &entry{path: path, seq: seq, index: -1}
		s.entries[path] = e
	}
	return e
}

// check looks at a path and reports whether it may be named now. If not, it
// schedules the next look.
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
			// What it is so far has been taken already.
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

// collect returns the paths that are due, or how long to wait.
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
			continue // it has another time now
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
	// What is still being written is a batch of its own, and so is what is gone.
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

// chunk takes paths from a queue. Those that are not ready become entries.
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

// sighted is told that a scan names a path that has an entry. If it could not be
// read it is worth another try, for which barriers wait.
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

// remove forgets an entry.
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

// delivered takes note of how a delivery ended.
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
		if e == nil { // the sink has looked at more than it was given
			e = &entry{path: path, why: Scan}
		}
		s.again(now, e, nil)
	}
}

// again schedules what was given in vain, unless it has changed meanwhile.
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

// count publishes how much there is to do.
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
