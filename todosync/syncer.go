package todosync

import (
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

// Files gives the files of memory as they are now. An error that is
// fs.ErrNotExist says that there is none of that name; any other, that it cannot
// be told at this moment.
type Files interface {
	Load(path string) (*memory.Document, error)
}

// Writer changes files. See [vault.Writer].
type Writer interface {
	Write(context.Context, vault.Change) (vault.Written, error)
}

// Listed is a file of which it is known what it says.
type Listed struct {
	Path string
	Day  string   // empty if it has none
	Hash [32]byte // SHA-256 of its bytes
}

// What a [Syncer] does if it is not told otherwise.
const (
	DefaultDays   = 7
	DefaultGather = time.Second
)

const (
	// saveAfter is how long what was merely seen is not on the disk: if it is
	// lost, it is seen again.
	saveAfter = 10 * time.Second
	// hindsight is how long a file that says what it said before we wrote it may
	// be one that somebody has looked at before we did.
	hindsight = 2 * time.Second
	// maxGather is how many times longer than usual it takes to gather what
	// changes without pause.
	maxGather = 10
)

// A Syncer keeps tasks in step for as long as it runs. It is told which files may
// have changed, looks at them when nothing has changed for a moment, so that
// what changed together is seen together, and ticks what is to be ticked.
//
// Set the fields before the first call; all methods are safe for concurrent use.
type Syncer struct {
	Files  Files
	Writer Writer
	// List gives every file with tasks of which it is known what it says.
	List func() []Listed
	// Parse is what a file says.
	Parse func(vault.File) *memory.Document
	// Subject is the subject behind an owner key; the key itself if nil.
	Subject func(owner string) string
	// State is the path of the file in which is kept what must not be forgotten.
	State string
	// Root names the directory of the files: the state of another is not ours.
	Root string
	// Days is how old files may be that are ticked; [DefaultDays] if zero.
	Days     int
	Location *time.Location // of days; UTC if nil
	// Off says that nothing is ticked. What happens is noted all the same, so
	// that nothing that is old by then is new when it is turned on.
	Off bool
	// Gather is how long files must not have changed before they are looked at;
	// [DefaultGather] if zero. It should be longer than it takes until a file
	// that has vanished is believed to be gone, or one that was moved seems to be
	// a new one.
	Gather time.Duration
	// CatchUp returns when Changed has been called for every earlier save. It may
	// be nil.
	CatchUp func(context.Context) error
	Logger  *slog.Logger     // the default one if nil
	Now     func() time.Time // time.Now if nil

	turn sync.Mutex // whoever looks, writes or saves

	mu        sync.Mutex
	wake      chan struct{}
	started   bool
	catalogue *Catalogue
	first     bool   // nothing was known of it before this process
	wishes    []Wish // sorted
	hints     map[string]bool
	since     time.Time // the first hint
	last      time.Time // the last one
	at        map[string]*attempt
	ours      map[string]own
	ticks     map[string]ticks
	takenBack map[string][]Wish // by path: wishes whose write was taken back
	with      []Copy            // boxes that were ticked with others because somebody asked for it
	dirty     time.Time         // since when there is something to save; zero if there is not
	unsaved   error             // why it could not be saved
	retry     time.Time         // when it is worth another try
}

// An attempt is what became of the last try to write a file.
type attempt struct {
	reason  string
	after   time.Time     // when it is tried again
	wait    time.Duration // before the next try
	refused bool          // it is not written as it is
}

// own is what a file said before we wrote it.
type own struct {
	before Digest
	at     time.Time
}

// ticks are the wishes that a write of a file made come true.
type ticks struct {
	wishes []Wish
	at     time.Time
}

// TakenBack notes that a write of a file that was made has been taken back,
// because a person saved the file at the same moment: the wishes stand again.
// It may be called while the Syncer writes. See [vault.Writer.TakenBack].
func (s *Syncer) TakenBack(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.ticks[path]
	if !ok {
		return
	}
	delete(s.ticks, path)
	if s.takenBack == nil {
		s.takenBack = map[string][]Wish{}
	}
	s.takenBack[path] = append(s.takenBack[path], t.wishes...)
	s.hintLocked(path)
	s.wakeUpLocked()
}

func (s *Syncer) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

func (s *Syncer) logger() *slog.Logger {
	if s.Logger != nil {
		return s.Logger
	}
	return slog.Default()
}

func (s *Syncer) gather() time.Duration {
	if s.Gather > 0 {
		return s.Gather
	}
	return DefaultGather
}

// Rules are those of today.
func (s *Syncer) Rules() *Rules {
	days, loc := s.Days, s.Location
	if days <= 0 {
		days = DefaultDays
	}
	if loc == nil {
		loc = time.UTC
	}
	r := &Rules{Subject: s.Subject}
	r.First, r.Last = window(s.now().In(loc).Format(time.DateOnly), days)
	return r
}

// wakeLocked is the channel that wakes Run.
func (s *Syncer) wakeLocked() chan struct{} {
	if s.wake == nil {
		s.wake = make(chan struct{}, 1)
	}
	return s.wake
}

// Changed notes that a file has changed. The document, nil if the file is gone,
// tells whether it concerns us; what it says is read when its turn comes, since
// by then it may say something else. It takes next to no time.
func (s *Syncer) Changed(path string, doc *memory.Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.concernsLocked(path, doc) || s.knownLocked(path, doc) {
		return
	}
	s.hintLocked(path)
	s.wakeUpLocked()
}

func (s *Syncer) hintLocked(path string) {
	s.last = s.now()
	if len(s.hints) == 0 {
		s.hints, s.since = map[string]bool{}, s.last
	}
	s.hints[path] = true
}

func (s *Syncer) concernsLocked(path string, doc *memory.Document) bool {
	if s.catalogue != nil && s.catalogue.files[path] != nil {
		return true
	}
	return doc != nil && Concerns(doc.Place.Kind) && slices.ContainsFunc(doc.Entries, func(e memory.Entry) bool { return len(e.Tasks) > 0 })
}

// knownLocked reports whether a file says what it was last seen to say, as when it
// was written by a request that has looked at it itself: there is nothing to wait for.
// One that could not be written has another chance.
func (s *Syncer) knownLocked(path string, doc *memory.Document) bool {
	if doc == nil || s.catalogue == nil || s.hints[path] || s.at[path] != nil {
		return false
	}
	f := s.catalogue.files[path]
	return f != nil && !f.Gone && f.Hash == HashDigest(sha256.Sum256(doc.Source))
}

func (s *Syncer) wakeUpLocked() {
	select {
	case s.wakeLocked() <- struct{}{}:
	default:
	}
}

// Request looks at files at once, with those that it is time for, and does what
// follows without gathering more. It returns the boxes that it ticked, by path, in
// the order in which they stand.
func (s *Syncer) Request(ctx context.Context, paths ...string) []Copy {
	s.turn.Lock()
	defer s.turn.Unlock()
	if !s.Started() {
		return nil
	}
	paths = append(paths[:len(paths):len(paths)], s.ripe()...)
	slices.Sort(paths)
	s.look(slices.Compact(paths))
	defer s.save(false)
	return s.write(ctx)
}

// Started reports whether every file was seen.
func (s *Syncer) Started() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

// Run does what is to be done until the context ends.
func (s *Syncer) Run(ctx context.Context) error {
	s.mu.Lock()
	wake := s.wakeLocked()
	s.mu.Unlock()
	defer func() {
		s.turn.Lock()
		defer s.turn.Unlock()
		s.save(true)
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
		wait, more := s.Work(ctx)
		timer.Stop()
		if more {
			timer.Reset(max(wait, time.Millisecond))
		}
	}
}

// Work does what is due, and says whether and when there is more.
func (s *Syncer) Work(ctx context.Context) (wait time.Duration, more bool) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if !s.Started() {
		return 0, false
	}
	if s.ahead(s.Rules()) && s.survey(ctx) != nil {
		return 0, false
	}
	if paths := s.ripe(); len(paths) > 0 {
		s.look(paths)
	}
	s.write(ctx)
	s.save(false)
	return s.next()
}

// ripe are the files to be looked at now.
func (s *Syncer) ripe() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.hints) == 0 || s.now().Before(s.ripeAtLocked()) {
		return nil
	}
	return slices.Sorted(maps.Keys(s.hints))
}

func (s *Syncer) ripeAtLocked() time.Time {
	at := s.last.Add(s.gather())
	if latest := s.since.Add(maxGather * s.gather()); latest.Before(at) {
		return latest
	}
	return at
}

// next is when there is something to be done.
func (s *Syncer) next() (wait time.Duration, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var at time.Time
	soonest := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if len(s.hints) > 0 {
		soonest(s.ripeAtLocked())
	}
	for _, w := range s.wishes {
		if at, ok := s.dueLocked(&w); ok {
			soonest(at)
		}
	}
	if !s.dirty.IsZero() {
		soonest(laterOf(s.dirty.Add(saveAfter), s.retry))
	}
	return at.Sub(s.now()), !at.IsZero()
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
