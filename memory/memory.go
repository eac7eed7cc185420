// Package memory defines the format of memory files: the role of each path, the
// entries of a Markdown file, and the readers of each entry.
//
// Everything here is a pure function of bytes, without disk, clock or log. The
// parser never fails: it records a [Problem] on the [Document] and continues.
// Text of doubtful visibility becomes private.
//
// The files, each of which uses those before it, with few exceptions:
//   - values and normal forms: memory, text;
//   - paths and readers: subjects, layout;
//   - reading: document, attributes, times, frontmatter, words, inline, blocks, tasks, parse, entries;
//   - changing: write, edits, audience, items, revision, verify, put, parts;
//   - forms of files and merges: longterm, session, judge, versions, imported.
package memory

import (
	"slices"
)

// Kind is the role of a file. It depends only on the path.
type Kind uint8

// Kinds of files.
const (
	Note     Kind = iota // any other Markdown file
	Session              // YYYY-MM-DD/<session>.md
	Daily                // memory/YYYY-MM-DD.md, memory/YYYY-MM-DD.<host>.md
	Longterm             // MEMORY.md, _longterms/<dir>/_index.md
	Items                // _longterms/<dir>/<namespace>.md
	Identity             // SOUL.md, USER.md
	Archive              // _longterms/<dir>/_archive/…
	Review               // review/YYYY-MM-DD.md, if there is a review
)

var kindNames = [...]string{"note", "session", "daily", "longterm", "items", "identity", "archive", "review"}

// String returns the kind's name in the API.
func (k Kind) String() string { return kindNames[min(int(k), len(kindNames)-1)] }

// ParseKind returns the kind with the given name in the API and reports whether
// the name is valid.
func ParseKind(s string) (Kind, bool) {
	k := slices.Index(kindNames[:], s)
	return Kind(max(k, 0)), k >= 0
}

// Visibility is the set of contexts in which an entry may be shown. The zero
// value is the most restrictive one.
type Visibility uint8

// Visibilities.
const (
	PrivateOnly Visibility = iota
	PublicOK
)

// String returns the visibility's name in the API and in files.
func (v Visibility) String() string {
	if v == PublicOK {
		return "public_ok"
	}
	return "private_only"
}

// ParseVisibility parses a visibility from a file. Any value other than
// public_ok counts as private_only.
func ParseVisibility(s string) Visibility {
	if s == "public_ok" {
		return PublicOK
	}
	return PrivateOnly
}

// Context is the place where an answer will be shown. The zero value is treated
// as public.
type Context uint8

// Contexts.
const (
	Unknown Context = iota
	Public
	Private
)

var contextNames = [...]string{"unknown", "public", "private"}

// String returns the context's name in the API.
func (c Context) String() string { return contextNames[min(int(c), len(contextNames)-1)] }

// ParseContext returns the context with the given name in the API and reports
// whether the name is valid. For an invalid name the context is Unknown.
func ParseContext(s string) (Context, bool) {
	c := slices.Index(contextNames[:], s)
	return Context(max(c, 0)), c >= 0
}

// CounterWrong is the problem code of a counter in the frontmatter that differs
// from the number of boxes.
const CounterWrong = "counter_wrong"

// A Problem is a defect of a file that its owner should know. Line is 1-based,
// 0 for the file as a whole.
type Problem struct {
	Code    string // stable, e.g. "frontmatter_broken"
	Line    int
	Message string // human-readable: the defect and its remedy
}
