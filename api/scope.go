package api

import "slices"

// Scope is the part of every request that identifies the caller and the context
// in which the answer will be shown. A missing field takes the value fixed by
// the listener. Without a fixed value the caller is anonymous and the context
// is unknown.
type Scope struct {
	Subject     *string `json:"subject,omitempty" complete:"subject" doc:"caller: a subject id; empty means anonymous"`
	ExternalKey *string `json:"external_key,omitempty" doc:"caller: <channel>:<id>, which is resolved to a subject"`
	Context     *string `json:"context,omitempty" enum:"private,public,unknown" doc:"where the answer will be shown: private, public or unknown"`
}

// CompleteFields returns the fields that were set in the request, and those of
// s that the request leaves open and its operation accepts. A request with a
// subject or an external key gets neither from s.
func (s Scope) CompleteFields(r *Request) map[string]any {
	fields := r.Fields()
	isSet := func(name string) bool {
		return slices.ContainsFunc(r.given, func(p *Param) bool { return p.Scope && p.Name == name })
	}
	add := func(name string, value *string) {
		takes := slices.ContainsFunc(r.Params(), func(p *Param) bool { return p.Scope && p.Name == name })
		if value != nil && takes && !isSet(name) {
			fields[name] = *value
		}
	}
	if !isSet("subject") && !isSet("external_key") {
		add("subject", s.Subject)
		add("external_key", s.ExternalKey)
	}
	add("context", s.Context)
	return fields
}

// OwnerHeader is the HTTP header that makes missing scope fields default to the
// owner and a private context. The owner's own tools send it. It has no effect
// on a listener with a fixed scope, and grants nothing that a request could not
// name itself.
const OwnerHeader = "Memwatchd-As-Owner"

// RootHeader is the HTTP header with the memory directory that the client
// expects, an absolute path without symbolic links. A daemon that serves another
// directory refuses the request.
const RootHeader = "Memwatchd-Root"
