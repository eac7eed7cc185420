package api

import (
	"context"
	"slices"
	"strings"
)

// A Caller identifies the origin of a request, as far as the connection and the
// fields of the request reveal it.
type Caller struct {
	Scope    Scope  // from the fields of the request
	Listener string // name of the listener; listeners take turns at changing files
	Fixed    *Fixed // scope to which the listener restricts its callers; nil without a fixed scope
	AsOwner  bool   // missing scope fields default to the owner and a private context
	Model    bool   // the request comes from a model, on behalf of its users

	Program Program // that sends the request, by its own account
}

// A Program identifies a program that sends requests, and one of its sessions. The
// journal records the program that requested a change.
type Program struct {
	Name    string // such as cli, console, mcp:claude-code or hook:codex; empty if unknown
	Session string // such as one terminal, or one conversation of an agent; empty if unknown
}

// The HTTP headers with the program of a request and its session.
const (
	ProgramHeader = "Memwatchd-Program"
	SessionHeader = "Memwatchd-Session"
)

// maxProgram bounds the name of a program and that of a session, in bytes.
const maxProgram = 64

// NewProgram returns a program with names of bounded length that consist of printable
// ASCII characters. It replaces other characters by question marks.
func NewProgram(name, session string) Program {
	clean := func(s string) string {
		s = strings.Map(func(r rune) rune {
			if r <= ' ' || r > '~' {
				return '?'
			}
			return r
		}, s)
		return s[:min(len(s), maxProgram)]
	}
	return Program{clean(name), clean(session)}
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

// pauseKey is the key of the function of [WithPause] in a context.
type pauseKey struct{}

// WithPause returns a context in which [PauseWork] calls pause.
func WithPause(ctx context.Context, pause func() (resume func())) context.Context {
	return context.WithValue(ctx, pauseKey{}, pause)
}

// PauseWork lets other requests work while the request of a context waits, until the
// returned function is called: the daemon works on a bounded number of requests at a
// time on listeners with a fixed scope.
func PauseWork(ctx context.Context) (resume func()) {
	if pause, ok := ctx.Value(pauseKey{}).(func() func()); ok {
		return pause()
	}
	return func() {}
}
