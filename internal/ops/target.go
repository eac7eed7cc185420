package ops

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// A writeTarget is a file in which a caller may write a text.
type writeTarget struct {
	path    string
	initial []byte // content of a missing or blank file; nil if the file must exist

	// audience is the visibility that the file must have for the text; empty for any.
	audience string
	// unseen reports that the caller cannot read the file. Otherwise, it must be able to
	// read it, before and after the change.
	unseen bool
}

// targets returns the files in which the caller may write a text of a visibility, best first:
// the usual file, which is below the inbox on a listener with a fixed scope, and the file
// beside it, name.public.md or name.private.md. In public, private text goes to
// name.private.md only, which the caller cannot read. The first file with the visibility is
// used, as [writeOps.editFile] checks. A text without a visibility has that of the usual
// place. fresh is the content of a new file, and place the visibility of a new usual file.
func (m readOps) targets(c Call, usual, place, visibility string, fresh []byte) []writeTarget {
	file := func(path, v string, unseen bool) writeTarget {
		initial := fresh
		if m.Layout.Place(path).Visibility.String() != v {
			initial = memory.WithVisibility(fresh, v)
		}
		return writeTarget{path, initial, visibility, unseen}
	}
	visibility = cmp.Or(visibility, place)
	beside := file(memory.BesideFile(usual, memory.UnseenFile), visibility, !c.View.Private())
	switch {
	case visibility == memory.PublicOK.String():
		beside = file(memory.BesideFile(usual, memory.PublicFile), visibility, false)
	case !c.View.Private():
		return []writeTarget{beside}
	}
	if m.inbox(c) != "" && !c.View.Private() {
		place = memory.PublicOK.String()
	}
	return []writeTarget{file(usual, place, false), beside}
}

// A skipError reports that a file cannot take a text, which another target may.
type skipError struct{ error }

func (e skipError) Unwrap() error { return e.error }

// eachTarget calls use with each target until it returns no [skipError].
func eachTarget(list []writeTarget, use func(writeTarget) error) (err error) {
	for _, t := range list {
		err = use(t)
		if _, skip := errors.AsType[skipError](err); !skip {
			return err
		}
	}
	return err
}

// checkTarget returns an error if the caller must not write the text to a file: the file has
// another audience than the text, or the caller cannot read the file although it should.
func (t *writeTarget) checkTarget(c Call, doc *memory.Document) error {
	fits := t.audience == "" || doc.Takes(memory.ParseVisibility(t.audience))
	switch known := doc.For(c.View); {
	case !fits, t.unseen && known != nil:
		return skipError{errAudience(t.path)}
	case known == nil && !t.unseen && c.View.Private():
		return skipError{api.Errorf(api.SubjectConflict, "%s belongs to another subject", t.path).
			WithHint("correct subject_id in the frontmatter, or rename the file")}
	case known == nil && !t.unseen:
		return skipError{errAudience(t.path)}
	}
	return nil
}

// errAudience rejects a change of a file whose readers are not those of the text.
func errAudience(path string) *api.Error {
	return api.Errorf(api.Forbidden, "%s has other readers than the text", path).
		WithHint("set visibility in its frontmatter, or rename it")
}

// sessionTargets returns the files that may take the draft: those that contain the session
// id, then the one with the session's name, and in private name.private.md.
func (m writeOps) sessionTargets(c Call, d *sessionDraft) []writeTarget {
	visibility := cmp.Or(d.head.Visibility, m.newSessionVisibility(c).String())
	private := visibility != memory.PublicOK.String()
	usual, fresh := m.dayDir(c, d.day)+"/"+memory.SessionFile(d.session), m.newSessionFile(c, d, private)
	list := m.targets(c, usual, visibility, visibility, fresh)
	for i := range list {
		list[i].audience = "" // checkSession compares it
	}
	if c.View.Private() {
		list = append(list[:1], writeTarget{path: memory.BesideFile(usual, memory.UnseenFile),
			initial: memory.WithVisibility(m.newSessionFile(c, d, true), memory.PrivateOnly.String())})
	}
	if m.inbox(c) != "" {
		return list
	}
	var known []writeTarget
	for _, doc := range m.sessionFiles(c, d.session, d.day) {
		author := doc.Front.Author()
		if memory.InboxOf(doc.Place.Path) != "" || author.Untrusted(c.View) && (c.View.Private() ||
			!m.mayChange(c, doc.Place.Path, doc.Partition, author)) {
			continue // a guessed session id must not attract the text of others
		}
		known = append(known, writeTarget{path: doc.Place.Path, initial: fresh})
	}
	return append(known, list...)
}

// checkSession returns a [skipError] if a file must not take the draft. The notes
// describe files with defects.
func (m readOps) checkSession(c Call, d *sessionDraft, doc *memory.Document, notes *[]string) error {
	switch id := doc.Front.SessionID; {
	case id != d.session && (id != "" || doc.Place.Session+".md" != memory.SessionFile(d.session)),
		d.isPrivate() && !doc.Takes(memory.PrivateOnly), !m.continuesIn(c, doc),
		d.head.ContactID != "" && doc.Front.ContactID != "" && doc.Front.ContactID != d.head.ContactID:
		return skipError{api.Errorf(api.Conflict, "%s belongs to another session, contact or audience than "+
			"the draft of session %q", doc.Place.Path, d.session).
			WithHint("use another session id, or rename the file")}
	case doc.Unsound:
		note := fmt.Sprintf("cannot write %s, so the session continues in another file: %s", doc.Place.Path,
			doc.WhyUnsound())
		if !slices.Contains(*notes, note) {
			*notes = append(*notes, note)
		}
		return skipError{fmt.Errorf("%w: %s", memory.ErrUnwritable, doc.WhyUnsound())}
	}
	return nil
}

// continuesIn reports whether the caller continues its session in a file. If
// sessions are private, a caller in private does not continue a file that was
// written in public: the text would become public with it.
func (m readOps) continuesIn(c Call, doc *memory.Document) bool {
	if c.View.Private() && m.newSessionVisibility(c) != memory.PublicOK && !doc.Takes(memory.PrivateOnly) &&
		strings.HasPrefix(doc.Front.Source, memory.PublicSource) {
		return false
	}
	return c.View.Readable(doc.Partition)
}

// sessionFiles returns the readable files of a session of a day. Files that
// contain the session id come first, files that the caller does not continue last.
func (m readOps) sessionFiles(c Call, session, day string) []*memory.Document {
	var list []*memory.Document
	ofDay := func(f *index.FileInfo) bool { return f.Kind == memory.Session && f.Day == day }
	for doc := range m.readableFiles(c, ofDay) {
		if sessionOf(c, doc) == session {
			list = append(list, doc)
		}
	}
	slices.SortStableFunc(list, func(a, b *memory.Document) int {
		rank := func(doc *memory.Document) int {
			switch {
			case !m.continuesIn(c, doc):
				return 2
			case doc.Front.SessionID != session:
				return 1
			}
			return 0
		}
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.Place.Path, b.Place.Path))
	})
	return list
}

// sessionContact returns the contact of a session from the files of its day, without
// those of untrusted authors. It returns an error if they name several contacts.
func (m readOps) sessionContact(c Call, d *sessionDraft) (contact string, err error) {
	for _, doc := range m.sessionFiles(c, d.session, d.day) {
		id := doc.Front.ContactID
		switch {
		case id == "", doc.Front.Author().Untrusted(c.View):
		case contact == "":
			contact = id
		case id != contact:
			return "", api.Errorf(api.Conflict, "session %q has files of several contacts", d.session).
				WithHint("set contact_id")
		}
	}
	return contact, nil
}
