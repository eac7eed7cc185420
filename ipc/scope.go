package ipc

import (
	"slices"

	"github.com/memwatchd/memwatchd/memory"
)

// Scope is the part of every request that says who asks, and where the answer
// will be shown. A field that is missing takes what the listener fixes; without
// that, the request is nobody's, in an unknown context.
type Scope struct {
	Subject     *string `json:"subject,omitempty" complete:"subject" doc:"who asks, as a subject id; empty is nobody"`
	ExternalKey *string `json:"external_key,omitempty" complete:"external_key" doc:"who asks, as <channel>:<id>, to be resolved to a subject"`
	Context     *string `json:"context,omitempty" enum:"private,public,unknown" doc:"where the answer will be shown: private, public or unknown"`
}

// complete gives the fields of a request, with those of the scope that it leaves
// open. A subject and an external key say the same in two ways.
func (s Scope) complete(r *Request) map[string]any {
	fields := r.Fields()
	said := func(name string) bool {
		return slices.ContainsFunc(r.given, func(p *Param) bool { return p.Scope && p.Name == name })
	}
	add := func(name string, value *string) {
		takes := slices.ContainsFunc(r.Params(), func(p *Param) bool { return p.Scope && p.Name == name })
		if value != nil && takes && !said(name) {
			fields[name] = *value
		}
	}
	if !said("subject") && !said("external_key") {
		add("subject", s.Subject)
		add("external_key", s.ExternalKey)
	}
	add("context", s.Context)
	return fields
}

// Fixed is what a listener holds its callers to.
type Fixed struct {
	Subject    string         // empty is nobody
	Context    memory.Context //
	Operations []string       // the only ones; empty for all that a fixed scope may have
}

// asOwner is the header with which the owner's own tools say that a scope they
// leave out is the owner's, in private. It has no effect on a listener with a
// fixed scope, and asks for nothing that a request could not ask for in words.
const asOwner = "Memwatchd-As-Owner"

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
var errFixed = Errorf(Forbidden, "this listener's scope is fixed and can only be narrowed")

// call decides whose request it is.
func (m *Memory) call(fixed *Fixed, s Scope, owner bool) (Call, error) {
	if s.Subject != nil && s.ExternalKey != nil {
		return Call{}, Errorf(Invalid, "subject and external_key exclude each other")
	}
	subject, context := "", memory.Unknown
	switch {
	case fixed != nil:
		subject, context = fixed.Subject, fixed.Context
	case owner:
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
			return Call{}, Errorf(Invalid, "context: %q is not one of private, public, unknown", *s.Context)
		}
		context = c
	}
	if fixed != nil && !fixed.covers(subject, context) {
		// Whatever was asked for: that it exists is not told.
		return Call{}, errFixed
	}
	c := Call{
		Scope: memory.Scope{Subject: subject, Context: context},
		Whole: fixed == nil && subject == m.Owner && context == memory.Private,
		Fixed: fixed,

		anonymous: fixed == nil && !owner && s == Scope{},
	}
	return c, m.look(&c)
}

// covers reports whether a scope is no wider than the fixed one.
func (f *Fixed) covers(subject string, context memory.Context) bool {
	if subject != "" && subject != f.Subject {
		return false
	}
	return context != memory.Private || f.Context == memory.Private
}
