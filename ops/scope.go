package ops

import (
	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// Scopes turns names into scopes, and scopes into what they may read.
type Scopes interface {
	// Resolve is the subject that an external key stands for.
	Resolve(externalKey string) (subject string)
	// Scope is a subject with its aliases; an empty subject is nobody.
	Scope(subject string, context memory.Context) memory.Scope
	// View is what a scope may read.
	View(memory.Scope) (memory.View, error)
	// Links are the external keys that are linked to a subject, sorted, and why
	// the file that they come from does not hold as it is now, if it does not.
	Links() ([]memory.LinkedKey, error)
}

// errFixed is the answer to every wish for another scope than a fixed one.
var errFixed = api.Errorf(api.Forbidden, "this listener's scope is fixed and can only be narrowed")

// call decides whose request it is.
func (m *Memory) call(by api.Caller) (Call, error) {
	s, fixed := by.Scope, by.Fixed
	if s.Subject != nil && s.ExternalKey != nil {
		return Call{}, api.Errorf(api.Invalid, "subject and external_key exclude each other")
	}
	subject, context := "", memory.Unknown
	switch {
	case fixed != nil:
		subject, context = fixed.Subject, contextOf(fixed)
	case by.AsOwner:
		subject, context = m.Owner, memory.Private
	}
	if s.Subject != nil {
		subject = *s.Subject
	}
	if s.ExternalKey != nil {
		subject = ""
		if *s.ExternalKey != "" {
			subject = m.Scopes.Resolve(*s.ExternalKey)
		}
	}
	if s.Context != nil {
		c, ok := memory.ParseContext(*s.Context)
		if !ok {
			return Call{}, api.Errorf(api.Invalid, "context: %q is not one of private, public, unknown", *s.Context)
		}
		context = c
	}
	if fixed != nil && !covers(fixed, subject, context) {
		// Whatever was asked for: that it exists is not told.
		return Call{}, errFixed
	}
	c := Call{
		Scope: memory.Scope{Subject: subject, Context: context},
		Whole: fixed == nil && subject == m.Owner && context == memory.Private,
		Fixed: fixed,

		anonymous: fixed == nil && !by.AsOwner && !by.Model && s == api.Scope{},
	}
	return c, m.look(&c)
}

// contextOf is the context of a fixed scope: unknown if it names none.
func contextOf(f *api.Fixed) memory.Context {
	c, _ := memory.ParseContext(f.Context)
	return c
}

// covers reports whether a scope is no wider than the fixed one.
func covers(f *api.Fixed, subject string, context memory.Context) bool {
	if subject != "" && subject != f.Subject {
		return false
	}
	return context != memory.Private || contextOf(f) == memory.Private
}

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
