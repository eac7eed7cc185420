package compactor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// ErrNotArchived reports that an entry was not archived individually or is not
// in an archive.
var ErrNotArchived = errors.New("not an archived entry with a source")

// Restore moves an archived entry back to its source file: to the end of its
// section, with the same bytes and readers. It recreates a missing file or
// section. It then removes the entry from the archive; both changes can be
// undone together. If the entry is already in its file, Restore only removes it
// from the archive.
//
// If archive and id identify no archived entry, the error is [ErrNotArchived].
// If only the removal from the archive fails, the error reports this, and the
// entry is in both files.
func (c *Compactor) Restore(ctx context.Context, archive, id string) (*api.RestoreAnswer, error) {
	fail := func(err error) (*api.RestoreAnswer, error) {
		return nil, fmt.Errorf("restore %s#%s: %w", archive, id, err)
	}
	file, err := c.Disk.Read(archive)
	if err != nil {
		return fail(err)
	}
	doc := c.Parse(file)
	at := slices.IndexFunc(doc.Entries, func(e memory.Entry) bool { return e.ID == id })
	if at < 0 || doc.Place.Kind != memory.Archive {
		return fail(ErrNotArchived)
	}
	e := &doc.Entries[at]
	o, ok := c.archivedOrigin(doc, e)
	if !ok {
		return fail(ErrNotArchived)
	}
	b := &restoration{Compactor: c, origin: o, archive: archive, visibility: doc.Partition.Visibility}
	in, err := c.Writer.Write(ctx, vault.Change{
		Path: o.from, Cause: "restore", Requested: true, Reason: "from " + archive, Edit: b.insertEntry,
	})
	if err != nil {
		return fail(err)
	}
	_, err = c.Writer.Write(ctx, vault.Change{
		Path: archive, Cause: "restore", Requested: true, Reason: "back to " + o.from, Group: in.ID, Edit: b.removeCopy,
	})
	if err != nil {
		return fail(fmt.Errorf("the entry is restored to %s, but remains in the archive: %w", o.from, err))
	}
	return &b.restored, nil
}

type restoration struct {
	*Compactor
	origin
	archive    string
	visibility memory.Visibility
	restored   api.RestoreAnswer
}

// insertEntry returns the source file with the entry in its section.
func (b *restoration) insertEntry(old *vault.File) ([]byte, error) {
	if old == nil {
		old = &vault.File{Path: b.from, Data: []byte{}, ModTime: b.Now()}
	}
	parse := b.parser(b.from, old.ModTime)
	doc := parse(old.Data)
	// The source path comes from the entry itself, so check that this is the
	// archive of that file.
	if dir, _, err := archiveOf(doc); err != nil || doc.Place.Kind != memory.Longterm || dir != path.Dir(b.archive) {
		return nil, fmt.Errorf("%w: it names %s as its source, but that file has another archive", ErrNotArchived,
			b.from)
	}
	if doc.Unmarked() > b.visibility {
		return nil, fmt.Errorf("%s is public, and the entry is not", b.from)
	}
	if at := b.findEntry(doc); at >= 0 {
		// A killed process restored the entry, or it was never removed.
		b.restored = api.RestoreAnswer{ID: b.from + "#" + doc.Entries[at].ID, Path: b.from, Line: doc.Entries[at].Line}
		return old.Data, nil
	}
	r := doc.Revise()
	r.AppendVerbatim(sectionPath(b.section), b.lines)
	r.SetTitles()
	text, err := r.Apply(parse)
	if err != nil {
		return nil, err
	}
	doc = parse(text)
	at := b.findEntry(doc)
	if at < 0 {
		return nil, errors.New("the entry would be parsed differently in its file")
	}
	b.restored = api.RestoreAnswer{ID: b.from + "#" + doc.Entries[at].ID, Path: b.from, Line: doc.Entries[at].Line}
	return text, nil
}

// findEntry returns the index of the entry in its file: the last one of its section
// with the same lines, or -1.
func (b *restoration) findEntry(doc *memory.Document) int {
	at := len(doc.Entries) - 1
	for ; at >= 0; at-- {
		e, section := &doc.Entries[at], sectionPath(b.section)
		if n := len(e.Sections) - len(section); linesOf(doc, e) == b.lines && n >= 0 &&
			(n == 0 || len(section) > 0) && slices.EqualFunc(e.Sections[n:], section, memory.SameSection) {
			break
		}
	}
	return at
}

// removeCopy returns the archive without the entry, or nil if the entry is not
// there.
func (b *restoration) removeCopy(old *vault.File) ([]byte, error) {
	if old == nil {
		return nil, nil
	}
	parse := b.parser(b.archive, old.ModTime)
	doc := parse(old.Data)
	for i := range doc.Entries {
		if e := &doc.Entries[i]; e.Attributes[attrFrom] == b.from {
			if o, ok := b.archivedOrigin(doc, e); ok && o == b.origin {
				r := doc.Revise()
				r.Remove(i)
				return r.Apply(parse)
			}
		}
	}
	return nil, nil // the entry is already gone
}
