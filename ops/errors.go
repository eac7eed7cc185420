package ops

import (
	"context"
	"errors"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// mayWrite says no to who may not change what is there: nobody, and whoever's
// answer is for others to see. It is decided by the request alone.
func (m *Memory) mayWrite(c Call) error {
	if c.Scope.Subject != "" && c.Scope.Context != memory.Private {
		return api.Errorf(api.Forbidden, "what is there is changed in a private context only")
	}
	return m.mayAdd(c)
}

// errHidden stands for any reason not to write a file that may lie in what the
// caller may not read of it.
var errHidden = api.Errorf(api.Busy, "the file cannot be changed now").WithHint("get it again, and try later or with less changed")

// writeError is the error of a change as the caller is told it. What a file is
// like as a whole is told to those only who may read all of it.
func writeError(err error, owned bool) error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e
	}
	refused, isRefused := errors.AsType[*vault.RefusedError](err)
	wait, isWait := errors.AsType[*vault.WaitError](err)
	switch {
	case errors.Is(err, memory.ErrMasked):
		return api.Errorf(api.Secret, "%v", err).WithHint("a line with a redaction stays as it is, or goes as a whole; forget takes out the entry that it is in")
	case errors.Is(err, memory.ErrText):
		return api.Errorf(api.Invalid, "%v", err)
	case errors.Is(err, vault.ErrBusy):
		return api.Errorf(api.Busy, "the file keeps changing: others save it all the time").WithHint("get it again, and try later")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return api.Errorf(api.Unavailable, "there was no time to write the file").WithHint("try again")
	case isWait && owned:
		return api.Errorf(api.Busy, "%v", wait)
	case isRefused && owned:
		return api.Errorf(api.Conflict, "%v", refused)
	case errors.Is(err, memory.ErrUnwritable) && owned:
		return api.Errorf(api.Conflict, "%s", strings.TrimPrefix(err.Error(), memory.ErrUnwritable.Error()+": "))
	case isWait, isRefused, errors.Is(err, memory.ErrUnwritable):
		return errHidden
	}
	return api.Errorf(api.Unavailable, "%v", err)
}

// asError is err as it is answered, without credentials.
func asError(err error) *api.Error { return api.AsError(redactedError(err)) }

// notFound is the one answer for what is not there and for what may not be read.
func notFound(what, name string) *api.Error {
	return api.Errorf(api.NotFound, "%s %q not found", what, name)
}
