package ipc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/secrets"
	"github.com/memwatchd/memwatchd/vault"
)

// An adding is a change of a file that an operation makes for its caller, in
// terms of the file's entries.
type adding struct {
	path  string
	cause string // the operation
	group string // of changes that are undone together; empty for one of its own
	fresh []byte // what a file that is made begins as; nil if it must be there

	// change notes what is wanted. It is called anew with each version that
	// others save meanwhile, so it must depend on nothing else.
	change func(*memory.Document, *memory.Revision) error
}

// mayAdd says no to nobody. It is decided by the request alone.
func (m *Memory) mayAdd(c Call) error {
	switch {
	case c.Scope.Subject == "":
		return Errorf(NoSubject, "nobody cannot write").hint("say who asks in subject or external_key")
	case m.Writer == nil:
		return Errorf(Unavailable, "nothing can be written").hint("status says why")
	}
	return nil
}

// add changes a file, and returns it as it is then, whole: what the caller is
// shown of it has to go through [memory.Document.For].
func (m *Memory) add(ctx context.Context, c Call, a adding) (after *memory.Document, written vault.Written, err error) {
	if reason := m.Writer.Vault.Skips(a.path, false); reason != "" {
		return nil, written, Errorf(Unavailable, "%s would not be read as memory: %s", a.path, reason)
	}
	var owned bool
	var failed error // to be told rather than what is wrong with a file that the caller may not read
	written, err = m.Writer.Write(ctx, vault.Change{
		Path: a.path, Cause: a.cause, Group: a.group, Asked: true,
		Edit: func(old *vault.File) (data []byte, err error) {
			defer func() { failed = err }()
			file := vault.File{Path: a.path, Data: a.fresh, ModTime: m.now()}
			if old != nil {
				file = *old
			} else if a.fresh == nil {
				return nil, notFound("file", a.path)
			}
			parse := func(source []byte) *memory.Document {
				next := file
				next.Data = source
				return m.Parse(next)
			}
			before := parse(file.Data)
			owned = old == nil || before.Owned(c.View)
			r := before.Revise()
			if err := a.change(before, r); err != nil {
				return nil, err
			}
			if data, err = r.Apply(parse); err != nil {
				return nil, fmt.Errorf("%w: %w", memory.ErrUnwritable, err)
			}
			after = parse(data)
			return data, mayClaim(c, after.Claim, "")
		},
	})
	if failed != nil {
		err = failed
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = Errorf(Unavailable, "a part of %s is a file, not a directory", a.path)
	case err != nil:
		err = writeError(err, owned)
	}
	return after, written, err
}

// home is the caller's own directory below _longterms. That of somebody else who
// maps to the same name is not the caller's.
func (m *Memory) home(c Call) (string, error) {
	dir := "_longterms/" + memory.SubjectDir(c.Scope.Subject)
	place := m.Layout.Place(dir + "/_index.md")
	if c.View.SubjectOf(memory.Partition{Owner: place.Owner}) != c.Scope.Subject {
		return "", Errorf(SubjectConflict, "the directory %s is another subject's", dir).
			hint("its files name another subject_id: rename that directory, or use another subject")
	}
	return dir, nil
}

// dayDir is the directory of what is new of a day.
func (m *Memory) dayDir(day string) string {
	const dir = "memory"
	switch m.DaysIn {
	case dir:
		return dir + "/" + day
	case "root":
		return day
	}
	if _, ok := m.Writer.Vault.Directory(dir); ok {
		return dir + "/" + day
	}
	return day
}

// outside says no to a text that a caller gives for a file and that cannot
// become text there, or has a live credential in it.
func (m *Memory) outside(field, text string) error {
	if err := memory.CheckText(text); err != nil {
		return Errorf(Invalid, "%s: %v", field, err)
	}
	if rule := m.secretIn(text); rule != "" {
		return secretError(field, rule)
	}
	return nil
}

// secretIn is the rule by which a text has a live credential, or "redaction" if
// it has what stands for one in answers; empty if it has neither. Nothing of the
// text is ever told.
func (m *Memory) secretIn(text string) string { return secrets.Rule(text) }

// secretError says what is wrong with a text for which secretIn names a rule.
func secretError(field, rule string) *Error {
	if rule == secrets.Redaction {
		return Errorf(Secret, "%s has a redaction, which stands for a credential that is not shown", field).
			hint("leave that part out: it would take the credential's place")
	}
	return Errorf(Secret, "%s has a live credential (%s)", field, rule).hint("leave it out, and say where it is kept")
}

// origin is the attribute source of what a caller adds: what the caller says, as
// far as it may.
func origin(c Call, source string) string {
	source = cmp.Or(strings.Join(strings.Fields(source), " "), "api")
	if !c.View.Private() {
		return memory.PublicSource + source
	}
	return source
}

// visible is the attribute visibility of what a caller adds to a file that may
// be read by others.
func visible(visibility string) string {
	return cmp.Or(visibility, memory.PrivateOnly.String())
}
