package vault

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/internal/panics"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// DefaultMaxChangesPerMinute is the number of changes of one file per minute that only two
// programs undoing each other's work would exceed.
const DefaultMaxChangesPerMinute = 20

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

// A Writer changes memory files without ever losing a saved version, either in a
// crash or by a simultaneous save. It writes the new version to a temporary file
// and exchanges the two files atomically. The file that the exchange replaced
// must be, byte for byte, the one that the change was made from; otherwise the
// Writer reverts the exchange. A moment later it looks at the replaced file once
// more, and merges what a program that still had it open wrote. Every change is
// in the journal before it is made.
//
// A Writer makes the changes of one file one after the other, and those of
// different files at the same time.
//
// Set the fields before the first call; all methods are safe for concurrent
// use. Call [Writer.Repair] before the first write, and [Writer.Run] so that the
// process does not end before the replaced files have been looked at.
type Writer struct {
	Vault   *Vault
	Journal *journal.Journal
	Logger  *slog.Logger // slog.Default() if nil

	// Enabled returns why no change is made now, such as [ErrOff] or an [ErrRoot], or nil. If
	// Enabled is nil, all changes are made.
	Enabled func(ctx context.Context, requested bool) error
	// Quiet is how long a file must be unchanged by other programs before an
	// automatic change. It should be longer than an agent takes between reading and
	// editing a file, and longer than the autosave interval of editors.
	Quiet time.Duration
	// Settings lists the paths of writable files that are not memory.
	Settings []string
	// MaxChangesPerMinute bounds the automatic changes of one file per minute; [DefaultMaxChangesPerMinute] if
	// zero.
	MaxChangesPerMinute int
	// Now returns the current time; if nil, time.Now is used.
	Now func() time.Time

	locks    locks        // of files and of callers
	repair   sync.RWMutex // read by changes, held by Repair
	repaired bool         // Repair has succeeded; guarded by repair

	closed atomic.Bool // Run has ended

	mu        sync.Mutex
	leftovers []*leftover // temporary files that must be looked at
	files     map[string]*fileState
	status    WriterStatus // without the lists

	// Tests replace system calls and delays with these fields.
	fault       func(call string, do func() error) error // runs or replaces a system call
	settleDelay time.Duration                            // the constant settleDelay if zero
}

// errConcurrentSave reports that another program just saved the file. The attempt left
// no trace.
var errConcurrentSave = errors.New("another program is saving the file")

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
// returns the error of Edit, and the context's while it waits for other changes
// or between attempts. Any other error reports the step that failed; the change
// may then be tried again.
func (w *Writer) Write(ctx context.Context, c Change) (Written, error) {
	if w.Enabled != nil {
		if err := w.Enabled(ctx, c.Requested); err != nil {
			return Written{}, fmt.Errorf("write %s: %w", c.Path, err)
		}
	}
	if err := w.checkPath(c.Path); err != nil {
		return Written{}, err
	}
	c.by = callerOf(ctx)
	written, err := withTimeout(ctx, w.Vault, func(ctx context.Context) (Written, error) {
		return w.lockAndWrite(ctx, &c)
	})
	err = w.recordOutcome(&c, written, err)
	if w.closed.Load() {
		w.waitSettled()
	}
	return written, err
}

// Move renames a file and creates the missing directories of the new path. The
// old directories stay. The conditions of [Writer.Write] apply; Move refuses an
// existing new path. It ignores c.Path. If c.Edit is not nil, Move calls it
// first; it may stop the move with an error but must not change the content.
func (w *Writer) Move(ctx context.Context, from, to string, c Change) (Written, error) {
	c.Path, c.to = from, to
	reason := w.Vault.Skips(to, false)
	if reason != "" {
		reason += ": excluded from memory"
	}
	if _, copied := memory.CopyOf(to); copied {
		reason = "name of a conflict copy"
	}
	if reason != "" {
		return Written{}, &RefusedError{from, fmt.Sprintf("cannot move to %s: %s", to, reason)}
	}
	return w.Write(ctx, c)
}

// maxTogether bounds the changes that [Writer.WriteAll] makes at the same time.
const maxTogether = 32

// WriteAll makes several changes as [Writer.Write] does, and returns an error for
// each that failed. Changes of different files are made at the same time, because
// the disk can sync them together.
func (w *Writer) WriteAll(ctx context.Context, changes []Change) []error {
	errs := make([]error, len(changes))
	release, err := w.lockCaller(ctx)
	if err != nil {
		return slices.Repeat([]error{err}, len(changes))
	}
	defer release()
	by := callerOf(ctx)
	ctx = WithCaller(ctx, "", by.program, by.session) // the listener has its turn
	var group sync.WaitGroup
	pending := map[string]bool{}
	for i, c := range changes {
		if pending[c.Path] || len(pending) == maxTogether {
			group.Wait()
			clear(pending)
		}
		pending[c.Path] = true
		group.Go(func() { _, errs[i] = w.Write(ctx, c) })
	}
	group.Wait()
	return errs
}

// lockAndWrite makes a change once no other change of the caller or the file is in progress.
func (w *Writer) lockAndWrite(ctx context.Context, c *Change) (Written, error) {
	release, err := w.lockCaller(ctx)
	if err != nil {
		return Written{}, err
	}
	defer release()
	release, err = w.lockFile(ctx, c.Path)
	if err != nil {
		return Written{}, err
	}
	defer release()
	return w.writeWithRetry(ctx, c)
}

// writeWithRetry repeats a requested change while other programs save the file. The caller
// holds the lock of the file.
func (w *Writer) writeWithRetry(ctx context.Context, c *Change) (Written, error) {
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return Written{}, err
		}
		written, err := w.attempt(ctx, c)
		if !errors.Is(err, errConcurrentSave) {
			return written, err
		}
		if !errors.Is(err, ErrOpen) {
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
}

// lockFile waits until no other change of a file is in progress, and repairs the
// root first if necessary.
func (w *Writer) lockFile(ctx context.Context, path string) (release func(), err error) {
	unlock, err := w.locks.acquire(ctx, "file "+path)
	if err != nil {
		return nil, err
	}
	for w.repair.RLock(); !w.repaired; w.repair.RLock() {
		w.repair.RUnlock()
		if err := w.repairRoot(ctx, false); err != nil {
			unlock()
			return nil, err
		}
	}
	return func() { w.repair.RUnlock(); unlock() }, nil
}

// attempt makes a change once. If another program saves the file meanwhile, the
// error is errConcurrentSave.
func (w *Writer) attempt(ctx context.Context, c *Change) (Written, error) {
	for _, l := range w.leftoversOf(c.Path) { // of attempts that failed
		if l.record.Path == c.Path {
			if err := w.decide(l); err != nil {
				return Written{}, err
			}
		}
	}
	t := &transaction{Writer: w, change: c}
	defer t.close()
	err := t.read(ctx)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || c.to != "") {
		return Written{}, err
	}
	var refusal error
	if t.old != nil {
		refusal = w.checkWritable(t.old)
	}
	t.data, err = w.runEdit(c, t.old)
	remove := errors.Is(err, ErrRemove)
	switch {
	case remove && t.old == nil:
		return Written{}, nil
	case err != nil && !remove:
		return Written{}, cmp.Or(refusal, err)
	case c.to == "" && !remove && (t.data == nil || t.old != nil && bytes.Equal(t.data, t.old.Data)):
		return Written{}, nil
	case refusal != nil:
		return Written{}, refusal
	}
	if c.to != "" {
		t.data = nil
	}
	if err := w.checkContent(c.Path, t.data); err != nil {
		return Written{}, err
	}
	if t.old != nil {
		t.external = w.lastExternalChange(t.old)
	}
	if err := w.Vault.runStep(func() error { return w.checkIdle(c, t.external) }); err != nil {
		return Written{}, err
	}
	if c.Check != nil {
		release, err := c.Check()
		if release != nil {
			defer release()
		}
		if err != nil {
			return Written{}, err
		}
	}
	return t.commit()
}

// runEdit calls Edit. It recovers from panics: the daemon would meet the same
// file, and so the same panic, again and again.
func (w *Writer) runEdit(c *Change, old *source) (data []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			w.logger().Error("panic in a change", "path", c.Path, "cause", c.Cause, "err", panics.Describe(v), "stack",
				string(debug.Stack()))
			data, err = nil, errPanic
		}
	}()
	if old == nil {
		return c.Edit(nil)
	}
	if c.Edit != nil {
		data, err = c.Edit(&old.File)
	}
	changed := data != nil && !bytes.Equal(data, old.Data)
	_, copied := memory.CopyOf(c.Path)
	switch {
	case hashOf(old.Data) != old.hash:
		return nil, errInputModified
	case err == nil && changed && c.to != "":
		return nil, errors.New("a move must not change the content")
	case err == nil && changed && copied && !c.Secret:
		return nil, &RefusedError{c.Path, "a conflict copy is never changed; run `memwatchd conflicts merge`"}
	}
	return data, err
}

// Errors of a faulty change. Only the change fails; the daemon continues.
var (
	errPanic         = errors.New("internal error, described in the log of the daemon; please report this bug")
	errInputModified = errors.New("internal error: the change modified its input; please report this bug")
)

// runSyscall makes one system call that affects memory files, and repeats it if a
// signal interrupts it. The error starts with the purpose of the call.
func (w *Writer) runSyscall(what string, do func() error) error {
	if w.fault != nil {
		real := do
		do = func() error { return w.fault(what, real) }
	}
	err := w.Vault.runStep(do)
	for errors.Is(err, unix.EINTR) {
		err = w.Vault.runStep(do)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (w *Writer) now() time.Time {
	if w.Now != nil {
		return w.Now()
	}
	return time.Now()
}

func (w *Writer) logger() *slog.Logger { return cmp.Or(w.Logger, slog.Default()) }

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
	// change cannot be undone. Only such a change may change a conflict copy.
	Secret bool

	// Edit returns the new content of the file. old is nil if the file does not
	// exist. If the result equals the old content or is nil, nothing changes;
	// the result [ErrRemove] removes the file, and Write returns any other
	// error.
	//
	// Edit is called again for each version that others save meanwhile, so it
	// must depend on old only. It must not modify old or call the [Writer].
	Edit func(old *File) ([]byte, error)
	// Check, if not nil, is called after Edit. An error stops the change. release,
	// if not nil, is called once the change is made or has failed.
	Check func() (release func(), err error)

	by caller // that requests the change
	to string // the new path of a moved file
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
	// ErrOpen reports, together with ErrBusy, that a program has the file open for
	// writing and may save it at any time.
	ErrOpen = fmt.Errorf("%w: open for writing", errConcurrentSave)
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
