package ops

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// edit replaces a text that occurs exactly once in a file.
func (m writeOps) edit(ctx context.Context, c Call, r *api.EditRequest) (*api.EditAnswer, error) {
	before, after := unixLines(r.OldText), unixLines(r.NewText)
	switch {
	case before == "":
		return nil, api.Errorf(api.Invalid, "old_text is empty").
			WithHint("set `old_text` to the text to replace, as `get` returns it")
	case before == after:
		return nil, api.Errorf(api.Invalid, "old_text and new_text are the same")
	}
	if err := m.syncIndex(ctx, &c); err != nil {
		return nil, err
	}
	return m.rewriteFile(ctx, c, r.Path, "edit", func(doc *memory.Document, shown memory.Shown) (string, error) {
		text := shown.Text()
		at := strings.Index(text, before)
		switch {
		case at < 0:
			return "", api.Errorf(api.NotFound, "old_text does not occur in %s", r.Path).
				WithHint("get the file again, because the text may have changed")
		case strings.LastIndex(text, before) != at:
			return "", api.Errorf(api.Conflict, "old_text occurs more than once in %s", r.Path).
				WithHint("include more of the surrounding text")
		}
		next := text[:at] + after + text[at+len(before):]
		if splitsMask(doc, shown, next, at, at+len(before)) {
			return "", memory.ErrMasked
		}
		return next, nil
	})
}

// splitsMask reports whether replacing the shown text between from and to would
// move a part of a masked line into another line.
func splitsMask(doc *memory.Document, shown memory.Shown, next string, from, to int) bool {
	text := shown.Text()
	was, is := strings.Split(text, "\n"), strings.Split(next, "\n")
	first, last := strings.Count(text[:from], "\n"), strings.Count(text[:to], "\n")
	masked := func(line int) bool {
		return line < len(shown.Lines) && doc.MaskedLine(line+1)
	}
	before := from > 0 && text[from-1] != '\n' && was[first] != is[first]
	behind := to < len(text) && text[to] != '\n' && was[last] != is[len(is)-len(was)+last]
	return before && masked(first) || behind && masked(last)
}

// write creates a file, or replaces the content of one if the hash shows
// that the caller knows it.
func (m writeOps) write(ctx context.Context, c Call, r *api.WriteRequest) (*api.EditAnswer, error) {
	if strings.Contains(r.Text, "\x00") {
		return nil, api.Errorf(api.Invalid, "text: contains a NUL character")
	}
	if err := m.syncIndex(ctx, &c); err != nil {
		return nil, err
	}
	if r.Hash == "" {
		return m.createFile(ctx, c, r)
	}
	return m.rewriteFile(ctx, c, r.Path, "write", func(doc *memory.Document, shown memory.Shown) (string, error) {
		if doc.Masked() {
			return "", api.Errorf(api.Secret, "cannot replace the whole text of %s, which contains a "+
				"redaction", r.Path).
				WithHint("use `edit` for the lines without a redaction")
		}
		if hashOf(doc) != strings.ToLower(r.Hash) {
			return "", api.Errorf(api.Conflict, "%s has changed since the given hash", r.Path).
				WithHint("get the file again")
		}
		return r.Text, nil
	})
}

// unixLines returns a text with the line endings that answers use.
func unixLines(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// rewriteFile applies change to the text of a file. It calls change again if others save
// the file meanwhile.
func (m writeOps) rewriteFile(ctx context.Context, c Call, path, cause string,
	change func(*memory.Document, memory.Shown) (string, error)) (*api.EditAnswer, error) {
	if err := m.errReadOnly(c, path); err != nil {
		return nil, err
	}
	known, err := m.loadFile(c, path)
	if err != nil {
		return nil, err
	}
	if err := m.checkEditable(c, known); err != nil {
		return nil, err
	}
	path = known.Place.Path
	answer := &api.EditAnswer{Path: path}
	written, err := m.Writer.Write(ctx, vault.Change{
		Path: path, Cause: cause, Requested: true,
		Edit: func(old *vault.File) (data []byte, err error) {
			if old == nil {
				return nil, notFound("file", path)
			}
			data, answer.Hash, err = m.editSource(ctx, c, old, change)
			return data, err
		},
	})
	if err != nil {
		return nil, writeError(err)
	}
	answer.Changed = written.Changed
	return answer, nil
}

// checkEditable returns an error unless the caller may change everything in a file that it
// can read.
func (m writeOps) checkEditable(c Call, doc *memory.Document) error {
	may := m.mayChangeEntry(c, doc.Place.Path)
	switch {
	case doc.Place.Kind == memory.Review && m.isReviewed(c):
		return errReviewed
	case !m.mayChange(c, doc.Place.Path, doc.Partition, doc.Front.Author()),
		slices.ContainsFunc(doc.Entries, func(e memory.Entry) bool { return !may(&e) }):
		return errNotAuthor
	}
	return nil
}

// editSource returns the source of a file after a change of its text, with the hash that
// get will return.
func (m writeOps) editSource(ctx context.Context, c Call, file *vault.File,
	change func(*memory.Document, memory.Shown) (string, error)) (data []byte, hash string, err error) {
	doc := m.parseFile(*file).For(c.View)
	if doc == nil {
		return nil, "", notFound("file", file.Path)
	}
	if err := m.checkEditable(c, doc); err != nil {
		return nil, "", err
	}
	shown := doc.Shown(c.View)
	text, err := change(doc, shown)
	if err == nil {
		err = checkNewSecret(shown, text)
	}
	if err == nil {
		data, err = doc.Rewrite(c.View, text, m.parser(ctx, *file))
	}
	if err != nil {
		return nil, "", err
	}
	next := *file
	next.Data = data
	after := m.Parse(next)
	if err := mayClaim(c, after.Claim, doc.Claim); err != nil {
		return nil, "", err
	}
	if m.checkEditable(c, after) != nil {
		return nil, "", api.Errorf(api.Forbidden, "the new text would count as written by another author").
			WithHint("keep the attribute written_by of each entry")
	}
	return data, hashOf(after), nil
}

// mayClaim rejects a subject_id that does not belong to the caller. A directory
// claimed for two subjects belongs to neither.
func mayClaim(c Call, claim, before string) error {
	if claim == "" || claim == before || slices.Contains(c.View.Subjects(), claim) {
		return nil
	}
	return api.Errorf(api.SubjectConflict, "subject_id in the text belongs to another subject")
}

// createFile creates a file at a path that the caller could read.
func (m writeOps) createFile(ctx context.Context, c Call, r *api.WriteRequest) (*api.EditAnswer, error) {
	if reason := badPath(r.Path); reason != "" {
		return nil, api.Errorf(api.Invalid, "path: %q %s", r.Path, reason)
	}
	for _, given := range [][2]string{{"path", r.Path}, {"text", r.Text}} {
		if rule := secrets.MatchingRule(given[1]); rule != "" {
			return nil, secretError(given[0], rule)
		}
	}
	if reason := cmp.Or(m.Writer.Vault.Skips(r.Path, false), m.Layout.Skip(r.Path)); reason != "" {
		return nil, api.Errorf(api.Invalid, "path: %s is excluded from memory: %s", r.Path, reason)
	}
	next := m.Parse(vault.File{Path: r.Path, Data: []byte(r.Text), ModTime: m.Now()})
	if m.inbox(c) == "" && !ownPlace(c, next.Place) || next.For(c.View) == nil {
		return nil, notFound("file", r.Path).WithHint("choose a path that you can read")
	}
	shared := next.Place.Owner == "" && !slices.Contains(c.View.Subjects(), m.Owner)
	if m.inbox(c) == "" && shared || !m.mayChange(c, r.Path, next.Partition, memory.Author{}) {
		return nil, api.Errorf(api.Forbidden, "%s would be in the part of the memory that all subjects share", r.Path).
			WithHint("`note` and `session` add to it; other files belong below the %s",
				cmp.Or(m.inbox(c), "subject's own directory"))
	}
	if err := next.CheckReadable(c.View, r.Text); err != nil {
		return nil, writeError(err)
	}
	if err := mayClaim(c, next.Claim, ""); err != nil {
		return nil, err
	}
	written, err := m.Writer.Write(ctx, vault.Change{
		Path: r.Path, Cause: "write", Requested: true,
		Edit: func(old *vault.File) ([]byte, error) {
			if old != nil {
				return nil, api.Errorf(api.Conflict, "cannot create %s, which already exists", r.Path).
					WithHint("to replace the file, get it and pass its hash; otherwise choose another path")
			}
			return []byte(r.Text), nil
		},
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, api.Errorf(api.Invalid, "path: a parent of %s is not a directory", r.Path)
	case err != nil:
		return nil, writeError(err)
	}
	doc := next.For(c.View)
	return &api.EditAnswer{Path: r.Path, Hash: hashOf(doc), Changed: written.Changed}, nil
}

// ownPlace reports whether a place belongs to the caller or to no subject. It
// ignores the file's own claim, because that file may be the one that assigns
// the directory to another subject; the owners of the place still find such a
// file.
func ownPlace(c Call, p memory.Place) bool {
	return p.Owner == "" || c.View.Readable(memory.Partition{Owner: p.Owner, Visibility: memory.PrivateOnly})
}

// badPath returns why a path cannot name a new file, or an empty string.
func badPath(path string) string {
	if isRootPath(path) { // whether or not there is such a folder
		return "begins with a name and a colon, like the files of other folders, which are only read"
	}
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case name == "" || name == "." || name == "..":
			return "is not relative to the memory directory, or contains an empty part, . or .."
		case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' }):
			return "contains control characters or invalid UTF-8"
		case len(name) > 255:
			return "contains a name of more than 255 bytes"
		}
	}
	return ""
}

// isRootPath reports whether a path has the form of a path in a root.
func isRootPath(path string) bool {
	name, _, ok := strings.Cut(path, ":")
	return ok && (name == memory.MemoryRoot || memory.ValidRoot(name) == nil)
}
