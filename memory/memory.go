// Package memory is the text: what a path means, what a Markdown file of
// memory says, entry by entry, and who may read it.
//
// Everything here is a pure function of bytes. There is no disk, no clock and
// no log: a parser of people's files never fails, it notes a [Problem] on the
// [Document] and goes on, and whatever it is unsure of becomes private.
package memory

import "fmt"

// Kind is the role a file plays, decided by its path alone.
type Kind uint8

// The kinds of files.
const (
	Note     Kind = iota // any Markdown file that is nothing else
	Session              // YYYY-MM-DD/<session>.md
	Daily                // memory/YYYY-MM-DD.md
	Longterm             // MEMORY.md, _longterms/<dir>/_index.md
	Items                // _longterms/<dir>/<namespace>.md
	Identity             // SOUL.md, USER.md
	Archive              // _longterms/<dir>/_archive/…
)

var kindNames = [...]string{"note", "session", "daily", "longterm", "items", "identity", "archive"}

// String is the kind's name on the wire.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// ParseKind is the inverse of [Kind.String].
func ParseKind(s string) (Kind, bool) {
	for k, name := range kindNames {
		if s == name {
			return Kind(k), true
		}
	}
	return 0, false
}

// Visibility says in which contexts an entry may be shown. The zero value is
// the careful one.
type Visibility uint8

// The visibilities.
const (
	PrivateOnly Visibility = iota
	PublicOK
)

// String is the visibility's name on the wire and in files.
func (v Visibility) String() string {
	if v == PublicOK {
		return "public_ok"
	}
	return "private_only"
}

// ParseVisibility reads a visibility from a file: anything but public_ok
// counts as private_only.
func ParseVisibility(s string) Visibility {
	if s == "public_ok" {
		return PublicOK
	}
	return PrivateOnly
}

// Context is where an answer will be shown. The zero value is treated as
// public.
type Context uint8

// The contexts.
const (
	Unknown Context = iota
	Public
	Private
)

var contextNames = [...]string{"unknown", "public", "private"}

// String is the context's name on the wire.
func (c Context) String() string { return contextNames[min(int(c), len(contextNames)-1)] }

// ParseContext is the inverse of [Context.String].
func ParseContext(s string) (Context, bool) {
	for c, name := range contextNames {
		if s == name {
			return Context(c), true
		}
	}
	return Unknown, false
}

// CounterWrong is the code of a counter in the frontmatter that does not say
// what the boxes say.
const CounterWrong = "counter_wrong"

// A Problem is something a person should know about a file: what is wrong and
// where. Line is 1-based, 0 for the file as a whole.
type Problem struct {
	Code    string // stable, e.g. "frontmatter_broken"
	Line    int
	Message string // what is wrong and what to do, for a person
}
