package vault

import (
	"errors"
	"fmt"
	"time"
)

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
