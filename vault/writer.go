package vault

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
	// DefaultFuse is the number of changes of one file per minute that only two
	// programs undoing each other's work would exceed.
	DefaultFuse = 20
)

const (
	// tries bounds the attempts at an asked change while other programs save
	// the file.
	tries = 5
	// lostPause is the delay before the second attempt; it doubles for each
	// further one. A save takes a few milliseconds.
	lostPause = 20 * time.Millisecond
	// shortWait is the delay before retrying an unasked change after another
	// program saved the file. It doubles with each conflict in a row, up to
	// longWait.
	shortWait = time.Second
	longWait  = time.Minute
	// vanish is how long a known file must be missing before it is treated as
	// deleted: many programs save by moving the old file away first.
	vanish = 500 * time.Millisecond
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

	// Enabled reports whether unasked changes are made; always, if nil. It may
	// be called at any time.
	Enabled func() bool
	// Quiet is how long a file must be unchanged by other programs before an
	// unasked change: [DefaultQuiet] if zero, no time if negative.
	Quiet time.Duration
	// MaxSize is the size in bytes above which a file is neither changed nor
	// created; [DefaultMaxFileSize] if zero.
	MaxSize int64
	// Settings lists the paths of writable files that are not memory. Their
	// readers and writers have access beyond that of memory's readers, so new
	// ones are private to their owner.
	Settings []string
	// Fuse bounds the unasked changes of one file per minute; [DefaultFuse] if
	// zero.
	Fuse int
	// Now returns the current time; if nil, time.Now is used.
	Now func() time.Time
	// TakenBack, if not nil, is called when a change that Write reported as
	// made is reverted: a program that had the old file open wrote to it
	// afterwards, and that version is in place again. TakenBack must not call
	// the Writer.
	TakenBack func(path string)

	once  sync.Once
	queue chan struct{} // a semaphore: one operation at a time
	wake  chan struct{} // wakes Run to recompute its timer
	step  step          // of the operation that holds queue

	repaired bool // Repair has succeeded; guarded by queue

	mu      sync.Mutex
	running bool                // Run is running
	ours    map[string]ours     // the last version written, by path
	seen    map[string]sighting // files that changed recently
	spent   map[string][]time.Time
	blown   map[string]time.Time // when the fuse allows changes again, by path
	late    []lateLook           // pending rechecks
	counts  counts

	// Tests replace system calls and delays with these fields.
	fault     func(call string, do func() error) error // runs or replaces a system call
	lateAfter time.Duration                            // the constant lateAfter if zero
}

// A gate is a Writer deciding whether a file may be changed now.
type gate struct{ *Writer }

func (w *Writer) gate() gate { return gate{w} }

// A rechecks value is a Writer resolving changes after they were made: files that were
// replaced a moment ago, and changes that a crash interrupted.
type rechecks struct{ *Writer }

func (w *Writer) rechecks() rechecks { return rechecks{w} }

// ours is the last version that this writer wrote to a file.
type ours struct {
	hash    [32]byte
	foreign time.Time // when another program last changed the file before; zero if unknown
}

var (
	// errLost reports that another program just saved the file. The attempt
	// left no trace.
	errLost = errors.New("somebody is saving it")
	// errOpen reports that a program may save the file at any time.
	errOpen = fmt.Errorf("%w: a program has it open for writing", errLost)
)

// Write makes a change. On success the change is complete, in the journal, and
// durable on disk. On error nothing has changed.
//
// An unasked change (Asked is false) is made only if other programs have not
// changed the file for a while and no program seems to edit it; otherwise the
// error is a [*WaitError]. If writing is turned off, the error is [ErrOff]. An
// asked change is made at once, even if the file is open in an editor: no text
// is lost, and the editor warns its user. If other programs save the file
// during each attempt, the error is [ErrBusy].
//
// If the file is not to be changed, the error is a [*RefusedError]. Write also
// returns the error of Edit, and the context's while it waits for the semaphore
// or between attempts. Any other error reports the step that failed; the change
// may then be tried again.
func (w *Writer) Write(ctx context.Context, c Change) (Written, error) {
	return w.try(ctx, c, func() (Written, error) { return w.attempt(ctx, &c) })
}

// try acquires the semaphore and repeats attempt while other programs save the
// file. Only asked changes are repeated.
func (w *Writer) try(ctx context.Context, c Change, attempt func() (Written, error)) (Written, error) {
	if !c.Asked && !w.enabled() {
		return Written{}, fmt.Errorf("write %s: %w", c.Path, ErrOff)
	}
	if reason := w.Vault.Skips(c.Path, false); reason != "" && !slices.Contains(w.Settings, c.Path) {
		return Written{}, &RefusedError{c.Path, reason + ": what is not read as memory is not written either"}
	}
	written, err := inTurn(ctx, w, func() (Written, error) {
		if !w.repaired {
			if err := w.rechecks().repair(ctx); err != nil {
				return Written{}, err
			}
		}
		for n := 1; ; n++ {
			if err := ctx.Err(); err != nil {
				return Written{}, err
			}
			var written Written
			err := w.rechecks().finishLate(c.Path)
			if err == nil {
				written, err = attempt()
			}
			if !errors.Is(err, errLost) {
				return written, err
			}
			if !errors.Is(err, errOpen) {
				w.lost(c.Path)
			}
			if !c.Asked {
				return Written{}, &WaitError{c.Path, err.Error(), w.backOff(c.Path)}
			}
			if n == tries {
				return Written{}, fmt.Errorf("%w: %w", ErrBusy, err)
			}
			sleep(ctx, lostPause<<(n-1))
		}
	})
	err = explain(c.Path, err)
	w.note(c.Path, written, err)
	return written, err
}

// inTurn calls do while it holds the semaphore. If the disk does not respond,
// the error is an [ErrRoot], and do ends when it can.
func inTurn[T any](ctx context.Context, w *Writer, do func() (T, error)) (T, error) {
	var none, result T
	w.init()
	tick := time.NewTicker(answerTime / 5)
	defer tick.Stop()
	for waiting := true; waiting; {
		select {
		case w.queue <- struct{}{}:
			waiting = false
		case <-ctx.Done():
			return none, ctx.Err()
		case <-tick.C:
			if w.Vault.steps.stuck() {
				return none, rootError(w.Vault.Dir, errNoAnswer)
			}
		}
	}
	step, err := w.Vault.steps.begin()
	if err != nil {
		<-w.queue
		return none, rootError(w.Vault.Dir, err)
	}
	w.step = step
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { <-w.queue }()
		defer func() { w.Vault.steps.end(w.step) }()
		result, err = do()
	}()
	if !w.Vault.await(ended) {
		return none, rootError(w.Vault.Dir, errNoAnswer)
	}
	return result, err
}

func (w *Writer) init() {
	w.once.Do(func() {
		w.queue, w.wake = make(chan struct{}, 1), make(chan struct{}, 1)
		w.ours, w.seen = make(map[string]ours), make(map[string]sighting)
		w.spent, w.blown = make(map[string][]time.Time), make(map[string]time.Time)
		w.counts.waiting, w.counts.refused = make(map[string]hindered), make(map[string]hindered)
		w.counts.kept = make(map[string]bool)
	})
}

// call makes one system call that affects memory files, and repeats it if a
// signal interrupts it. The error starts with the purpose of the call.
func (w *Writer) call(what string, do func() error) error {
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

// Own reports whether the last version that this writer wrote to path has the
// given SHA-256.
func (w *Writer) Own(path string, hash [32]byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	o, ok := w.ours[path]
	return ok && o.hash == hash
}

// own records the version about to be written, and returns a function that
// reverts this.
func (w *Writer) own(path string, hash [32]byte, foreign time.Time) (undo func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, had := w.ours[path]
	w.ours[path] = ours{hash, foreign}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if had {
			w.ours[path] = before
		} else {
			delete(w.ours, path)
		}
	}
}

func (w *Writer) enabled() bool { return w.Enabled == nil || w.Enabled() }

func (w *Writer) now() time.Time {
	if w.Now != nil {
		return w.Now()
	}
	return time.Now()
}

func (w *Writer) logger() *slog.Logger { return cmp.Or(w.Logger, slog.Default()) }

func (w *Writer) maxSize() int64 { return cmp.Or(w.MaxSize, DefaultMaxFileSize) }

func (w *Writer) quiet() time.Duration { return max(0, cmp.Or(w.Quiet, DefaultQuiet)) }

func hashOf(data []byte) [32]byte { return sha256.Sum256(data) }

// sleep waits for d or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
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

	// Asked reports that a caller waits for the change. The change then does
	// not wait until the file is quiet, and is repeated if other programs save
	// the file meanwhile.
	Asked bool
	// Secret keeps the text of the change out of the journal, so that the
	// change cannot be undone.
	Secret bool

	// Edit returns the new content of the file. old is nil if the file does not
	// exist. If the result equals the old content or is nil, nothing changes;
	// the result [ErrRemove] removes the file, and Write returns any other
	// error.
	//
	// Edit is called again after each conflicting save, so it must depend on
	// old only. It must not modify old, call the [Writer], or take seconds,
	// because it blocks all other writes.
	Edit func(old *File) ([]byte, error)
}

// Written is the result of a change.
type Written struct {
	ID      string   // in the journal; empty if nothing changed
	Hash    [32]byte // SHA-256 of the file now; zero if there is no file
	Changed bool
}

// Errors that callers of [Writer] distinguish, in addition to [*WaitError] and
// [*RefusedError].
var (
	// ErrBusy reports that other programs saved the file during each attempt.
	ErrBusy = errors.New("file keeps changing")
	// ErrRemove, returned by [Change.Edit], requests removal of the file.
	ErrRemove = errors.New("the file is to be removed")
	// ErrOff reports that unasked changes are turned off.
	ErrOff = errors.New("writing is turned off")
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
