package compactor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// Restored is where an entry is that was brought back from an archive.
type Restored struct {
	Path string
	Line int
	ID   string // of the entry there
}

// ErrNotArchived: an entry was not archived by itself, or is not in an archive.
var ErrNotArchived = errors.New("no entry of an archive that says where it comes from")

// Restore brings an archived entry back to where it comes from: at the end of
// its section, as it was, byte for byte, and visible to the same people. A file
// or a section that is gone is made again. The entry then leaves the archive;
// both changes can be undone as one. What is in its place already leaves the
// archive only.
func (c *Compactor) Restore(ctx context.Context, archive, id string) (*Restored, error) {
	fail := func(err error) (*Restored, error) { return nil, fmt.Errorf("restore %s#%s: %w", archive, id, err) }
	file, err := c.Disk.Read(archive)
	if err != nil {
		return fail(err)
	}
	doc := c.Parse(file)
	e := entryOf(doc, id)
	if e == nil || doc.Place.Kind != memory.Archive {
		return fail(ErrNotArchived)
	}
	o, ok := c.archived(doc, e)
	if !ok {
		return fail(ErrNotArchived)
	}
	b := &back{Compactor: c, origin: o, archive: archive, id: id, visibility: e.Partition.Visibility}
	in, err := c.Writer.Write(ctx, vault.Change{
		Path: o.from, Cause: "restore", Asked: true, Reason: "from " + archive, Edit: b.insert,
	})
	if err != nil {
		return fail(err)
	}
	_, err = c.Writer.Write(ctx, vault.Change{
		Path: archive, Cause: "restore", Asked: true, Reason: "back to " + o.from, Group: in.ID, Edit: b.takeOut,
	})
	if err != nil {
		return fail(fmt.Errorf("it is back in %s, but still in the archive too: %w", o.from, err))
	}
	return &b.restored, nil
}

// A back is an entry on its way back.
type back struct {
	*Compactor
	origin
	archive    string
	id         string // of the entry there
	visibility memory.Visibility
	restored   Restored
}

func entryOf(doc *memory.Document, id string) *memory.Entry {
	for i := range doc.Entries {
		if doc.Entries[i].ID == id {
			return &doc.Entries[i]
		}
	}
	return nil
}

// insert is the file with the entry in its section.
func (b *back) insert(old *vault.File) ([]byte, error) {
	if old == nil {
		old = &vault.File{Path: b.from, Data: []byte{}, ModTime: b.now()}
	}
	parse := func(data []byte) *memory.Document {
		return b.Parse(vault.File{Path: b.from, Data: data, ModTime: old.ModTime})
	}
	doc := parse(old.Data)
	// The entry says itself where it comes from: that must be a file whose
	// archive this is.
	if dir, _, err := archiveOf(doc); err != nil || doc.Place.Kind != memory.Longterm || dir != path.Dir(b.archive) {
		return nil, fmt.Errorf("it says that it comes from %s, whose archive this is not", b.from)
	}
	if e := b.find(doc); e != nil && e.Partition.Visibility == b.visibility {
		// It was brought back by a process that was killed, or never went.
		b.restored = Restored{Path: b.from, Line: e.Line, ID: e.ID}
		return old.Data, nil
	}
	titled := doc.Titled()
	text, err := place(doc, []placing{{sectionPath(b.section), []byte(b.lines)}}, parse)
	if err != nil {
		return nil, err
	}
	doc = parse(text)
	e := b.find(doc)
	if e.Partition.Visibility != b.visibility {
		// The file says another visibility than it did.
		r := doc.Revise()
		r.SetAttribute(slices.IndexFunc(doc.Entries, func(o memory.Entry) bool { return o.Line == e.Line }), "visibility", b.visibility.String())
		if text, err = r.Apply(parse); err != nil {
			return nil, err
		}
		doc = parse(text)
		e = &doc.Entries[slices.IndexFunc(doc.Entries, func(o memory.Entry) bool { return o.Line == e.Line })]
	}
	if titled {
		at := slices.IndexFunc(doc.Entries, func(o memory.Entry) bool { return o.Line == e.Line })
		r := doc.Revise()
		r.SetField("summary", doc.Titles())
		if text, err = r.Apply(parse); err != nil {
			return nil, err
		}
		e = &parse(text).Entries[at]
	}
	b.restored = Restored{Path: b.from, Line: e.Line, ID: e.ID}
	return text, nil
}

// find finds the entry in its file: the last one of its section with the same
// lines.
func (b *back) find(doc *memory.Document) *memory.Entry {
	for i := len(doc.Entries) - 1; i >= 0; i-- {
		if e := &doc.Entries[i]; originOf(doc, e) == b.origin {
			return e
		}
	}
	return nil
}

// takeOut is the archive without the entry.
func (b *back) takeOut(old *vault.File) ([]byte, error) {
	if old == nil {
		return nil, nil
	}
	parse := func(data []byte) *memory.Document {
		return b.Parse(vault.File{Path: b.archive, Data: data, ModTime: old.ModTime})
	}
	doc := parse(old.Data)
	for _, same := range []func(*memory.Entry) bool{
		func(e *memory.Entry) bool { return e.ID == b.id },
		func(*memory.Entry) bool { return true }, // somebody has changed the archive, and with it the id
	} {
		for i := range doc.Entries {
			if e := &doc.Entries[i]; same(e) && e.Attributes[attrFrom] == b.from {
				if o, ok := b.archived(doc, e); ok && o == b.origin {
					r := doc.Revise()
					r.Remove(i)
					return r.Apply(parse)
				}
			}
		}
	}
	return nil, nil // somebody else has taken it out
}
