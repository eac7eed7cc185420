package watcher

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/memwatchd/memwatchd/internal/disk"
)

const (
	// scanShare is the ratio of the time between scans to the duration of a scan.
	// It limits scans to a thousandth of one processor, as a scan keeps nearly
	// two busy.
	scanShare = 2000
	// pollShare is the same ratio for polling, which is the only source of
	// changes in directories that cannot be watched.
	pollShare = 20
	// sleepGap is the excess gap between two ticks above which the machine must
	// have slept, or the process been stopped, so that events may be stale.
	sleepGap = 30 * time.Second
)

// scans holds the scans requested of the scanner and their results.
type scans struct {
	scanSignal chan struct{} // a scan was requested
	rootSignal chan struct{} // the root may have changed

	mu          sync.Mutex
	requested   uint64 // number of scans requested
	done        uint64 // the last request that a finished scan has satisfied
	finished    chan struct{}
	verify      bool
	eventsLost  bool // events were lost and the scan for them has not begun
	overflows   int
	last        time.Time   // end of the last scan
	dir         disk.FileID // the root at the last scan; zero if it was missing
	state       string      // of the root
	cause       string      // why the root is missing
	failed      int         // consecutive scans that could not read everything
	failedReads uint64      // number of failed reads, including walks of a part
	madeUp      uint64      // failedReads whose files a later scan has delivered
	oldRules    bool        // the last walk could not read the ignore file, which was being written
	retry       *time.Timer // timer of the scan after a failed one
}

// A scanStart is the state at the start of a scan.
type scanStart struct {
	request     uint64 // the last request
	verify      bool
	failedReads uint64
}

// States of the root.
const (
	RootStarting = "starting" // not scanned yet
	RootWatched  = "watched"
	RootMissing  = "missing" // the watcher waits for it and keeps the known files
)

// requestScan requests a full scan now because changes may have been missed. Sync
// waits for this scan.
func (s *scans) requestScan(verify bool) {
	s.mu.Lock()
	s.requested++
	s.mu.Unlock()
	s.scheduleScan(verify)
}

// scheduleScan schedules a full scan that Sync does not wait for, such as a periodic
// one.
func (s *scans) scheduleScan(verify bool) {
	s.mu.Lock()
	s.verify = s.verify || verify
	s.mu.Unlock()
	notify(s.scanSignal)
}

func (s *scans) requestRootCheck() { notify(s.rootSignal) }

// countOverflow counts an overflow and reports whether it is the first since the
// last scan began.
func (s *scans) countOverflow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.overflows++
	first := !s.eventsLost
	s.eventsLost = true
	return first
}

// beginScan clears the state that the next scan covers.
func (s *scans) beginScan() scanStart {
	s.mu.Lock()
	defer s.mu.Unlock()
	start := scanStart{s.requested, s.verify, s.failedReads}
	s.verify, s.eventsLost = false, false
	return start
}

// endScan records the end of a scan and reports whether the state of the root
// changed. If the root is missing, the next scan verifies in place of this one.
func (s *scans) endScan(start scanStart, root disk.FileID, state, cause string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.state != state
	s.dir, s.state, s.cause = root, state, cause
	if state == RootWatched {
		s.last = time.Now()
	} else {
		s.verify = s.verify || start.verify
	}
	s.done = max(s.done, start.request)
	close(s.finished)
	s.finished = make(chan struct{})
	return changed
}

// recordMissed records that part of the root could not be read. It requests a scan,
// unless a retry is already scheduled.
func (s *scans) recordMissed() {
	s.mu.Lock()
	s.failedReads++
	scheduled := s.failed > 0
	s.mu.Unlock()
	if !scheduled {
		s.requestScan(false)
	}
}

// endWalk records the tree that a scan has walked. If any read failed since the
// scan began, endWalk schedules another scan and returns nil. Otherwise it
// returns the function to call after the scan's marks have been delivered, or
// nil if none is needed.
func (s *scans) endWalk(start scanStart, tree *disk.Tree) (delivered func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldRules = tree.OldRules
	if tree.Failed {
		s.failedReads++
	}
	switch {
	case s.failedReads != start.failedReads:
		s.retryLocked()
		return nil
	case s.failedReads == s.madeUp:
		return nil
	}
	return func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil || s.failedReads != start.failedReads {
			s.retryLocked()
			return
		}
		s.failed, s.madeUp = 0, s.failedReads
	}
}

// retryLocked schedules a scan with exponential backoff.
func (s *scans) retryLocked() {
	after := min(firstRetry<<min(s.failed, 16), lastRetry)
	s.failed++
	if s.retry != nil {
		s.retry.Stop()
	}
	s.retry = time.AfterFunc(after, func() { s.scheduleScan(false) })
}

// lastRoot returns the root at the last scan, or zero if it was missing, and
// reports whether a scan has finished yet.
func (s *scans) lastRoot() (disk.FileID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dir, s.state != RootStarting
}

// waitRequested blocks until every scan requested before the call has finished.
func (s *scans) waitRequested(ctx context.Context) error {
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

// usesOldRules reports whether the last scan could not read the ignore file because a
// program was writing it. No event reports that the program closed it.
func (s *scans) usesOldRules() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.oldRules
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// runScans runs full scans on request and periodically, and polls the
// directories that cannot be watched more often.
func (w *Watcher) runScans(ctx context.Context) {
	start := time.Now()
	nextScan, nextVerify, nextPoll, lastTick := start, start.Add(w.Verify), start, start
	tick := time.NewTicker(w.Poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.scans.scanSignal:
			began := time.Now()
			w.noteSleep(lastTick, began) // this scan covers a sleep
			w.scanRoot(ctx)
			now := time.Now()
			took := now.Sub(began)
			nextScan, nextPoll = now.Add(max(w.Reconcile, scanShare*took)), now.Add(max(w.Poll, pollShare*took))
			lastTick = now
			continue
		case <-w.scans.rootSignal:
		case <-tick.C:
			now := time.Now()
			if w.noteSleep(lastTick, now) {
				w.scans.requestScan(false)
			}
			lastTick = now
		}
		now := time.Now()
		w.checkRoot()
		switch {
		case now.After(nextVerify):
			nextVerify = now.Add(w.Verify)
			w.scans.scheduleScan(true)
		case now.After(nextScan), w.hold.secondScanDue(now, w.Reconcile):
			w.scans.scheduleScan(false)
		case now.After(nextPoll):
			w.pollUnwatched(ctx)
			lastTick = time.Now()
			nextPoll = lastTick.Add(max(w.Poll, pollShare*lastTick.Sub(now)))
		}
	}
}

// noteSleep logs and reports whether the machine slept between two ticks.
func (w *Watcher) noteSleep(last, now time.Time) bool {
	slept := hasSlept(last, now, w.Poll)
	if slept {
		w.Logger.Info("resumed from sleep, scanning all files")
	}
	return slept
}

// hasSlept reports whether far more time than expected passed between two ticks.
// It compares both clocks: the wall clock advances while the machine sleeps,
// and the monotonic clock cannot be set.
func hasSlept(last, now time.Time, tick time.Duration) bool {
	return max(now.Round(0).Sub(last.Round(0)), now.Sub(last)) > tick+sleepGap
}

// checkRoot requests a scan if the root is no longer the directory that was
// scanned.
func (w *Watcher) checkRoot() {
	scanned, ok := w.scans.lastRoot()
	if id, err := w.Disk.Root(); ok && id != scanned && !isFileLimit(err) {
		w.scans.requestScan(false)
	}
}

// scanRoot compares the whole root with the files known to the sink.
func (w *Watcher) scanRoot(ctx context.Context) {
	start := w.scans.beginScan()
	began := time.Now()
	root, err := w.Disk.Root()
	var tree *disk.Tree
	if err == nil {
		if scanned, ok := w.scans.lastRoot(); ok && root != scanned {
			w.watches.removeAll()
		}
		w.watches.beginWalk()
		tree, err = w.Disk.Walk(ctx, "", w.watches.watchDir)
	}
	switch {
	case ctx.Err() != nil:
		return
	case isFileLimit(err):
		w.Logger.Warn("cannot scan the memory directory, retrying", "err", err)
		time.AfterFunc(w.Poll, func() { w.scans.scheduleScan(start.verify) })
		return
	case err != nil:
		// No file could be read, so all known files keep their state.
		w.watches.removeAll()
		if w.scans.endScan(start, disk.FileID{}, RootMissing, err.Error()) {
			w.Logger.Warn("memory directory is missing, waiting", "err", err)
		}
		return
	}
	among := func(inFlight []string) []string {
		differ, gone := w.compareTree(tree, inFlight)
		if n := w.hold.releaseFound(began, gone); n > 0 {
			w.Logger.Info("missing files are back", "files", n)
		}
		w.Logger.Debug("scanned", "files", len(tree.Files), "differ", len(differ), "gone", len(gone))
		return append(differ, gone...)
	}
	marks := []hint{{reason: Scan, expand: among}}
	if start.verify {
		for _, f := range tree.Files {
			marks = append(marks, hint{path: f.Path, reason: Verify})
		}
	}
	if delivered := w.scans.endWalk(start, tree); delivered != nil {
		marks = append(marks, hint{barrier: &barrier{done: delivered}})
	}
	w.sendHints(ctx, marks)
	w.watches.endWalk()
	if w.scans.endScan(start, root, RootWatched, "") {
		w.Logger.Info("watching", "path", w.Dir, "files", len(tree.Files), "directories", w.watches.len())
	}
}

// isFileLimit reports whether err means that this process or the machine has too
// many open files. Such an error contains no information about the root.
func isFileLimit(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// pollUnwatched compares the directories that cannot be watched with the known files.
// There may be very many of them, and comparing each with all known files costs
// more than one comparison of their common parent directory.
func (w *Watcher) pollUnwatched(ctx context.Context) {
	unwatched := w.watches.listUnwatched()
	if len(unwatched) == 0 {
		return
	}
	dir := unwatched[0].Path
	for _, u := range unwatched {
		for !disk.Within(u.Path, dir) {
			dir = parentDir(dir)
		}
	}
	w.compareDir(ctx, dir)
}

func (w *Watcher) compareDir(ctx context.Context, dir string) {
	tree := w.walk(ctx, dir)
	if tree == nil {
		return
	}
	among := func(inFlight []string) []string {
		differ, gone := w.compareTree(tree, inFlight)
		return append(differ, gone...)
	}
	w.sendHints(ctx, []hint{{reason: Scan, expand: among}})
}

// walk walks a part of the root. If that fails, because the root is missing or
// too many files are open, walk requests a scan and returns nil.
func (w *Watcher) walk(ctx context.Context, dir string) *disk.Tree {
	tree, err := w.Disk.Walk(ctx, dir, w.watches.watchDir)
	if err != nil && !errors.Is(err, context.Canceled) || err == nil && tree.Failed {
		w.scans.recordMissed()
	}
	if err != nil {
		return nil
	}
	return tree
}

// compareTree returns the files whose stamps differ from the known ones, and the
// known or in-flight files that are missing. Files that could not be read are
// in neither list.
func (w *Watcher) compareTree(tree *disk.Tree, inFlight []string) (differ, gone []string) {
	known := make(map[string]disk.Stamp)
	for _, path := range inFlight {
		if disk.Within(path, tree.From) {
			known[path] = disk.Stamp{}
		}
	}
	for path, stamp := range w.Sink.Known() {
		if disk.Within(path, tree.From) {
			known[path] = stamp
		}
	}
	for _, f := range tree.Files {
		if stamp, ok := known[f.Path]; !ok || stamp != f.Stamp {
			differ = append(differ, f.Path)
		}
		delete(known, f.Path)
	}
	unseen := tree.Unseen()
	for path := range known {
		if !disk.WithinAny(path, unseen) {
			gone = append(gone, path)
		}
	}
	slices.Sort(gone)
	return differ, gone
}
