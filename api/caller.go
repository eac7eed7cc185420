package api

import "slices"

// A Caller identifies the origin of a request, as far as the connection and the
// fields of the request reveal it.
type Caller struct {
	Scope    Scope  // from the fields of the request
	Listener string // name of the listener; listeners take turns at changing files
	Fixed    *Fixed // scope to which the listener restricts its callers; nil without a fixed scope
	AsOwner  bool   // missing scope fields default to the owner and a private context
	Model    bool   // the request comes from a model, on behalf of its users
}

// Fixed is the scope to which a listener restricts its callers.
type Fixed struct {
	Name       string   // of the listener, recorded as the source of what its callers write in public
	Subject    string   // empty is an anonymous caller
	Context    string   // private, public or unknown; any other value means unknown
	Operations []string // the permitted operations; empty for all that a fixed scope may use
}

// Allows reports whether a listener with this fixed scope permits an operation.
// A nil f, which means no fixed scope, permits all operations.
func (f *Fixed) Allows(op *Operation) bool {
	return f == nil || !op.Admin && (op.Always || len(f.Operations) == 0 || slices.Contains(f.Operations, op.Name))
}
