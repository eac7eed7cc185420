package todosync

import (
	"cmp"
	"context"
	"crypto/sha256"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// Files loads memory files as they are now. An error matching fs.ErrNotExist
// means that there is no such file; any other error means that the file is
// temporarily unreadable.
type Files interface {
	Load(path string) (*memory.Document, error)
}

// Writer changes files. See [vault.Writer].
type Writer interface {
	Write(context.Context, vault.Change) (vault.Written, error)
}

// Listed is a file with known content.
type Listed struct {
	Path string
	Day  string   // empty if the file has none
	Hash [32]byte // SHA-256 of its bytes
}

// Default settings of a [Syncer].
const (
	DefaultDays     = 7
	DefaultDebounce = time.Second
)

const (
	// saveAfter is the delay before observations are saved. Lost observations
	// are simply made again.
	saveAfter = 10 * time.Second
	// maxDebounce limits the debounce of files that change continuously, in
	// multiples of Debounce.
	maxDebounce = 10
)

// A Syncer keeps the copies of tasks in step while it runs. It receives hints
// about changed files, reads them after a debounce, so that files changed
// together are compared together, and ticks the resulting boxes.
//
// Set the fields before the first call; all methods are safe for concurrent
// use.
type Syncer struct {
	Files  Files
	Writer Writer
	// List returns every file with tasks whose content is known.
	List func() []Listed
	// Parse parses a file.
	Parse func(vault.File) *memory.Document
	// Subject returns the subject of an owner key.
	Subject func(owner string) string
	// AppendOnly reports whether the boxes of a file are ticked on request only;
	// nil means no file.
	AppendOnly func(path string) bool
	// State is the path of the file that holds the persistent state.
	State string
	// Root names the directory of the files; a state of another root is not
	// used.
	Root string
	// Days is the maximum age of files that are ticked; 0 means [DefaultDays].
	Days     int
	Location *time.Location // of days; UTC if nil
	// Off disables ticking. Changes are still recorded, so that old completions
	// are not new when ticking is enabled.
	Off bool
	// Debounce is the debounce time of files; 0 means [DefaultDebounce]. It
	// should exceed the time until a missing file counts as gone, because
	// otherwise a moved file appears to be a new one.
	Debounce time.Duration
	// CatchUp blocks until Changed has been called for every earlier save. It
	// may be nil.
	CatchUp func(context.Context) error
	Logger  *slog.Logger
	Now     func() time.Time

	workMu sync.Mutex // held while reading, writing or saving

	mu         sync.Mutex
	wake       chan struct{} // of Run; nil before
	started    bool
	catalogue  *Catalogue
	recordOnly bool          // the next comparison of all files acts on no completion
	requests   []TickRequest // sorted
	hints      map[string]bool
	since      time.Time // time of the first hint
	last       time.Time // time of the last hint
	attempts   map[string]*attempt
	dirty      time.Time // since when there is unsaved state; zero if there is none
	unsaved    error     // error of the last save
	retry      time.Time // earliest time of the next save after a failure
}

// An attempt is the result of the last attempt to write a file.
type attempt struct {
	reason  string
	after   time.Time     // time of the next attempt
	wait    time.Duration // backoff before the next attempt
	refused bool          // the file cannot be written in its current state
}

func (s *Syncer) debounceTime() time.Duration { return cmp.Or(s.Debounce, DefaultDebounce) }

// rules returns the rules for the current day.
func (s *Syncer) rules() *Rules {
	r := &Rules{Subject: s.Subject, AppendOnly: s.AppendOnly}
	r.First, r.Last = tickWindow(s.Now().In(cmp.Or(s.Location, time.UTC)).Format(time.DateOnly),
		cmp.Or(s.Days, DefaultDays))
	return r
}

// Changed records that a file has changed. Pass nil as the document if the file
// is gone. The document only determines whether the file is relevant; the
// Syncer reads the file later, because it may have changed again by then.
// Changed returns quickly.
func (s *Syncer) Changed(path string, doc *memory.Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.concernsLocked(path, doc) || s.isCurrentLocked(path, doc) {
		return
	}
	s.hintLocked(path)
	s.wakeUpLocked()
}

func (s *Syncer) hintLocked(path string) {
	s.last = s.Now()
	if len(s.hints) == 0 {
		s.hints, s.since = map[string]bool{}, s.last
	}
	s.hints[path] = true
}

// concernsLocked reports whether a changed file has tasks to record, or had any.
func (s *Syncer) concernsLocked(path string, doc *memory.Document) bool {
	if s.catalogue != nil && s.catalogue.files[path] != nil {
		return true
	}
	return doc != nil && Concerns(doc.Place.Kind) && (doc.Place.Day == "" || doc.Place.Day >= s.rules().First) &&
		slices.ContainsFunc(doc.Entries, func(e memory.Entry) bool { return len(e.Tasks) > 0 })
}

// isCurrentLocked reports whether a file still has its last seen content, for
// example because the request that wrote the file has already read it. It
// returns false for a file whose write failed, so that the write is retried.
func (s *Syncer) isCurrentLocked(path string, doc *memory.Document) bool {
	if doc == nil || s.catalogue == nil || s.hints[path] || s.attempts[path] != nil {
		return false
	}
	f := s.catalogue.files[path]
	return f != nil && !f.Gone && f.Hash == hashDigest(sha256.Sum256(doc.Source))
}

func (s *Syncer) wakeUpLocked() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Request reads the files at paths, where tasks were just reported as done, and
// all due files at once, without the debounce, and ticks the resulting boxes. It returns the ticked boxes, ordered
// by path and position. Before every file has been seen, it does nothing and
// returns nil. A box whose file cannot be written now is ticked later.
func (s *Syncer) Request(ctx context.Context, paths ...string) []Copy {
	s.workMu.Lock()
	defer s.workMu.Unlock()
	if !s.Started() {
		return nil
	}
	return s.processDue(ctx, paths)
}

// processDue reads the reported and all due files, ticks the resulting boxes, and returns
// them.
func (s *Syncer) processDue(ctx context.Context, reported []string) []Copy {
	paths := slices.Concat(reported, s.debouncedFiles())
	slices.Sort(paths)
	if len(paths) > 0 {
		s.processFiles(slices.Compact(paths), reported)
	}
	defer s.saveState(false)
	return s.writeDue(ctx)
}

// Started reports whether every file has been seen, as [Syncer.Start] records.
func (s *Syncer) Started() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

// Run processes hints and requests until the context ends. It then saves the
// state and returns the error of the context.
func (s *Syncer) Run(ctx context.Context) error {
	wake := make(chan struct{}, 1)
	s.mu.Lock()
	s.wake = wake
	s.mu.Unlock()
	defer func() {
		s.workMu.Lock()
		defer s.workMu.Unlock()
		s.saveState(true)
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
		case <-timer.C:
		}
		wait, more := s.work(ctx)
		timer.Stop()
		if more {
			timer.Reset(max(wait, time.Millisecond))
		}
	}
}

// work does all due work. It reports whether more is pending, and returns the
// time until then. Run calls it; tests call it directly.
func (s *Syncer) work(ctx context.Context) (wait time.Duration, more bool) {
	s.workMu.Lock()
	defer s.workMu.Unlock()
	if !s.Started() {
		return 0, false
	}
	if s.wasClockAhead() && s.compareAll(ctx) != nil {
		return 0, false
	}
	s.processDue(ctx, nil)
	return s.nextWork()
}

func (s *Syncer) debouncedFiles() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.hints) == 0 || s.Now().Before(s.debounceEndLocked()) {
		return nil
	}
	return slices.Sorted(maps.Keys(s.hints))
}

func (s *Syncer) debounceEndLocked() time.Time {
	at := s.last.Add(s.debounceTime())
	if latest := s.since.Add(maxDebounce * s.debounceTime()); latest.Before(at) {
		return latest
	}
	return at
}

// nextWork returns the time until the next pending work and reports whether there
// is any.
func (s *Syncer) nextWork() (wait time.Duration, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var at time.Time
	soonest := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if len(s.hints) > 0 {
		soonest(s.debounceEndLocked())
	}
	for _, w := range s.requests {
		if at, ok := s.dueLocked(&w); ok {
			soonest(at)
		}
	}
	if !s.dirty.IsZero() {
		soonest(laterOf(s.dirty.Add(saveAfter), s.retry))
	}
	return at.Sub(s.Now()), !at.IsZero()
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
