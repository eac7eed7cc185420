package ipc

import (
	"errors"

	"github.com/memwatchd/memwatchd/api"
)

// asError is err as the wire shows it. What is not an [api.Error] is internal and
// keeps its text to itself: it may name things that the asking scope may not
// know of.
func asError(err error) *api.Error {
	if e, ok := errors.AsType[*api.Error](redactedError(err)); ok {
		return e
	}
	return api.Errorf(api.Internal, "something went wrong").WithHint("the daemon's log says what")
}

// notFound is the one answer for what is not there and for what may not be read.
func notFound(what, name string) *api.Error {
	return api.Errorf(api.NotFound, "%s %q not found", what, name)
}
