package vault

import (
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

// What a [Writer] does if it is not told otherwise.
const (
	// DefaultQuiet is longer than an agent takes from reading a file to editing
	// it, and than editors wait before they save by themselves.
	DefaultQuiet = 10 * time.Second
	// DefaultFuse is more often in a minute than anything but two programs that
	// undo each other's work would change one file.
	DefaultFuse = 20
)

const (
	// tries is how often something that was asked for is tried while others save
	// the file.
	tries = 5
	// lostPause is how long it waits before the second try; each further one
	// waits twice as long. A save takes some milliseconds.
	lostPause = 20 * time.Millisecond
	// shortWait is after which an unasked change is worth another try when
	// somebody was just saving: twice as long each time in a row, up to longWait.
	shortWait = time.Second
	longWait  = time.Minute
	// vanish is how long a file that was there has to be gone before it is
	// believed: many programs save by moving the old one away first.
	vanish = 500 * time.Millisecond
)

// A Writer changes people's files, one at a time, so that nobody ever loses what
// they have saved: neither by a crash at any moment, nor by saving at the same
// moment. A new version is written beside the file, and the two change places in
// one step; what comes out must be, byte for byte, what the change was made
// from, else they change back. Every change is in the journal before it is made.
//
// Set the fields before the first call; all methods are safe for concurrent
// use. [Writer.Repair] is called before anything is written, and [Writer.Run]
// runs as long as anything is.
type Writer struct {
	Vault   *Vault
	Journal *journal.Journal
	Logger  *slog.Logger // the default one if nil

	// Enabled reports whether anything is written that nobody asked for; always
	// if nil. It may be called at any time.
	Enabled func() bool
	// Quiet is how long others must have left a file alone before it is changed
	// unasked: [DefaultQuiet] if zero; a negative one is none.
	Quiet time.Duration
	// MaxSize is the size in bytes above which a file is not changed, nor made;
	// [DefaultMaxFileSize] if zero.
	MaxSize int64
	// Settings are the paths of files that are changed although they are not read
	// as memory. Whoever can write to one of them, or reads it, knows more than
	// memory's readers: new ones are their owner's alone.
	Settings []string
	// Fuse is how often in a minute one file is changed unasked; [DefaultFuse] if
	// zero.
	Fuse int
	// Now tells the time; time.Now if nil.
	Now func() time.Time
	// TakenBack is called, if it is not nil, when a change that Write has returned
	// as made is taken back: a program that had the old file open has written to
	// it since, and its version is in place again. It must not call the Writer.
	TakenBack func(path string)

	once  sync.Once
	queue chan struct{} // whose turn it is
	wake  chan struct{} // tells Run that there is something to look at
	step  step          // of whoever's turn it is

	repaired bool // Repair has succeeded; for whoever's turn it is

	mu      sync.Mutex
	running bool                // Run is
	ours    map[string]ours     // what we wrote last, by path
	seen    map[string]sighting // files that were changed a moment ago
	spent   map[string][]time.Time
	blown   map[string]time.Time // until when files are left alone by the fuse
	late    []lateLook           // what is looked at once more
	counts  counts

	// Tests stand in for the kernel, and for time, with these.
	fault     func(call string, do func() error) error // makes a system call, or not
	lateAfter time.Duration                            // lateAfter if zero
}

// ours is what we wrote last to a file.
type ours struct {
	hash    [32]byte
	foreign time.Time // when others had last changed it before that; zero if unknown
}

var (
	// errLost: somebody saved the file just now, and nothing of ours was left
	// there.
	errLost = errors.New("somebody is saving it")
	// errOpen: nobody knows when they are going to.
	errOpen = fmt.Errorf("%w: a program has it open for writing", errLost)
)

// Write makes a change. What is journalled and returned has happened, and is on
// the disk; with an error nothing has happened.
//
// A change that nobody asked for is made when others have left the file alone
// for a while and nobody seems to be editing it, else the error is a
// [*WaitError]; if writing is turned off it is [ErrOff]. One that was asked for
// is made at once, even if the file is open in an editor: nothing is lost by
// that, and the editor warns who uses it. It fails with [ErrBusy] if others saved
// the file each time it was tried.
//
// The error is a [*RefusedError] if the file is not one to be changed, what Edit
// returned if it did not want to, the context's while it waits for its turn and
// between tries, or says which step failed; then the change may be tried again.
func (w *Writer) Write(ctx context.Context, c Change) (Written, error) {
	return w.try(ctx, c, func() (Written, error) { return w.attempt(ctx, &c) })
}

// try waits for its turn, and tries to make a change as often as it deserves.
func (w *Writer) try(ctx context.Context, c Change, attempt func() (Written, error)) (Written, error) {
	if !c.Asked && !w.enabled() {
		return Written{}, fmt.Errorf("write %s: %w", c.Path, ErrOff)
	}
	if reason := w.Vault.Skips(c.Path, false); reason != "" && !slices.Contains(w.Settings, c.Path) {
		return Written{}, &RefusedError{c.Path, reason + ": what is not read as memory is not written either"}
	}
	written, err := inTurn(ctx, w, func() (Written, error) {
		if !w.repaired {
			if err := w.repair(ctx); err != nil {
				return Written{}, err
			}
		}
		for n := 1; ; n++ {
			if err := ctx.Err(); err != nil {
				return Written{}, err
			}
			var written Written
			err := w.finishLate(c.Path)
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

// inTurn does something while nobody else writes. If the disk does not answer,
// the error is an [ErrRoot], and what was begun ends when it can.
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
	})
}

// call makes one system call of those on which people's files depend, again if
// a signal interrupted it. The error says what it was for.
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

// Own reports whether the content with that SHA-256 is what we wrote last to the
// file at path.
func (w *Writer) Own(path string, hash [32]byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	o, ok := w.ours[path]
	return ok && o.hash == hash
}

// own notes what is about to be ours, and returns what undoes that.
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

func (w *Writer) logger() *slog.Logger {
	if w.Logger != nil {
		return w.Logger
	}
	return slog.Default()
}

func (w *Writer) maxSize() int64 {
	if w.MaxSize == 0 {
		return DefaultMaxFileSize
	}
	return w.MaxSize
}

func (w *Writer) quiet() time.Duration {
	if w.Quiet == 0 {
		return DefaultQuiet
	}
	return max(0, w.Quiet)
}

func hashOf(data []byte) [32]byte { return sha256.Sum256(data) }

// sleep waits, unless there is no need any more.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// A Change is a wish to change one file.
type Change struct {
	Path string

	// Cause says in a word why: todo, trim, edit, undo and so on.
	Cause string
	// Group is shared by changes that are undone together; one of its own is
	// made for a change that has none.
	Group string
	// Reason says the same as Cause to a person, without memory text.
	Reason string
	// Undoes are the ids of the changes that this one reverses, newest first.
	Undoes []string

	// Asked is true if somebody waits for it: it does not wait until the file
	// was left alone for a while, and is tried more often when others save
	// meanwhile.
	Asked bool
	// Secret is true if the journal must not have the text of the change, which
	// can then not be undone.
	Secret bool

	// Edit says what the file is to be, given what it is: nil if there is none
	// and one is to be made. It is called anew whenever somebody has saved
	// meanwhile, so it must depend on nothing else; and it must neither change
	// what it is given nor call the [Writer], nor take seconds, since
	// everybody else waits. The same bytes, or nil, mean that there is nothing to
	// do; an error is given to whoever wished, except [ErrRemove].
	Edit func(old *File) ([]byte, error)
}

// Written is what became of a change.
type Written struct {
	ID      string   // in the journal; empty if there was nothing to do
	Hash    [32]byte // SHA-256 of what the file is now; zero if there is none
	Changed bool
}

// What callers of [Writer] tell apart, beside [*WaitError] and [*RefusedError].
var (
	// ErrBusy: others saved the file whenever we were about to.
	ErrBusy = errors.New("file keeps changing")
	// ErrRemove, returned by [Change.Edit]: there is to be no file any more.
	ErrRemove = errors.New("the file is to be removed")
	// ErrOff: nothing that nobody asked for is written.
	ErrOff = errors.New("writing is turned off")
)

// A WaitError says that a file must not be written now: somebody is at it.
type WaitError struct {
	Path   string
	Reason string
	For    time.Duration // after which it is worth another look
}

func (e *WaitError) Error() string { return fmt.Sprintf("write %s: not now: %s", e.Path, e.Reason) }

// A RefusedError says that a file is never written as it is. Every change of it
// by others is a new chance.
type RefusedError struct {
	Path   string
	Reason string // and what to do about it
}

func (e *RefusedError) Error() string { return fmt.Sprintf("write %s: refused: %s", e.Path, e.Reason) }
