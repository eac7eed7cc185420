// Package watcher is time: it says which paths may have changed, once they have
// stopped changing, and never what happened to them.
//
// Events of the operating system are an accelerator and nothing more. They are
// lost, merged, renamed and repeated; so every event is only a hint to look
// again, and the guarantee is the scan that compares the whole tree with what
// is known of it. Start-up, lost events, a moved directory, a root that came
// back: all the same case.
package watcher

import (
	"context"
	"iter"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

// Disk is how the watcher looks at files. A *vault.Vault is one.
type Disk interface {
	// Root identifies the directory that is the root now.
	Root() (memory.FileID, error)
	// Walk looks at every file below a directory, "" for all, and calls enter
	// with each directory before its entries are read.
	Walk(ctx context.Context, from string, enter func(memory.Directory)) (*memory.Tree, error)
	// Directory identifies the directory at path and reports whether there is
	// one.
	Directory(path string) (memory.FileID, bool)
	// Skips says why a path is not of interest, by its name alone, or "".
	Skips(path string, dir bool) string
	// Writing reports whether a file is open for writing. fs.ErrNotExist is the
	// only error by which a file is gone.
	Writing(path string) (bool, error)
}

// Sink is what is made from the files: an index.
type Sink interface {
	// Known lists every path that it holds something for, with the stamp of the
	// file that this was made from. It may be called while Changed runs.
	Known() iter.Seq2[string, memory.Stamp]
	// Changed looks at each of the paths, which may be new, changed, gone or
	// just as before, and returns when what is made from them matches. It is
	// never called twice at the same time.
	//
	// Paths that could not be read for the moment are returned, to be given
	// again after a while. So are those that were being written when they were
	// read, unless they are [Overdue], and those that do not exist, unless they
	// are [Gone]: what is known of them stays as it was. An error means that all
	// of them are.
	Changed(ctx context.Context, paths []string, why Why) (again []string, err error)
}

// Why says what made the watcher name a path.
type Why uint8

// The reasons.
const (
	Event   Why = iota // something happened to it
	Scan               // a scan saw something else than what is known
	Verify             // nothing: it is time to compare contents, even where stamps are equal
	Overdue            // somebody has it open for writing, and has for so long that it is to be taken as it is
	Gone               // it has been gone for so long that it is to be forgotten if it still is
)

// String is the reason's name in logs.
func (w Why) String() string {
	return [...]string{"event", "scan", "verify", "overdue", "gone"}[min(w, Gone)]
}

// Defaults of the watcher's times.
const (
	DefaultSettle    = 30 * time.Millisecond
	DefaultMaxWait   = time.Second
	DefaultVanish    = 500 * time.Millisecond
	DefaultReconcile = time.Minute
	DefaultVerify    = 24 * time.Hour
	DefaultPoll      = 2 * time.Second
)

// A Watcher watches one root. Set the fields before the first call; a time that
// is zero is its default. All methods are safe for concurrent use.
type Watcher struct {
	Dir  string // the root, as Disk knows it
	Disk Disk
	Sink Sink

	Settle    time.Duration // how long a path must have been quiet
	MaxWait   time.Duration // after its first change a path is named at the latest
	Vanish    time.Duration // how long a path must be gone to be believed gone: editors move a file away before they write it anew
	Reconcile time.Duration // from one scan to the next, if the scan is fast
	Verify    time.Duration // from one comparison of all contents to the next
	Poll      time.Duration // from one look at what cannot be watched to the next, and at the root itself

	// CookieDir is a directory outside the root in which Sync makes and removes
	// names, to learn that every earlier event has arrived. If it is empty or
	// cannot be used, Sync looks at every file instead.
	CookieDir string

	Logger *slog.Logger // none if nil

	once    sync.Once
	watches watches
	settler settler
	scans   scans
	hold    hold
	failing failing // only deliver uses it
	syncs   syncs

	marks  chan []mark   // to the settler
	inject chan []mark   // to the settler, behind all events that have arrived
	heard  chan struct{} // taken when all of the notifier's errors have been heard of
}

// init fills in what was left out. It runs once, from whatever is called first.
func (w *Watcher) init() {
	w.once.Do(func() {
		for _, d := range []struct {
			field *time.Duration
			value time.Duration
		}{
			{&w.Settle, DefaultSettle}, {&w.MaxWait, DefaultMaxWait}, {&w.Vanish, DefaultVanish},
			{&w.Reconcile, DefaultReconcile}, {&w.Verify, DefaultVerify}, {&w.Poll, DefaultPoll},
		} {
			if *d.field == 0 {
				*d.field = d.value
			}
		}
		if w.Logger == nil {
			w.Logger = slog.New(slog.DiscardHandler)
		}
		w.Dir = absolute(w.Dir)
		w.CookieDir = absolute(w.CookieDir)
		w.watches.init(w.Dir, w.CookieDir, w.Disk.Directory)
		w.settler.settle, w.settler.maxWait, w.settler.vanish = w.Settle, w.MaxWait, w.Vanish
		w.settler.look, w.settler.deliver = w.look, w.deliver
		w.scans.init()
		w.syncs.init()
		w.marks = make(chan []mark)
		w.inject = make(chan []mark)
		w.heard = make(chan struct{})
	})
}

// Run watches until ctx is done, and returns its error. It owns every goroutine
// that works for the watcher; when it returns they have ended. It may be called
// once.
func (w *Watcher) Run(ctx context.Context) error {
	w.init()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Watches are placed by the first scan, each directory's before the
	// directory is read.
	w.scans.request(true)
	var group sync.WaitGroup
	for _, run := range []func(context.Context){w.events, w.scanner, w.syncer} {
		group.Go(func() { run(ctx) })
	}
	group.Go(func() { w.settler.run(ctx, w.marks) })
	group.Wait()
	w.watches.close()
	w.syncs.end()
	return ctx.Err()
}

// Rescan asks for a scan of the whole root now, whatever has been heard. It
// does not wait for it; Sync does.
func (w *Watcher) Rescan() {
	w.init()
	w.scans.request(false)
}

// VerifyNow asks for a scan of the whole root in which every file is named with
// the reason [Verify].
func (w *Watcher) VerifyNow() {
	w.init()
	w.scans.request(true)
}

// Name gives paths to the sink as if a scan had found that they differ. A Sync
// that begins after Name has returned waits for them.
func (w *Watcher) Name(ctx context.Context, paths []string) {
	w.init()
	marks := make([]mark, 0, len(paths))
	for _, path := range paths {
		marks = append(marks, mark{path: path, why: Scan})
	}
	w.send(ctx, w.marks, marks)
}

// send gives marks to the settler.
func (w *Watcher) send(ctx context.Context, to chan []mark, marks []mark) {
	if len(marks) == 0 {
		return
	}
	select {
	case to <- marks:
	case <-ctx.Done():
	}
}

// absolute is the path by which the notifier reports a directory.
func absolute(dir string) string {
	if dir == "" {
		return ""
	}
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}
