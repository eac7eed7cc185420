package ops

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// A fileEdit is a change of a file that an operation makes for its caller, in
// terms of the file's entries.
type fileEdit struct {
	writeTarget
	cause  string // the operation
	group  string // group of changes that are undone together; empty for a new group
	dryRun bool   // nothing is written

	automatic bool // nobody waits for the change, so it waits for programs that edit the file

	// change records the edits in the revision. It is called again for each
	// version that others save meanwhile, so it must not depend on other state.
	change func(*memory.Document, *memory.Revision) error
}

// editFile changes a file and returns its new, complete content. Results for the
// caller must pass through [memory.Document.For]. It returns a [skipError] if the file
// cannot be changed for its caller.
func (m writeOps) editFile(ctx context.Context, c Call, a fileEdit) (after *memory.Document, written vault.Written,
	err error) {
	if reason := cmp.Or(m.Writer.Vault.Skips(a.path, false), m.Layout.Skip(a.path)); reason != "" {
		return nil, written, api.Errorf(api.Unavailable, "%s is excluded from memory: %s", a.path, reason)
	}
	claims := false // the change claims the directory of the file
	written, err = m.Writer.Write(ctx, vault.Change{
		Path: a.path, Cause: a.cause, Group: a.group, Requested: !a.automatic,
		Edit: func(old *vault.File) (data []byte, err error) {
			file := vault.File{Path: a.path, Data: a.initial, ModTime: m.Now()}
			switch {
			case old != nil && (a.initial == nil || len(bytes.TrimSpace(old.Data)) > 0):
				file = *old
			case a.initial == nil:
				return nil, notFound("file", a.path)
			}
			parseNext := m.parser(ctx, file)
			parse := func(source []byte) *memory.Document {
				after = parseNext(source)
				return after
			}
			before := m.parseFile(file)
			after = before
			r := before.Revise()
			if err := a.checkTarget(c, before); err != nil {
				return nil, err
			}
			if err := a.change(before, r); err != nil {
				return nil, err
			}
			if !m.mayRevise(c, before, r) {
				return nil, errNotAuthor
			}
			data, err = r.Apply(parse)
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil:
				return nil, fmt.Errorf("%w: %w", memory.ErrUnwritable, err)
			}
			if !bytes.Equal(after.Source, data) { // Apply also tried another variant
				parse(data)
			}
			if a.checkTarget(c, after) != nil {
				return nil, api.Errorf(api.Invalid, "the text would change who can read %s", a.path)
			}
			claims = after.Claim != "" && (old == nil || before.Claim == "")
			if a.dryRun {
				data = nil
			}
			if mayClaim(c, after.Claim, "") != nil {
				return nil, claimError(path.Dir(a.path))
			}
			return data, nil
		},
		Check: func() (release func(), err error) {
			if !claims {
				return nil, nil
			}
			m.claims.Lock() // of one directory, only one claim is made
			return m.claims.Unlock, m.checkDirClaims(after.Place, after.Claim)
		},
	})
	_, refused := errors.AsType[*vault.RefusedError](err)
	switch skip, skips := errors.AsType[skipError](err); {
	case err == nil:
	case skips:
		err = skip
	case errors.Is(err, fs.ErrNotExist):
		err = api.Errorf(api.Unavailable, "cannot create %s: a parent is not a directory", a.path)
	case (refused || errors.Is(err, memory.ErrUnwritable)) && (a.audience == "" || !c.View.Private()):
		err = skipError{a.writeError(err)}
	default:
		err = a.writeError(err)
	}
	return after, written, err
}

// writeError is [writeError] without the reason if the caller can read nothing of the
// file, because the reason could describe its text.
func (t *writeTarget) writeError(err error) *api.Error {
	if _, ok := errors.AsType[*api.Error](err); !ok && t.unseen {
		return api.Errorf(api.Unavailable, "%s cannot be changed now", t.path)
	}
	return writeError(err)
}

// parser returns a function that parses sources of a file until the context
// ends, and then returns nil.
func (m writeOps) parser(ctx context.Context, file vault.File) func(source []byte) *memory.Document {
	return func(source []byte) *memory.Document {
		if ctx.Err() != nil {
			return nil
		}
		next := file
		next.Data = source
		return m.Parse(next)
	}
}

// parseFile returns a parsed file. It prefers the loaded document, because parsing
// a long file takes longer than the rest of the change.
func (m writeOps) parseFile(file vault.File) *memory.Document {
	if doc, err := m.Files.Load(file.Path); err == nil && !file.Unstable && bytes.Equal(doc.Source, file.Data) {
		return doc
	}
	return m.Parse(file)
}

// checkDirClaims rejects the first file that claims a directory for a subject if
// another file there claims the directory for a different subject. That file
// may be too new for the caller's view.
func (m writeOps) checkDirClaims(place memory.Place, subject string) error {
	dir := path.Dir(place.Path)
	names := []string{"_index", "MEMORY"}
	if !strings.HasPrefix(place.Path, "_longterms/") { // a user's directory in the root
		dir, names = place.Dir, append(names, "memory/"+m.day(0))
	}
	for _, ns := range memory.Namespaces() {
		names = append(names, ns, ns+memory.PublicFile, ns+memory.UnseenFile)
	}
	for _, name := range names {
		file, err := m.Writer.Vault.Read(dir + "/" + name + ".md")
		if err == nil && m.Layout.Place(file.Path).Owner == place.Owner {
			if claim := m.parseFile(file).Claim; claim != "" && claim != subject {
				return claimError(dir)
			}
		}
	}
	return nil
}

// claimError returns the error for a directory that belongs to another subject.
func claimError(dir string) error {
	return api.Errorf(api.SubjectConflict, "directory %s belongs to another subject", dir).
		WithHint("use a subject whose id differs in more than `:` and `_`, or rename the directory, whose files have " +
			"another subject_id")
}

// subjectDir returns the caller's own directory below _longterms. It returns an error
// if the directory belongs to another subject whose name maps to the same
// directory.
func (m writeOps) subjectDir(ctx context.Context, c *Call) (string, error) {
	dir := "_longterms/" + memory.SubjectDir(c.Scope.Subject)
	place := m.Layout.Place(dir + "/_index.md")
	mine := func() bool { return c.View.SubjectOf(memory.Partition{Owner: place.Owner}) == c.Scope.Subject }
	if !mine() {
		if err := m.waitAllRead(ctx, c); err != nil {
			return "", err
		}
		if !mine() {
			return "", claimError(dir)
		}
	}
	return dir, nil
}

// waitAllRead waits up to SyncTimeout until every file has been read. Only then are the
// files and the owners of the directories known. It renews the call's view.
func (m readOps) waitAllRead(ctx context.Context, c *Call) error {
	wait, cancel := context.WithTimeout(ctx, m.SyncTimeout)
	defer cancel()
	defer api.PauseWork(ctx)()
	for c.degraded {
		select {
		case <-wait.Done():
			return api.Errorf(api.Unavailable, "not all files have been read yet").WithHint("retry in a moment")
		case <-time.After(20 * time.Millisecond):
		}
		if err := m.renewView(c); err != nil {
			return err
		}
	}
	return nil
}

// dayDir returns the directory for new files of a day. Outside an inbox and without a
// configured parent it is placed next to the recent day directories, so that a log that
// appears in memory/ does not move later days. Without recent ones it is below
// memory/ if that exists.
func (m writeOps) dayDir(c Call, day string) string {
	const dir = "memory"
	below := dir + "/" + day
	inbox := m.inbox(c)
	switch {
	case inbox != "":
		return inbox + "/" + day
	case m.DaysIn == dir:
		return below
	case m.DaysIn == "root":
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

// checkText rejects texts from a caller that cannot be stored as plain text or
// that contain a live credential.
func checkText(field string, texts ...string) error {
	match := secrets.MatchingRule
	if field == "session" || field == "contact_id" {
		match = secrets.MatchingID
	}
	for _, text := range texts {
		if err := memory.CheckText(text); err != nil {
			return api.Errorf(api.Invalid, "%s: %v", field, err)
		}
		if rule := match(text); rule != "" {
			return secretError(field, rule)
		}
	}
	return nil
}

// checkNamed rejects a text that is a credential because of the name in front of
// it, such as password.
func checkNamed(field, name, text string) error {
	if rule := secrets.MatchingRule(name + ": " + text); rule != "" {
		return secretError(field, rule)
	}
	return nil
}

// secretError returns the error for a text in which [secrets.MatchingRule] detects
// rule.
func secretError(field, rule string) *api.Error {
	if rule == secrets.Redaction {
		return api.Errorf(api.Secret, "%s contains a redaction, which replaces a hidden credential", field).
			WithHint("remove the redaction, which would overwrite the credential")
	}
	return api.Errorf(api.Secret, "%s contains a live credential (%s)", field, rule).
		WithHint("remove the credential, and name the place where it is stored")
}

// sourceAttribute returns the source attribute of an addition. The default is the agent of
// a model, such as mcp:claude-code. Sources from outside a private context are marked as
// public; there, the listener of a fixed scope replaces the source that the request gives.
func sourceAttribute(c Call, source string) string {
	agent := "api"
	if strings.HasPrefix(c.program.Name, "mcp:") {
		agent = c.program.Name
	}
	source = cmp.Or(oneLine(source), agent)
	switch {
	case c.View.Private():
		return source
	case c.Fixed != nil && c.Fixed.Name != "":
		source = c.Fixed.Name
	}
	return memory.PublicSource + source
}

// orPrivate returns a visibility, by default that of private text.
func orPrivate(visibility string) string {
	return cmp.Or(visibility, memory.PrivateOnly.String())
}

// An editQueue joins edits of one file that wait for the one before them into one change. A
// change costs a parse of the file and several writes that wait for the disk, however many
// edits it contains.
type editQueue struct {
	mu    sync.Mutex
	files map[string]*queuedFile // by file and caller
}

// A queuedFile is a file with a change in progress.
type queuedFile struct {
	turn  chan struct{} // contains an element during a change
	edits []*queuedEdit // that wait for a change
	uses  int           // number of callers
}

type queuedEdit struct {
	fileEdit
	name string
	made bool // the change is over

	after   *memory.Document
	written vault.Written
	err     error
}

// editTogether is editFile for an edit that others of the same caller can join, except
// those with the same name. Each of them returns after the change that contains it. An edit
// that fails does not affect the others.
func (m writeOps) editTogether(ctx context.Context, c Call, name string, a fileEdit) (*memory.Document, vault.Written,
	error) {
	e := &queuedEdit{fileEdit: a, name: name}
	key := fmt.Sprintf("%q %q %q %v %p %t", a.path, c.listener, c.program, c.Scope, c.Fixed, a.unseen)
	f := m.waiting.add(key, e)
	defer m.waiting.remove(key, e)
	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, vault.Written{}, writeError(ctx.Err())
	}
	defer func() { <-f.turn }()
	for !e.made {
		m.editBatch(ctx, c, m.waiting.take(f))
	}
	return e.after, e.written, e.err
}

// add adds an edit to those that wait for a change of a file.
func (q *editQueue) add(key string, e *queuedEdit) *queuedFile {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.files == nil {
		q.files = map[string]*queuedFile{}
	}
	if q.files[key] == nil {
		q.files[key] = &queuedFile{turn: make(chan struct{}, 1)}
	}
	f := q.files[key]
	f.edits, f.uses = append(f.edits, e), f.uses+1
	return f
}

// remove ends the wait of an edit, whose caller may have gone.
func (q *editQueue) remove(key string, e *queuedEdit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f := q.files[key]
	f.edits, f.uses = slices.DeleteFunc(f.edits, func(other *queuedEdit) bool { return other == e }), f.uses-1
	if f.uses == 0 {
		delete(q.files, key)
	}
}

// take returns the first edits of each name, which become one change.
func (q *editQueue) take(f *queuedFile) (edits []*queuedEdit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	names := map[string]bool{}
	f.edits = slices.DeleteFunc(f.edits, func(e *queuedEdit) bool {
		first := !names[e.name]
		if first {
			edits, names[e.name], e.made = append(edits, e), true, true
			e.err = errNotMade
		}
		return first
	})
	return edits
}

// errNotMade is the error of an edit whose change panics.
var errNotMade = api.Errorf(api.Internal, "the change was not made")

// editBatch makes the change of several edits, or if it fails that of each one. The edits
// of others do not end with the context of the first one.
func (m writeOps) editBatch(ctx context.Context, c Call, edits []*queuedEdit) {
	if len(edits) > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), api.MaxAnswerTime)
		defer cancel()
	}
	all := edits[0].fileEdit
	all.change = func(doc *memory.Document, r *memory.Revision) error {
		for _, e := range edits {
			e.err = e.change(doc, r)
			if _, skips := errors.AsType[skipError](e.err); e.err != nil && !skips {
				e.err = e.writeError(e.err)
			}
		}
		if !slices.ContainsFunc(edits, func(e *queuedEdit) bool { return e.err == nil }) {
			return edits[0].err
		}
		return nil
	}
	after, written, err := m.editFile(ctx, c, all)
	for _, e := range edits {
		switch {
		case err == nil:
			e.after, e.written = after, written
		case len(edits) == 1:
			e.err = err
		default:
			m.editBatch(ctx, c, []*queuedEdit{e})
		}
	}
}
