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

// Reasons why a file is not the file of a session.
var (
	errOtherSession = errors.New("the file belongs to another session")
	errUnsound      = errors.New("the file cannot be changed until its problems are fixed")
)

// maxUnsound is how many files of a session may need repair at a time.
const maxUnsound = 9

// useSessionFile finds the file of the session of a draft and calls use, which creates
// the file if fresh is set, passes the parsed file to isOurs and returns the error of
// isOurs. useSessionFile prefers the readable file that contains the session id, then
// the one with the session's name, then a new one. A caller on a listener with a fixed
// scope has a file of its own, unless it is the owner in private. If a file of the
// session's name belongs to another session or another contact, is not readable, or is
// unsound and must not be written, the session gets another name; so it does if the
// draft is private and the file is public. The notes describe unsound files.
func (m writeOps) useSessionFile(c Call, d *sessionDraft,
	use func(path string, fresh bool, isOurs func(*memory.Document) error) error) (notes []string, err error) {
	session, contact := d.session, d.head.ContactID
	try := func(path string, fresh, byName bool) error {
		isOurs := func(doc *memory.Document) error {
			switch id := doc.Front.SessionID; {
			case id != session && (id != "" || !byName):
				return errOtherSession
			case doc.Unsound:
				return errUnsound
			case !m.continuesIn(c, doc), d.isPrivate() && doc.Own.Visibility == memory.PublicOK,
				contact != "" && doc.Front.ContactID != "" && doc.Front.ContactID != contact:
				return errOtherSession
			}
			return nil
		}
		if file, err := m.Writer.Vault.Read(path); err == nil {
			doc := m.parseFile(file)
			if err := isOurs(doc); err != nil {
				if errors.Is(err, errUnsound) && doc.PrivateReadable(c.View) { // the defect may be in any part
					note := fmt.Sprintf("cannot write %s, so the session continues in another file: %s", doc.Place.Path,
						doc.WhyUnsound())
					if !slices.Contains(notes, note) {
						notes = append(notes, note)
					}
				}
				return err
			}
		}
		return use(path, fresh, isOurs)
	}
	dir := m.dayDir(d.day)
	own := memory.SessionNames(session, c.identity())
	if contact != "" {
		own = append(own, memory.SessionNames(session, c.identity()+"\n"+contact)...)
	}
	names := own
	if !m.ownFiles(c) {
		for _, doc := range m.sessionFiles(c, session, d.day) {
			author := doc.Front.Author()
			if author.Untrusted(c.View) && (c.View.Private() || !m.mayChange(c, doc.Own, author)) {
				continue // a guessed session id must not attract the text of others
			}
			path := doc.Place.Path
			err := try(path, false, true)
			if gone := asError(err); err == nil ||
				gone.Code != api.NotFound && !errors.Is(err, errOtherSession) && !errors.Is(err, errUnsound) &&
					!errors.Is(err, errUnusable) {
				return notes, err
			}
		}
		names = append(memory.SessionNames(session, ""), own...)
	}
	var unusable error
	for i, name := range names {
		for n := 1; n <= maxUnsound; n++ {
			path := dir + "/" + name + ".md"
			if n > 1 {
				path = fmt.Sprintf("%s/%s-%d.md", dir, name, n)
			}
			err := try(path, true, i == 0 && n == 1)
			if errors.Is(err, errUnusable) {
				unusable = cmp.Or(unusable, err)
			}
			switch {
			case errors.Is(err, errUnsound), errors.Is(err, errUnusable), n > 1 && errors.Is(err, errOtherSession):
				continue
			case !errors.Is(err, errOtherSession):
				return notes, err
			}
			break
		}
	}
	if unusable != nil {
		return notes, unusable
	}
	return notes, api.Errorf(api.Unavailable, "all file names for session %q are taken", session).
		WithHint("run `memwatchd check` and fix the listed files")
}

// continuesIn reports whether the caller continues its session in a file. If
// sessions are private, a caller in private does not continue a file that was
// written in public: the text would become public with it.
func (m *Memory) continuesIn(c Call, doc *memory.Document) bool {
	if c.View.Private() && m.newSessionVisibility(c) != memory.PublicOK && doc.Own.Visibility == memory.PublicOK &&
		strings.HasPrefix(doc.Front.Source, memory.PublicSource) {
		return false
	}
	return c.View.Readable(doc.Own)
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

// sessionSummary returns the summary of the draft's session in any file of the
// day, such as a public one, or "". The summary becomes the caller's, so it is
// none of another author.
func (m writeOps) sessionSummary(c Call, d *sessionDraft) string {
	for _, doc := range m.sessionFiles(c, d.session, d.day) {
		author := doc.Front.Author()
		if author.Untrusted(c.View) || !m.mayChange(c, doc.Own, author) {
			continue
		}
		summary := memory.HeadingLine(doc.Front.Summary)
		if reason, err := m.omitReason("summary", summary); summary != "" && reason == "" && err == nil {
			return summary
		}
	}
	return ""
}

// sessionContact returns the contact of a session from the files of its day, without
// those of untrusted authors. It returns an error if they name several contacts.
func (m writeOps) sessionContact(c Call, d *sessionDraft) (contact string, err error) {
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
