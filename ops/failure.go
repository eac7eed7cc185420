package ops

import (
	"github.com/memwatchd/memwatchd/api"
)

// asError is err as it is answered, without credentials.
func asError(err error) *api.Error { return api.AsError(redactedError(err)) }

// notFound is the one answer for what is not there and for what may not be read.
func notFound(what, name string) *api.Error {
	return api.Errorf(api.NotFound, "%s %q not found", what, name)
}
