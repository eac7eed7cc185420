package ops

import (
	"context"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// supersededID returns path#id of the entry at a place, which a new entry of the caller
// replaces, or "" if the place is empty. An entry without an id has a derived one, which stays
// the same as long as its text, its headings and its file do.
func (m writeOps) supersededID(ctx context.Context, c Call, place string) (string, error) {
	if place == "" {
		return "", nil
	}
	if !c.View.Private() {
		return "", api.Errorf(api.Forbidden, "supersedes: replacing an entry requires a private context")
	}
	if err := m.syncIndex(ctx, &c); err != nil {
		return "", err
	}
	at, err := m.findTarget(ctx, c, place)
	if err == nil && at.entry == nil {
		at.entry = entryAtLine(c, at.doc, at.from)
	}
	switch {
	case err != nil && asError(err).Code != api.NotFound:
		return "", err
	case at.entry == nil:
		return "", api.Errorf(api.NotFound, "supersedes: there is no entry at %q", place).
			WithHint("use a place that `search` lists: path:line, path#id or an id")
	case m.Layout.InRoot(at.doc.Place.Path) || !m.mayChangeEntry(c, at.doc.Place.Path)(at.entry):
		return "", errNotAuthor
	}
	return entryID(at.doc.Place.Path, at.entry.ID), nil
}

// entryAtLine returns the readable entry at a line of a file, or nil.
func entryAtLine(c Call, doc *memory.Document, line int) *memory.Entry {
	for i := range doc.Entries {
		if e := &doc.Entries[i]; e.Readable(c.View) && e.Line <= line && line <= e.EndLine {
			return e
		}
	}
	return nil
}
