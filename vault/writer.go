package vault

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// Defaults of a [Writer].
const (
	// DefaultQuiet is longer than an agent takes between reading and editing a
	// file, and longer than the autosave interval of editors.
	DefaultQuiet = 10 * time.Second
	// DefaultMaxChangesPerMinute is the number of changes of one file per minute that only two
	// programs undoing each other's work would exceed.
	DefaultMaxChangesPerMinute = 20
)

const (
	// maxAttempts bounds the attempts at a requested change while other programs save
	// the file.
	maxAttempts = 5
	// conflictPause is the delay before the second attempt; it doubles for each
	// further one. A save takes a few milliseconds.
	conflictPause = 20 * time.Millisecond
	// shortWait is the delay before retrying an automatic change after another
	// program saved the file. It doubles with each conflict in a row, up to
	// longWait.
	shortWait = time.Second
	longWait  = time.Minute
	// deletionDelay is how long a known file must be missing before it is treated as
	// deleted: many programs save by moving the old file away first.
	deletionDelay = 500 * time.Millisecond
)

// A Writer changes memory files, one at a time, without ever losing a saved
// version, either in a crash or by a simultaneous save. It writes the new
// version to a temporary file and exchanges the two files atomically. The file
// that the exchange replaced must be, byte for byte, the one that the change
// was made from; otherwise the Writer reverts the exchange. Every change is in
// the journal before it is made.
//
// Set the fields before the first call; all methods are safe for concurrent
// use. Call [Writer.Repair] before the first write, and keep [Writer.Run]
// running while writes are possible.
type Writer struct {
	Vault   *Vault
	Journal *journal.Journal
	Logger  *slog.Logger // slog.Default() if nil

	// Enabled reports whether automatic changes are made; always, if nil. It may
	// be called at any time.
	Enabled func() bool
	// Quiet is how long a file must be unchanged by other programs before an
	// automatic change: [DefaultQuiet] if zero, no time if negative.
	Quiet time.Duration
	// MaxSize is the size in bytes above which a file is neither changed nor
	// created; [DefaultMaxFileSize] if zero.
	MaxSize int64
	// Settings lists the paths of writable files that are not memory.
	Settings []string
	// MaxChangesPerMinute bounds the automatic changes of one file per minute; [DefaultMaxChangesPerMinute] if
	// zero.
	MaxChangesPerMinute int
	// Now returns the current time; if nil, time.Now is used.
	Now func() time.Time

	once      sync.Once
	semaphore chan struct{} // one operation at a time
	callers   turns         // one change of a caller at a time
	files     turns         // one change of a file at a time
	wake      chan struct{} // wakes Run to recompute its timer
	step      step          // of the operation that holds semaphore

	repaired bool // Repair has succeeded; guarded by semaphore

	mu              sync.Mutex
	running         bool                  // Run is running
	ownVersions     map[string]ownVersion // the last version written, by path
	seen            map[string]seenStamp  // files that changed recently
	writeTimes      map[string][]time.Time
	pausedUntil     map[string]time.Time // when the fuse allows changes again, by path
	pendingRechecks []recheck            // pending rechecks
	counts          counts

	// Tests replace system calls and delays with these fields.
	fault        func(call string, do func() error) error // runs or replaces a system call
	recheckDelay time.Duration                            // the constant recheckDelay if zero
}

// A writePolicy is a Writer deciding whether a file may be changed now.
type writePolicy struct{ *Writer }

func (w *Writer) writePolicy() writePolicy { return writePolicy{w} }

// A rechecks is a Writer resolving changes after they were made: files that were
// replaced a moment ago, and changes that a crash interrupted.
type rechecks struct{ *Writer }

func (w *Writer) rechecks() rechecks { return rechecks{w} }

// ownVersion is the last version that this writer wrote to a file.
type ownVersion struct {
	hash     [32]byte
	external time.Time // when another program last changed the file before; zero if unknown
}

var (
	// errConcurrentSave reports that another program just saved the file. The attempt
	// left no trace.
	errConcurrentSave = errors.New("another program is saving the file")
	// errOpen reports that a program may save the file at any time.
	errOpen = fmt.Errorf("%w: open for writing", errConcurrentSave)
)

// Write makes a change. On success the change is complete, in the journal, and
// durable on disk. On error nothing has changed.
//
// An automatic change (Requested is false) is made only if other programs have
// not changed the file for a while and no program seems to edit it; otherwise
// the error is a [*WaitError]. If writing is turned off, the error is [ErrOff].
// A requested change is made at once, even if the file is open in an editor: no
// text is lost, and the editor warns its user. If other programs save the file
// during each attempt, the error is [ErrBusy].
//
// If the file is not to be changed, the error is a [*RefusedError]. Write also
// returns the error of Edit, and the context's while it waits for the semaphore
// or between attempts. Any other error reports the step that failed; the change
// may then be tried again.
func (w *Writer) Write(ctx context.Context, c Change) (Written, error) {
	release, err := w.takeTurn(ctx, &c)
	if err != nil {
		return Written{}, err
	}
	defer release()
	w.prepareEdit(&c)
	return w.writeWithRetry(ctx, &c, func() (Written, error) { return w.attemptWrite(ctx, &c) })
}

// writeWithRetry acquires the semaphore and repeats attempt while other programs save the
// file. Only requested changes are repeated.
func (w *Writer) writeWithRetry(ctx context.Context, c *Change, attempt func() (Written, error)) (Written, error) {
	written, err := withSemaphore(ctx, w, func() (Written, error) {
		if !w.repaired {
			if err := w.rechecks().repairRoot(ctx); err != nil {
				return Written{}, err
			}
		}
		for n := 1; ; n++ {
			if err := ctx.Err(); err != nil {
				return Written{}, err
			}
			var written Written
			err := w.rechecks().finishRechecks(c.Path)
			if err == nil {
				written, err = attempt()
			}
			if !errors.Is(err, errConcurrentSave) {
				return written, err
			}
			if !errors.Is(err, errOpen) {
				w.countLostRace(c.Path)
			}
			if !c.Requested {
				return Written{}, &WaitError{c.Path, err.Error(), w.backOff(c.Path)}
			}
			if n == maxAttempts {
				return Written{}, fmt.Errorf("%w: %w", ErrBusy, err)
			}
			sleepContext(ctx, conflictPause<<(n-1))
		}
	})
	err = writeError(c.Path, err)
	w.recordOutcome(c.Path, written, err)
	return written, err
}

// withSemaphore calls do while it holds the semaphore. If the disk does not respond,
// the error is an [ErrRoot], and do ends when it can.
func withSemaphore[T any](ctx context.Context, w *Writer, do func() (T, error)) (T, error) {
	var none, result T
	w.init()
	tick := time.NewTicker(stepTimeout / 5)
	defer tick.Stop()
	for waiting := true; waiting; {
		select {
		case w.semaphore <- struct{}{}:
			waiting = false
		case <-ctx.Done():
			return none, ctx.Err()
		case <-tick.C:
			if w.Vault.steps.isStuck() {
				return none, rootError(w.Vault.Dir, errNoResponse)
			}
		}
	}
	step, err := w.Vault.steps.begin()
	if err != nil {
		<-w.semaphore
		return none, rootError(w.Vault.Dir, err)
	}
	w.step = step
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { <-w.semaphore }()
		defer func() { w.Vault.steps.end(w.step) }()
		result, err = do()
	}()
	if !w.Vault.waitEnded(ended) {
		return none, rootError(w.Vault.Dir, errNoResponse)
	}
	return result, err
}

func (w *Writer) init() {
	w.once.Do(func() {
		w.semaphore, w.wake = make(chan struct{}, 1), make(chan struct{}, 1)
		w.ownVersions, w.seen = make(map[string]ownVersion), make(map[string]seenStamp)
		w.writeTimes, w.pausedUntil = make(map[string][]time.Time), make(map[string]time.Time)
		w.counts.waiting, w.counts.refused = make(map[string]unwritten), make(map[string]unwritten)
		w.counts.conflictCopies = make(map[string]bool)
	})
}

// runSyscall makes one system call that affects memory files, and repeats it if a
// signal interrupts it. The error starts with the purpose of the call.
func (w *Writer) runSyscall(what string, do func() error) error {
	w.Vault.steps.next(w.step)
	if w.fault != nil {
		real := do
		do = func() error { return w.fault(what, real) }
	}
	err := do()
	for errors.Is(err, unix.EINTR) {
		err = do()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// recordOwnVersion records the version about to be written, and returns a function that
// reverts this.
func (w *Writer) recordOwnVersion(path string, hash [32]byte, foreign time.Time) (undo func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, had := w.ownVersions[path]
	w.ownVersions[path] = ownVersion{hash, foreign}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if had {
			w.ownVersions[path] = before
		} else {
			delete(w.ownVersions, path)
		}
	}
}

func (w *Writer) isEnabled() bool { return w.Enabled == nil || w.Enabled() }

func (w *Writer) now() time.Time {
	if w.Now != nil {
		return w.Now()
	}
	return time.Now()
}

func (w *Writer) logger() *slog.Logger { return cmp.Or(w.Logger, slog.Default()) }

func (w *Writer) maxSize() int64 { return cmp.Or(w.MaxSize, DefaultMaxFileSize) }

func (w *Writer) quietTime() time.Duration { return max(0, cmp.Or(w.Quiet, DefaultQuiet)) }

func hashOf(data []byte) [32]byte { return sha256.Sum256(data) }

func sleepContext(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// A Change is a request to change one file.
type Change struct {
	Path string

	// Cause is the kind of change in one word: todo, trim, edit, undo and so
	// on.
	Cause string
	// Group is shared by changes that are undone together. A change without a
	// group gets its own.
	Group string
	// Reason describes the cause to a user, without memory text.
	Reason string
	// Undoes lists the IDs of the changes that this change reverses, newest
	// first.
	Undoes []string

	// Requested reports that a caller waits for the change. The change then does
	// not wait until the file is quiet, and is repeated if other programs save
	// the file meanwhile.
	Requested bool
	// Urgent reports that an automatic change must not wait until the file is
	// quiet: text may get lost meanwhile.
	Urgent bool
	// Secret keeps the text of the change out of the journal, so that the
	// change cannot be undone.
	Secret bool

	// Edit returns the new content of the file. old is nil if the file does not
	// exist. If the result equals the old content or is nil, nothing changes;
	// the result [ErrRemove] removes the file, and Write returns any other
	// error.
	//
	// Edit is called before the change waits for other files' changes, and
	// again for each version that others save meanwhile, so it must depend on
	// old only. It must not modify old or call the [Writer].
	Edit func(old *File) ([]byte, error)
	// Check, if not nil, is called after Edit, while no other change is made.
	// An error stops the change. Check must be quick, because it blocks all
	// other changes, and must not call the Writer.
	Check func() error

	program  program       // that requests the change
	prepared *preparedEdit // nil if Edit has not been called yet
}

// Written is the result of a change.
type Written struct {
	ID      string // in the journal; empty if nothing changed
	Changed bool
}

// Errors that callers of [Writer] distinguish, in addition to [*WaitError] and
// [*RefusedError].
var (
	// ErrBusy reports that other programs saved the file during each attempt.
	ErrBusy = errors.New("file keeps changing")
	// ErrRemove, returned by [Change.Edit], requests removal of the file.
	ErrRemove = errors.New("the file is to be removed")
	// ErrOff reports that automatic changes are turned off.
	ErrOff = errors.New("writing is disabled")
)

// A WaitError reports that a file must not be written now because another
// program uses it.
type WaitError struct {
	Path   string
	Reason string
	For    time.Duration // delay before the next attempt
}

func (e *WaitError) Error() string { return fmt.Sprintf("write %s: not now: %s", e.Path, e.Reason) }

// A RefusedError reports that a file is never written in its present state.
// After any change by another program, a new attempt may succeed.
type RefusedError struct {
	Path   string
	Reason string // includes the remedy
}

func (e *RefusedError) Error() string { return fmt.Sprintf("write %s: refused: %s", e.Path, e.Reason) }
