// Package watcher reports which paths may have changed, once they have stopped
// changing. It does not report the kind of change.
//
// Operating system events only make the watcher faster. The system loses,
// merges, renames and repeats them, so each event is only a hint to recheck a
// path. The guarantee comes from the scan, which compares the whole tree with
// the files known to the sink. Start-up, lost events, a moved directory and a
// root that returns are all handled by a scan.
package watcher

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/memwatchd/memwatchd/internal/disk"
)

// Disk gives the watcher access to the files. A *vault.Vault implements Disk.
type Disk interface {
	// Root returns the identity of the current root directory.
	Root() (disk.FileID, error)
	// Walk visits every file below a directory, "" for the root, and calls
	// enter with each directory before reading its entries.
	Walk(ctx context.Context, from string, enter func(disk.Directory)) (*disk.Tree, error)
	// Directory returns the identity of the directory at path and reports
	// whether path is a directory.
	Directory(path string) (disk.FileID, bool)
	// Skips returns the reason why a path is excluded by its name alone, or "".
	Skips(path string, dir bool) string
	// Writing reports whether a file is open for writing. Only fs.ErrNotExist
	// means that the file does not exist.
	Writing(path string) (bool, error)
	// Remote returns why events for the file system of a directory are
	// incomplete, or "". The path is absolute.
	Remote(dir string) string
}

// Sink is the consumer of changed paths, such as an index.
type Sink interface {
	// Known yields every path that the sink holds data for, with the stamp of
	// the file at the time it was read. It may be called while Changed runs.
	Known() iter.Seq2[string, disk.Stamp]
	// Changed processes the paths, which may be new, changed, missing or
	// unchanged, and returns once the sink's data matches the files. It is
	// never called concurrently.
	//
	// Changed returns the paths that could not be read, for a later retry. It
	// also returns the paths that were being written while they were read,
	// unless why is [Overdue], and the paths that do not exist, unless why is
	// [Gone]. The sink keeps its data for the returned paths. An error applies
	// to all paths.
	Changed(ctx context.Context, paths []string, why Reason) (retry []string, err error)
}

// Reason is the reason why the watcher delivers a path.
type Reason uint8

// Reasons for a delivery.
const (
	Event   Reason = iota // an event named the path
	Scan                  // a scan found a difference from the known state
	Verify                // the periodic comparison of contents is due, even where stamps are equal
	Overdue               // the file has been open for writing for so long that its current content is used
	Gone                  // the file has been missing for so long that the sink drops it if it is still missing
)

// String returns the reason's name in logs.
func (w Reason) String() string {
	return [...]string{"event", "scan", "verify", "overdue", "gone"}[min(w, Gone)]
}

// Default durations of a Watcher.
const (
	DefaultDebounce      = 30 * time.Millisecond
	DefaultMaxWait       = time.Second
	DefaultDeletionDelay = 500 * time.Millisecond
	DefaultReconcile     = time.Minute
	DefaultVerify        = 24 * time.Hour
	DefaultPoll          = 2 * time.Second
)

// A Watcher watches one root. Set the fields before the first call; a zero
// duration selects the default. All methods are safe for concurrent use.
type Watcher struct {
	Dir  string // the root, as Disk knows it
	Disk Disk
	Sink Sink

	Debounce time.Duration // debounce time: how long a path must not change
	MaxWait  time.Duration // upper limit of the debounce, from a path's first change
	// how long a path must be missing to count as gone: editors move a file away before they rewrite it
	DeletionDelay time.Duration
	Reconcile     time.Duration // interval of full scans, if they are fast
	Verify        time.Duration // interval of comparisons of all contents
	Poll          time.Duration // interval of checks of the root and of directories that cannot be watched

	// CookieDir is a directory outside the root in which Sync creates and
	// renames an entry, to learn that every earlier event has arrived. If
	// CookieDir is empty or unusable, Sync compares every file instead.
	CookieDir string

	// GitChanged reports whether git has changed files below the root since a time. It
	// may be nil. Many files that disappear when git changes files were removed on
	// purpose: no disk was unmounted.
	GitChanged func(since time.Time) bool

	Logger *slog.Logger // nil disables logging

	once        sync.Once
	watches     watches
	debouncer   debouncer
	scans       scans
	hold        hold
	sinkFailure string // the last error of the sink, which is in the log; used only by deliverBatch
	cookie      cookie

	hints      chan []hint       // to the debouncer
	inject     chan []hint       // to the debouncer, after all events that have arrived
	errorsRead chan struct{}     // failures receives from it after handling the earlier notifier errors
	syncs      chan chan<- error // calls of Sync, which receive their results
	stopped    chan struct{}     // closed when Run returns
}

// init sets the defaults. The first exported method called runs it once.
func (w *Watcher) init() {
	w.once.Do(func() {
		w.Debounce, w.MaxWait = cmp.Or(w.Debounce, DefaultDebounce), cmp.Or(w.MaxWait, DefaultMaxWait)
		w.DeletionDelay, w.Reconcile = cmp.Or(w.DeletionDelay, DefaultDeletionDelay),
			cmp.Or(w.Reconcile, DefaultReconcile)
		w.Verify, w.Poll = cmp.Or(w.Verify, DefaultVerify), cmp.Or(w.Poll, DefaultPoll)
		w.Logger = cmp.Or(w.Logger, slog.New(slog.DiscardHandler))
		w.Dir = absPath(w.Dir)
		w.CookieDir = absPath(w.CookieDir)
		w.watches = watches{
			dir: w.Dir, cookieDir: w.CookieDir, lookup: w.Disk.Directory, reason: w.Disk.Remote, logger: w.Logger,
			opened: make(chan *fsnotify.Watcher, 1), failures: make(chan (<-chan error), 1),
			byPath: make(map[string]watched), byID: make(map[disk.FileID]string),
			polled: make(map[string]failure), knownUnwatched: make(map[string]int),
		}
		w.debouncer.debounce, w.debouncer.maxWait, w.debouncer.deletionDelay = w.Debounce, w.MaxWait, w.DeletionDelay
		w.debouncer.checkState, w.debouncer.deliver = w.checkState, w.deliverBatch
		w.scans = scans{scanSignal: make(chan struct{}, 1), rootSignal: make(chan struct{}, 1),
			finished: make(chan struct{}), state: RootStarting}
		w.hints, w.inject = make(chan []hint), make(chan []hint)
		w.syncs = make(chan chan<- error)
		w.errorsRead, w.stopped = make(chan struct{}), make(chan struct{})
	})
}

// Run watches until ctx is done and returns the context's error, the only one:
// it retries after every failure, and Status contains the problem. When Run
// returns, all goroutines of the watcher have ended. Run may be called once.
func (w *Watcher) Run(ctx context.Context) error {
	w.init()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The first scan adds the watches, each before it reads the directory.
	w.scans.requestScan(true)
	var group sync.WaitGroup
	for _, run := range []func(context.Context){w.forwardEvents, w.readErrors, w.runScans, w.runSyncs} {
		group.Go(func() { run(ctx) })
	}
	group.Go(func() { w.debouncer.run(ctx, w.hints) })
	group.Wait()
	w.watches.close()
	close(w.stopped)
	return ctx.Err()
}

// Rescan requests a full scan now, regardless of events. It does not wait for
// the scan; Sync does.
func (w *Watcher) Rescan() {
	w.init()
	w.scans.requestScan(false)
}

// VerifyNow requests a full scan that delivers every file with the reason
// [Verify]. It does not wait for the scan.
func (w *Watcher) VerifyNow() {
	w.init()
	w.scans.requestScan(true)
}

func (w *Watcher) sendHints(ctx context.Context, marks []hint) {
	if len(marks) == 0 {
		return
	}
	select {
	case w.hints <- marks:
	case <-ctx.Done():
	}
}

// absPath returns the path under which the notifier reports a directory.
func absPath(dir string) string {
	abs, err := filepath.Abs(dir)
	if dir == "" || err != nil {
		return dir
	}
	return abs
}
