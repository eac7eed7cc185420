package ops

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// errNoWriter reports that the daemon does not write to files.
var errNoWriter = api.Errorf(api.Unavailable, "the daemon cannot write files").WithHint("run `memwatchd status` for the reason")

// permit rejects callers that do not meet the needs of an operation. It looks at
// the request only.
func (m *Memory) permit(c Call, op *api.Operation) error {
	switch {
	case op.Needs >= api.TheOwner && !c.meetsNeed(op.Needs):
		return api.Errorf(api.Forbidden, "%s is for the owner, in private", op.Name).
			WithHint("use the owner's socket, without subject and context")
	case op.Needs == api.AnySubject && !m.Disabled:
		return m.mayAdd(c)
	case op.Needs == api.InPrivate && !m.Disabled:
		err := m.mayWrite(c)
		if op.Admin && errors.Is(err, errNoWriter) {
			return nil // administration has writers of its own
		}
		return err
	}
	return nil
}

// mayAdd rejects anonymous callers and read-only daemons.
func (m *Memory) mayAdd(c Call) error {
	switch {
	case c.Scope.Subject == "":
		return api.Errorf(api.NoSubject, "an anonymous caller cannot write").WithHint("set subject or external_key")
	case m.Writer == nil:
		return errNoWriter
	}
	return nil
}

// mayWrite rejects callers that may not change existing text: anonymous callers
// and callers outside a private context.
func (m *Memory) mayWrite(c Call) error {
	if c.Scope.Subject != "" && c.Scope.Context != memory.Private {
		return api.Errorf(api.Forbidden, "changing existing text requires a private context")
	}
	return m.mayAdd(c)
}

// errNotAuthor rejects changes of a text that is neither the caller's nor written
// by the caller.
var errNotAuthor = api.Errorf(api.Forbidden, "the text was written by another author").
	WithHint("add a note, a session or an item instead")

// errUnusable reports that the state of a file prevents a change, which another
// file may accept. The error for the caller is wrapped with it.
var errUnusable = errors.New("the file cannot be changed")

// errHidden replaces any write error whose reason may lie in parts of the file
// that the caller may not read.
var errHidden = api.Errorf(api.Busy, "the file cannot be changed now").
	WithHint("get the file again, then retry later or with a smaller change")

// writeError returns the error of a change in the form for the caller. Only
// callers that may read the whole file see details about it.
func writeError(err error, owned bool) error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e
	}
	refused, isRefused := errors.AsType[*vault.RefusedError](err)
	wait, isWait := errors.AsType[*vault.WaitError](err)
	switch {
	case errors.Is(err, memory.ErrMasked):
		return api.Errorf(api.Secret, "%v", err).
			WithHint("keep or delete whole lines with a redaction, or remove their entry with forget")
	case errors.Is(err, memory.ErrText):
		return api.Errorf(api.Invalid, "%v", err)
	case errors.Is(err, vault.ErrBusy):
		return api.Errorf(api.Busy, "the file keeps changing: other programs save the file repeatedly").
			WithHint("get the file again, then retry later")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return api.Errorf(api.Unavailable, "timeout before the file was written").WithHint("retry")
	case isWait && owned:
		return api.Errorf(api.Busy, "%v", wait)
	case isRefused && owned:
		return api.Errorf(api.Conflict, "%v", refused)
	case errors.Is(err, memory.ErrUnwritable) && owned:
		return api.Errorf(api.Conflict, "%s", strings.TrimPrefix(err.Error(), memory.ErrUnwritable.Error()+": "))
	case isWait, isRefused, errors.Is(err, memory.ErrUnwritable):
		return errHidden
	}
	// Not every caller may know where the memory and its journal are.
	path, isPath := errors.AsType[*fs.PathError](err)
	if isPath && filepath.IsAbs(path.Path) {
		return api.Errorf(api.Unavailable, "cannot write: %v", path.Err).
			WithHint("run `memwatchd status` for the reason, then retry")
	}
	return api.Errorf(api.Unavailable, "%v", err)
}

// asError returns err in the form for the client, without credentials.
func asError(err error) *api.Error { return api.AsError(redactError(err)) }

// notFound returns the same error for missing and unreadable objects.
func notFound(what, name string) *api.Error {
	return api.Errorf(api.NotFound, "%s %q not found", what, name)
}
