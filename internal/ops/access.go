package ops

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/memory"
)

// Scopes resolves external keys to subjects, subjects to scopes, and scopes to
// views.
type Scopes interface {
	// Resolve returns the subject of an external key.
	Resolve(externalKey string) (subject string)
	// Scope returns a subject with its aliases. An empty subject is anonymous.
	Scope(subject string, context memory.Context) memory.Scope
	// View returns the view of a scope.
	View(memory.Scope) (memory.View, error)
	// Links returns the links of external keys to subjects, sorted. If the
	// current file of links is invalid, it returns the last valid links and an
	// error.
	Links() ([]memory.LinkedKey, error)
}

// errFixedScope rejects any scope beyond a fixed one.
var errFixedScope = api.Errorf(api.Forbidden, "the scope of this listener is fixed and can only be narrowed")

// resolveCall resolves the scope of a request.
func (m readOps) resolveCall(by api.Caller) (Call, error) {
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
	if fixed != nil && !coversScope(fixed, subject, context) {
		// The error must not reveal whether the requested scope exists.
		return Call{}, errFixedScope
	}
	if s.ExternalKey != nil && *s.ExternalKey != "" {
		if err := memory.ValidExternalKey(*s.ExternalKey); err != nil {
			return Call{}, api.Errorf(api.Invalid, "%v", err)
		}
	}
	c := Call{
		Scope:      memory.Scope{Subject: subject, Context: context},
		FullAccess: fixed == nil && subject == m.Owner && context == memory.Private,
		Fixed:      fixed,

		operator: fixed == nil && !by.Model && s.Subject == nil && s.ExternalKey == nil &&
			(s.Context == nil || context == memory.Private),
		anonymous: fixed == nil && !by.AsOwner && !by.Model && s == api.Scope{}, start: time.Now(),

		program: by.Program, listener: by.Listener,
	}
	if fixed != nil { // restricted callers cannot pass for another program
		c.program = api.Program{Name: fixed.Name}
	}
	return c, m.renewView(&c)
}

// contextOf returns the context of a fixed scope, unknown if it names none.
func contextOf(f *api.Fixed) memory.Context {
	c, _ := memory.ParseContext(f.Context)
	return c
}

// coversScope reports whether a scope is no wider than the fixed one.
func coversScope(f *api.Fixed, subject string, context memory.Context) bool {
	if subject != "" && subject != f.Subject {
		return false
	}
	return context != memory.Private || contextOf(f) == memory.Private
}

// meetsNeed reports whether the caller has the rights that an operation needs.
func (m readOps) meetsNeed(c Call, op *api.Operation) bool {
	switch op.Needs {
	case api.AnySubject:
		return c.Scope.Subject != ""
	case api.InPrivate: // or in the inbox
		inbox := m.inbox(c) != ""
		return c.Scope.Subject != "" && (inbox && op.InInbox || !inbox && c.Scope.Context == memory.Private)
	case api.TheOwner:
		return c.FullAccess
	case api.Operator:
		return c.FullAccess || c.operator
	}
	return true
}

// permit returns an error if the caller may not use an operation. It looks at the request
// only.
func (m writeOps) permit(c Call, op *api.Operation) error {
	writes := op.Needs == api.AnySubject || op.Needs == api.InPrivate
	switch {
	case writes && m.Disabled:
	case writes && c.Scope.Subject == "":
		return api.Errorf(api.NoSubject, "an anonymous caller cannot write").WithHint("set `subject` or `external_key`")
	case m.meetsNeed(c, op):
		if m.Writer == nil && (writes || op.Needs == api.TheOwner) {
			return errNoWriter
		}
	case !writes:
		return api.Errorf(api.Forbidden, "%s is for the owner, in private", op.Name).
			WithHint("use the owner's socket, as memory.owner in a private context; " +
				"for commands, omit --subject and --context")
	case m.inbox(c) != "":
		return api.Errorf(api.Forbidden, "%s is not for listeners with a fixed scope, which write below %s only",
			op.Name, m.inbox(c))
	default:
		return api.Errorf(api.Forbidden, "changing existing text requires a private context")
	}
	return nil
}

// checkCharacters rejects characters that a reader does not see in what a caller
// writes outside a private context.
func checkCharacters(c Call, req *api.Request) error {
	if req.Operation().ReadOnly || c.View.Private() {
		return nil
	}
	return req.EachText(func(param, text string) error {
		if err := checkForeign(text); err != nil {
			return api.Errorf(api.Invalid, "%s: %v", param, err)
		}
		return nil
	})
}

// took returns the time since the start of the call in milliseconds.
func (c Call) took() float64 { return float64(time.Since(c.start).Microseconds()) / 1000 }

// A Call is the caller of one request, with resolved permissions.
type Call struct {
	Scope memory.Scope
	View  memory.View // of the scope

	// FullAccess is true for the owner in private on a listener without a fixed
	// scope. It permits answers about the memory as a whole.
	FullAccess bool

	// Fixed is the fixed scope of the listener; nil if there is none.
	Fixed *api.Fixed

	// a program on a listener without a fixed scope that names no subject and no other context than private
	operator  bool
	anonymous bool // no scope in the request and none fixed for the listener
	disabled  bool // memory is disabled: the view reads nothing
	degraded  bool // the index was incomplete when the view was made
	waits     bool // the call has waited for the index
	synced    bool // the index contains everything saved before the call
	start     time.Time

	program  api.Program // that sends the request
	listener string
}

// inbox returns the directory below which the caller writes on a listener with a fixed
// scope, or an empty string for other listeners, on which a program can act as any
// subject, and for the owner in private.
func (m readOps) inbox(c Call) string {
	if c.Fixed == nil || c.Scope.Subject == m.Owner && c.View.Private() {
		return ""
	}
	return memory.Inbox(c.Fixed.Name, c.Scope.Subject)
}

// author returns the author of an addition by the caller to a file.
func (m readOps) author(c Call, doc *memory.Document, source string) memory.Author {
	a := memory.Author{Source: sourceAttribute(c, source)}
	if c.Scope.Subject != m.holder(c, doc.Partition) {
		a.By = c.Scope.Subject
	}
	return a
}

// holder returns the subject of a readable partition. What has no subject
// belongs to the owner of the root.
func (m readOps) holder(c Call, p memory.Partition) string {
	return cmp.Or(c.View.SubjectOf(p), m.Owner)
}

// mayChange reports whether the caller may change a readable text of a file with the
// given partition and author: everything in its inbox, if it has one; else in private its
// subject may, anywhere else only the author.
func (m readOps) mayChange(c Call, path string, p memory.Partition, a memory.Author) bool {
	if dir := m.inbox(c); dir != "" {
		return disk.Within(path, dir)
	}
	subjects, holder := c.View.Subjects(), m.holder(c, p)
	if c.View.Private() && slices.Contains(subjects, holder) {
		return true
	}
	return slices.Contains(subjects, cmp.Or(a.By, holder)) &&
		(c.View.Private() || strings.HasPrefix(a.Source, memory.PublicSource))
}

// mayRevise reports whether the caller may change every entry that a revision
// changes.
func (m readOps) mayRevise(c Call, doc *memory.Document, r *memory.Revision) bool {
	may := m.mayChangeEntry(c, doc.Place.Path)
	for i := range r.Changed() {
		if !may(&doc.Entries[i]) {
			return false
		}
	}
	return true
}

// mayChangeEntry returns a function that reports whether the caller may change an entry
// of a file, all of which it can read.
func (m readOps) mayChangeEntry(c Call, path string) func(*memory.Entry) bool {
	return func(e *memory.Entry) bool { return m.mayChange(c, path, e.Partition, e.Author()) }
}

// checkForeign returns an error if a text of a public writer contains a
// character that a reader does not see, see [letters.Characters].
func checkForeign(text string) error {
	if r, found := letters.FirstInvisible(strings.ReplaceAll(text, "\r", "\n"), true); found {
		return fmt.Errorf("text contains the invisible character %U; remove the character", r)
	}
	return nil
}
