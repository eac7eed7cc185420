package ops

import (
	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// meets reports whether the caller has what an operation needs.
func (c Call) meets(n api.Need) bool {
	switch n {
	case api.Someone:
		return c.Scope.Subject != ""
	case api.InPrivate:
		return c.Scope.Subject != "" && c.Scope.Context == memory.Private
	case api.TheOwner:
		return c.Whole
	}
	return true
}

// A Call is who asks, as decided for one request.
type Call struct {
	Scope memory.Scope
	View  memory.View // what the scope may read

	// Whole is true for the owner, in private, on a listener without a fixed
	// scope: the one who may know how the memory as a whole is doing.
	Whole bool

	// Fixed is what the listener holds its callers to; nil without a fixed scope.
	Fixed *api.Fixed

	anonymous bool // on a listener without a fixed scope, and nothing says who asks
	degraded  bool // the index was not whole when the view was made
}
