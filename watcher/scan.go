package watcher

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

const (
	// share is how much more time passes between scans than scans take: they
	// may use a thousandth of one processor, and keep nearly two busy.
	share = 2000
	// pollShare is the same for polling, where it is the only way to learn of a
	// change.
	pollShare = 20
	// asleep is the gap between two ticks from which on the machine must have
	// slept, or this process been stopped, and events may be stale.
	asleep = 30 * time.Second
)

// scans is what the scanner is asked for and what it has done.
type scans struct {
	kick chan struct{} // something was requested
	root chan struct{} // the root may have changed

	mu        sync.Mutex
	requested uint64 // scans asked for
	done      uint64 // the last request that a finished scan answers
	finished  chan struct{}
	verify    bool
	lost      bool // events were lost and the scan for it has not begun
	overflows int
	last      time.Time     // when the last scan ended
	dir       memory.FileID // the root as it was scanned last; zero if it was missing
	state     string        // of the root
	cause     string        // why it is missing
	failed    int           // scans in a row that could not look at everything
	missed    uint64        // how often something could not be looked at, also by walks of a part
	before    uint64        // the same when the scan under way began
	unread    bool          // something was missed and has not been delivered since
	retry     *time.Timer   // of the scan after one that failed
}

// States of the root.
const (
	RootStarting = "starting" // not yet scanned
	RootWatched  = "watched"
	RootMissing  = "missing" // waited for; what is known of its files stays
)

func (s *scans) init() {
	s.kick = make(chan struct{}, 1)
	s.root = make(chan struct{}, 1)
	s.finished = make(chan struct{})
	s.state = RootStarting
}

// request asks for a scan of everything, now, because changes may have been
// missed: Sync waits for it.
func (s *scans) request(verify bool) {
	s.mu.Lock()
	s.requested++
	s.mu.Unlock()
	s.ask(verify)
}

// ask asks for a scan of everything because it is time for one.
func (s *scans) ask(verify bool) {
	s.mu.Lock()
	s.verify = s.verify || verify
	s.mu.Unlock()
	signal(s.kick)
}

// keep puts back what a scan that failed did not do.
func (s *scans) keep(verify bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verify = s.verify || verify
}

// touched asks for a look at the root itself.
func (s *scans) touched() { signal(s.root) }

// overflowed counts an overflow, and reports whether it is the first since the
// last scan began.
func (s *scans) overflowed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.overflows++
	first := !s.lost
	s.lost = true
	return first
}

// take returns what the next scan answers.
func (s *scans) take() (request uint64, verify bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request, verify = s.requested, s.verify
	s.verify, s.lost, s.before = false, false, s.missed
	return request, verify
}

// finish takes note of the end of a scan, and reports whether the state of the
// root has changed.
func (s *scans) finish(request uint64, root memory.FileID, state, cause string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := s.state != state
	s.dir, s.state, s.cause = root, state, cause
	if state == RootWatched {
		s.last = time.Now()
	}
	s.done = max(s.done, request)
	close(s.finished)
	s.finished = make(chan struct{})
	return news
}

// miss records that part of the root could not be looked at, and requests a scan
// unless one is scheduled for that.
func (s *scans) miss() {
	s.mu.Lock()
	s.missed++
	s.unread = true
	scheduled := s.failed > 0
	s.mu.Unlock()
	if !scheduled {
		s.request(false)
	}
}

// walked records the end of the walk of a scan. If anything was missed since the
// scan began, another scan is scheduled. Otherwise walked returns the function to
// be called when the marks of the scan have been delivered, or nil if there is no
// need for one.
func (s *scans) walked(failed bool) (delivered func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if failed {
		s.missed++
		s.unread = true
	}
	missed := s.missed
	switch {
	case missed != s.before:
		s.retryLocked()
		return nil
	case !s.unread:
		s.failed = 0
		return nil
	}
	return func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil || s.missed != missed {
			s.retryLocked()
			return
		}
		s.failed, s.unread = 0, false
	}
}

// retryLocked schedules a scan, later each time in a row.
func (s *scans) retryLocked() {
	after := min(firstRetry<<min(s.failed, 16), lastRetry)
	s.failed++
	if s.retry != nil {
		s.retry.Stop()
	}
	s.retry = time.AfterFunc(after, func() { s.ask(false) })
}

// scanned is the root as it was scanned last, zero if it was missing, and
// whether it has been scanned at all.
func (s *scans) scanned() (memory.FileID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dir, s.state != RootStarting
}

// wait returns when every scan that has been asked for by now is done.
func (s *scans) wait(ctx context.Context) error {
	s.mu.Lock()
	for request := s.requested; s.done < request; {
		finished := s.finished
		s.mu.Unlock()
		select {
		case <-finished:
		case <-ctx.Done():
			return ctx.Err()
		}
		s.mu.Lock()
	}
	s.mu.Unlock()
	return nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// scanner scans the whole root when asked to and every now and then, and the
// directories that cannot be watched more often.
func (w *Watcher) scanner(ctx context.Context) {
	start := time.Now()
	nextScan, nextVerify, nextPoll, lastTick := start, start.Add(w.Verify), start, start
	tick := time.NewTicker(w.Poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.scans.kick:
			began := time.Now()
			w.noteSleep(lastTick, began) // this scan covers it
			w.scan(ctx)
			now := time.Now()
			took := now.Sub(began)
			nextScan, nextPoll = now.Add(max(w.Reconcile, share*took)), now.Add(max(w.Poll, pollShare*took))
			lastTick = now
			continue
		case <-w.scans.root:
		case <-tick.C:
			now := time.Now()
			if w.noteSleep(lastTick, now) {
				w.scans.request(false)
			}
			lastTick = now
		}
		now := time.Now()
		w.checkRoot()
		switch {
		case now.After(nextVerify):
			nextVerify = now.Add(w.Verify)
			w.scans.ask(true)
		case now.After(nextScan), w.hold.due(now, w.Reconcile):
			w.scans.ask(false)
		case now.After(nextPoll):
			w.poll(ctx)
			lastTick = time.Now()
			nextPoll = lastTick.Add(max(w.Poll, pollShare*lastTick.Sub(now)))
		}
	}
}

// noteSleep reports, and logs, whether the machine slept between two ticks.
func (w *Watcher) noteSleep(last, now time.Time) bool {
	is := slept(last, now, w.Poll)
	if is {
		w.Logger.Info("woke up, looking at every file")
	}
	return is
}

// slept reports whether much more time has passed between two ticks than there
// should. The wall clock goes on while the machine sleeps, the monotonic clock
// cannot be set.
func slept(last, now time.Time, tick time.Duration) bool {
	return max(now.Round(0).Sub(last.Round(0)), now.Sub(last)) > tick+asleep
}

// checkRoot asks for a scan if the root is not the directory that was scanned.
func (w *Watcher) checkRoot() {
	scanned, ok := w.scans.scanned()
	if id, err := w.Disk.Root(); ok && id != scanned && !exhausted(err) {
		w.scans.request(false)
	}
}

// scan compares the whole root with what is known.
func (w *Watcher) scan(ctx context.Context) {
	request, verify := w.scans.take()
	began := time.Now()
	root, err := w.Disk.Root()
	var tree *memory.Tree
	if err == nil {
		if scanned, ok := w.scans.scanned(); ok && root != scanned {
			w.watches.reset()
		}
		w.watches.begin()
		tree, err = w.Disk.Walk(ctx, "", w.watches.enter)
	}
	switch {
	case ctx.Err() != nil:
		return
	case exhausted(err):
		w.Logger.Warn("root cannot be looked at for the moment, trying again", "err", err)
		w.scans.keep(verify)
		time.AfterFunc(w.Poll, func() { signal(w.scans.kick) })
		return
	case err != nil:
		// Nothing is known of any file: they stay as they were.
		w.watches.reset()
		w.scans.keep(verify)
		if w.scans.finish(request, memory.FileID{}, RootMissing, err.Error()) {
			w.Logger.Warn("root is missing, waiting for it", "err", err)
		}
		return
	}
	if w.watches.cookiesLost() {
		w.Logger.Warn("directory for cookies cannot be watched, sync looks at every file", "path", w.CookieDir)
	}
	for _, u := range w.watches.news() {
		w.Logger.Warn("directory cannot be watched, polling it", "path", u.Path, "err", u.Reason)
	}
	among := func(inFlight []string) []string {
		differ, gone := w.compare(tree, inFlight)
		if n := w.hold.scanned(began, gone); n > 0 {
			w.Logger.Info("files are back", "files", n)
		}
		w.Logger.Debug("scanned", "files", len(tree.Files), "differ", len(differ), "gone", len(gone))
		return append(differ, gone...)
	}
	marks := []mark{{why: Scan, among: among}}
	if verify {
		for _, f := range tree.Files {
			marks = append(marks, mark{path: f.Path, why: Verify})
		}
	}
	if delivered := w.scans.walked(tree.Failed); delivered != nil {
		marks = append(marks, mark{barrier: &barrier{done: delivered}})
	}
	w.send(ctx, w.marks, marks)
	w.watches.end()
	if w.scans.finish(request, root, RootWatched, "") {
		w.Logger.Info("watching", "path", w.Dir, "files", len(tree.Files), "directories", w.watches.len())
	}
}

// exhausted reports whether an error says that we, or the machine, have too many
// files open: nothing of the root.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// poll looks at what cannot be watched. There may be very many directories, each
// of which would be compared with all that is known: one look at the directory
// that they are all in costs less.
func (w *Watcher) poll(ctx context.Context) {
	unwatched := w.watches.unwatched()
	if len(unwatched) == 0 {
		return
	}
	dir := unwatched[0].Path
	for _, u := range unwatched {
		for !within(u.Path, dir) {
			dir = parent(dir)
		}
	}
	w.compareDir(ctx, dir)
}

// compareDir compares one directory with what is known of it.
func (w *Watcher) compareDir(ctx context.Context, dir string) {
	tree, err := w.Disk.Walk(ctx, dir, w.watches.enter)
	if err != nil {
		w.unseen(err)
		return
	}
	if tree.Failed {
		w.scans.miss()
	}
	among := func(inFlight []string) []string {
		differ, gone := w.compare(tree, inFlight)
		return append(differ, gone...)
	}
	w.send(ctx, w.marks, []mark{{why: Scan, among: among}})
}

// unseen records that a walk of a part of the root failed: the root may be
// missing, or too many files are open.
func (w *Watcher) unseen(err error) {
	if !errors.Is(err, context.Canceled) {
		w.scans.miss()
	}
}

// compare tells which files are not as they are known, and which are known, or
// about to be, and not there. What could not be looked at is neither.
func (w *Watcher) compare(tree *memory.Tree, inFlight []string) (differ, gone []string) {
	known := make(map[string]memory.Stamp)
	for _, path := range inFlight {
		if within(path, tree.From) {
			known[path] = memory.Stamp{}
		}
	}
	for path, stamp := range w.Sink.Known() {
		if within(path, tree.From) {
			known[path] = stamp
		}
	}
	for _, f := range tree.Files {
		if stamp, ok := known[f.Path]; !ok || stamp != f.Stamp {
			differ = append(differ, f.Path)
		}
		delete(known, f.Path)
	}
	unseen := make(map[string]bool)
	for _, s := range tree.Skipped {
		if s.Unseen {
			unseen[s.Path] = true
		}
	}
	for path := range known {
		if !withinAny(path, unseen) {
			gone = append(gone, path)
		}
	}
	slices.Sort(gone)
	return differ, gone
}

// withinAny reports whether path is one of dirs or below one.
func withinAny(path string, dirs map[string]bool) bool {
	if len(dirs) == 0 {
		return false
	}
	for !dirs[path] {
		if path == "" {
			return false
		}
		path = parent(path)
	}
	return true
}
