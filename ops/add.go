package ops

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
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
	fresh []byte // what a file that is made, or is blank, begins as; nil if it must be there
	dry   bool   // nothing is written

	// change notes what is wanted. It is called anew with each version that
	// others save meanwhile, so it must depend on nothing else.
	change func(*memory.Document, *memory.Revision) error
}

// mayAdd says no to nobody. It is decided by the request alone.
func (m *Memory) mayAdd(c Call) error {
	switch {
	case c.Scope.Subject == "":
		return api.Errorf(api.NoSubject, "nobody cannot write").WithHint("say who asks in subject or external_key")
	case m.Writer == nil:
		return api.Errorf(api.Unavailable, "nothing can be written").WithHint("status says why")
	}
	return nil
}

// add changes a file, and returns it as it is then, whole: what the caller is
// shown of it has to go through [memory.Document.For].
func (m writing) add(ctx context.Context, c Call, a adding) (after *memory.Document, written vault.Written, err error) {
	if reason := m.Writer.Vault.Skips(a.path, false); reason != "" {
		return nil, written, api.Errorf(api.Unavailable, "%s would not be read as memory: %s", a.path, reason)
	}
	place := m.Layout.Place(a.path)
	owned := place.Owner != "" && ownPlace(c, place) // if there is no file to ask
	var failed error                                 // to be told rather than what is wrong with a file that the caller may not read
	written, err = m.Writer.Write(ctx, vault.Change{
		Path: a.path, Cause: a.cause, Group: a.group, Asked: true,
		Edit: func(old *vault.File) (data []byte, err error) {
			defer func() { failed = err }()
			file := vault.File{Path: a.path, Data: a.fresh, ModTime: m.now()}
			switch {
			case old != nil && (a.fresh == nil || len(bytes.TrimSpace(old.Data)) > 0):
				file = *old
			case a.fresh == nil:
				return nil, notFound("file", a.path)
			}
			parse := func(source []byte) *memory.Document {
				next := file
				next.Data = source
				after = m.Parse(next)
				return after
			}
			before := m.known(file)
			owned = old == nil || before.Owned(c.View)
			after = before
			r := before.Revise()
			if err := a.change(before, r); err != nil {
				return nil, err
			}
			if data, err = r.Apply(parse); err != nil {
				return nil, fmt.Errorf("%w: %w", memory.ErrUnwritable, err)
			}
			if !bytes.Equal(after.Source, data) { // it was tried in another way as well
				parse(data)
			}
			if after.Claim != "" && (old == nil || before.Claim == "") {
				if err := m.mayFound(after.Place, after.Claim); err != nil {
					return nil, err
				}
			}
			if a.dry {
				data = nil
			}
			return data, mayClaim(c, after.Claim, "")
		},
	})
	if failed != nil {
		err = failed
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = api.Errorf(api.Unavailable, "a part of %s is a file, not a directory", a.path)
	case err != nil:
		err = writeError(err, owned)
	}
	return after, written, err
}

// known is a file, parsed. To parse a long one takes longer than all else that is
// done to change it, and mostly it was parsed before.
func (m writing) known(file vault.File) *memory.Document {
	if doc, err := m.Files.Load(file.Path); err == nil && !file.Unsettled && bytes.Equal(doc.Source, file.Data) {
		return doc
	}
	return m.Parse(file)
}

// mayFound says no to the first file that claims a directory for a subject if
// another file there claims it for somebody else: it may have been made a moment
// ago, and not be known to the caller's view yet.
func (m writing) mayFound(place memory.Place, subject string) error {
	dir := path.Dir(place.Path)
	for _, name := range append(memory.Namespaces(), "_index") {
		file, err := m.Writer.Vault.Read(dir + "/" + name + ".md")
		if err == nil && m.Layout.Place(file.Path).Owner == place.Owner {
			if claim := m.known(file).Claim; claim != "" && claim != subject {
				return contested(dir)
			}
		}
	}
	return nil
}

// contested is the error for a directory that is another subject's.
func contested(dir string) error {
	return api.Errorf(api.SubjectConflict, "the directory %s is another subject's", dir).
		WithHint("its files name another subject_id: rename that directory, or use another subject")
}

// home is the caller's own directory below _longterms. That of somebody else who
// maps to the same name is not the caller's.
func (m writing) home(ctx context.Context, c *Call) (string, error) {
	dir := "_longterms/" + memory.SubjectDir(c.Scope.Subject)
	place := m.Layout.Place(dir + "/_index.md")
	mine := func() bool { return c.View.SubjectOf(memory.Partition{Owner: place.Owner}) == c.Scope.Subject }
	if !mine() {
		if err := m.whole(ctx, c); err != nil {
			return "", err
		}
		if !mine() {
			return "", contested(dir)
		}
	}
	return dir, nil
}

// whole waits, as long as there is patience, until every file has been read: not
// before is it known whose a directory is, and what there is. The call's view is
// the one after that.
func (m *Memory) whole(ctx context.Context, c *Call) error {
	wait, cancel := context.WithTimeout(ctx, m.Patience)
	defer cancel()
	for c.degraded {
		select {
		case <-wait.Done():
			return api.Errorf(api.Unavailable, "not every file has been read yet").WithHint("try again in a moment")
		case <-time.After(20 * time.Millisecond):
		}
		if err := m.look(c); err != nil {
			return err
		}
	}
	return nil
}

// dayDir is the directory of what is new of a day. If nobody has said where days
// lie, that is beside the recent ones, whichever that are: a log that comes to lie
// in a directory memory/ moves nothing. Without any it is there, if there is one.
func (m writing) dayDir(day string) string {
	const dir = "memory"
	below := dir + "/" + day
	switch m.DaysIn {
	case dir:
		return below
	case "root":
		return day
	}
	there := func(path string) bool {
		_, ok := m.Writer.Vault.Directory(path)
		return ok
	}
	for ago := -1; ago <= m.recentDays(); ago++ {
		d := day
		if ago >= 0 {
			d = m.day(-ago)
		}
		switch {
		case there(dir + "/" + d):
			return below
		case there(d):
			return day
		}
	}
	if there(dir) {
		return below
	}
	return day
}

// outside says no to a text that a caller gives for a file and that cannot
// become text there, or has a live credential in it.
func (m writing) outside(field, text string) error {
	if err := memory.CheckText(text); err != nil {
		return api.Errorf(api.Invalid, "%s: %v", field, err)
	}
	if rule := m.secretIn(text); rule != "" {
		return secretError(field, rule)
	}
	return nil
}

// secretIn is the rule by which a text has a live credential, or "redaction" if
// it has what stands for one in answers; empty if it has neither. Nothing of the
// text is ever told.
func (m writing) secretIn(text string) string { return secrets.Rule(text) }

// secretError says what is wrong with a text for which secretIn names a rule.
func secretError(field, rule string) *api.Error {
	if rule == secrets.Redaction {
		return api.Errorf(api.Secret, "%s has a redaction, which stands for a credential that is not shown", field).
			WithHint("leave that part out: it would take the credential's place")
	}
	return api.Errorf(api.Secret, "%s has a live credential (%s)", field, rule).WithHint("leave it out, and say where it is kept")
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
