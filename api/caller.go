package api

import "slices"

// A Caller is who makes a request, as far as the connection and the fields of
// the request say it.
type Caller struct {
	Scope   Scope  // what the request says
	Fixed   *Fixed // what the listener holds its callers to; nil without a fixed scope
	AsOwner bool   // a scope that is left out is the owner's, in private
	Model   bool   // a model asks, for those who talk with it
}

// Fixed is what a listener holds its callers to.
type Fixed struct {
	Subject    string   // empty is nobody
	Context    string   // private, public or unknown, which is what everything else means
	Operations []string // the only ones; empty for all that a fixed scope may have
}

// Allows reports whether a listener's fixed scope, if it has one, leaves room for
// an operation.
func (f *Fixed) Allows(op *Operation) bool {
	return f == nil || !op.Admin && (op.Always || len(f.Operations) == 0 || slices.Contains(f.Operations, op.Name))
}
