package compactor

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// Attributes that an archived entry has in addition to its own.
const (
	attrFrom      = "from"      // path of the source file
	attrSection   = "section"   // source section: see sectionText
	attrArchived  = "archived"  // time of archiving
	attrInherited = "inherited" // names of the attributes that hold settings inherited from the file
)

// maxArchive is the size in bytes from which an archive continues in another
// file. Each addition reads the whole file.
const maxArchive = 512 << 10

// An origin identifies an archived entry by its source and its exact lines
// there.
type origin struct{ from, section, lines string }

func originOf(doc *memory.Document, e *memory.Entry) origin {
	return origin{doc.Place.Path, sectionText(e.Sections), linesOf(doc, e)}
}

// linesOf returns an entry's lines, each ended by a line feed.
func linesOf(doc *memory.Document, e *memory.Entry) string {
	return doc.SourceLines(e.Line, e.EndLine) + "\n"
}

// sectionText returns a section path as an attribute value: the escaped names,
// separated by slashes.
func sectionText(sections []string) string {
	escape := strings.NewReplacer("%", "%25", "/", "%2F")
	names := make([]string, len(sections))
	for i, s := range sections {
		names[i] = escape.Replace(s)
	}
	return strings.Join(names, "/")
}

// archiveSection returns the archive section for entries of a section. It is the same
// section, so that the entries keep their meaning. For entries without a
// section it is the name of their file.
func archiveSection(from string, section []string) []string {
	if len(section) == 0 {
		return []string{from}
	}
	return section
}

// parseItem parses lines as a file of their own. The lines must form exactly one
// item.
func (c *Compactor) parseItem(lines string, modified time.Time) (*memory.Document, error) {
	doc := c.Parse(vault.File{Path: "_longterms/x/_archive/alone.md", Data: []byte(lines), ModTime: modified})
	if doc.Unsound || len(doc.Problems) > 0 && doc.Problems[0].Code == "attributes_broken" || len(doc.Entries) != 1 ||
		doc.Entries[0].Block != memory.Item ||
		len(doc.Hidden)+len(doc.Headings) > 0 || linesOf(doc, &doc.Entries[0]) != lines {
		return nil, errors.New("the entry is not a separate list item")
	}
	return doc, nil
}

// copyOf returns an entry as written to an archive: its lines with attributes
// for the source, the time of archiving and the settings inherited from the
// file. It checks that the copy restores the exact lines and has the same meaning
// in the archive. An error describes why the entry cannot be archived.
func (c *Compactor) copyOf(doc *memory.Document, e *memory.Entry, now time.Time) ([]byte, error) {
	lines := linesOf(doc, e)
	alone, err := c.parseItem(lines, e.Time)
	if err != nil {
		return nil, err
	}
	it := &alone.Entries[0]
	if it.Norm != e.Norm || it.Title != e.Title {
		return nil, errors.New("the entry would be parsed differently on its own")
	}
	r := alone.Revise()
	if _, written := e.Attributes["updated"]; !written && e.Added == "" && !e.Time.IsZero() {
		r.SetAttribute(0, "updated", e.Time.UTC().Format(time.RFC3339))
		r.SetAttribute(0, attrInherited, "updated")
	}
	for _, key := range []string{attrFrom, attrSection, attrArchived} {
		if _, written := e.Attributes[key]; written {
			return nil, fmt.Errorf("the entry already has the attribute %s", key)
		}
	}
	r.SetAttribute(0, attrFrom, doc.Place.Path)
	r.SetAttribute(0, attrSection, sectionText(e.Sections))
	r.SetAttribute(0, attrArchived, now.UTC().Format(time.RFC3339))
	copied, err := r.Apply(c.parser(alone.Place.Path, e.Time))
	if err != nil {
		return nil, err
	}
	parse := c.parser("_longterms/x/_archive/alone.md", e.Time)
	in := parse(nil).Revise()
	in.AppendVerbatim(archiveSection(doc.Place.Path, e.Sections), string(copied))
	archive, err := in.Apply(parse)
	if err != nil {
		return nil, err
	}
	placed := parse(archive)
	it = &placed.Entries[0]
	switch o, ok := c.archivedOrigin(placed, it); {
	case !ok || o != originOf(doc, e):
		return nil, errors.New("the entry could not be restored unchanged")
	case it.Type != e.Type:
		return nil, errors.New("the type of the entry would change in the archive")
	}
	return copied, nil
}

// originalLines returns the lines of an archived entry before it was archived.
func (c *Compactor) originalLines(copied string) ([]byte, error) {
	doc, err := c.parseItem(copied, time.Time{})
	if err != nil {
		return nil, err
	}
	r := doc.Revise()
	for key := range strings.SplitSeq(doc.Entries[0].Attributes[attrInherited], ",") {
		if key == "visibility" || key == "updated" { // earlier archives contain the visibility of the file
			r.SetAttribute(0, key, "")
		}
	}
	for _, key := range []string{attrInherited, attrFrom, attrSection, attrArchived} {
		if _, ok := doc.Entries[0].Attributes[key]; ok {
			r.SetAttribute(0, key, "")
		}
	}
	return r.Apply(c.parser(doc.Place.Path, time.Time{}))
}

// archivedOrigin returns the origin of an entry in an archive. It reports false for
// an entry that was not archived individually.
func (c *Compactor) archivedOrigin(archive *memory.Document, e *memory.Entry) (origin, bool) {
	from := e.Attributes[attrFrom]
	if from == "" {
		return origin{}, false
	}
	lines, err := c.originalLines(linesOf(archive, e))
	if err != nil {
		return origin{}, false
	}
	return origin{from, e.Attributes[attrSection], string(lines)}, true
}

// archiveOf returns the directory of the archive for a file's entries, and the
// subject to write into the archive files, which is empty if the directory
// determines it.
//
// Files below _longterms have their archive in their own directory. For the
// MEMORY.md of the owner or a user it is the directory of their subject. A
// user's directory without a named subject has no archive, because the entries
// could belong to another subject.
func archiveOf(doc *memory.Document) (dir, subject string, err error) {
	below, longterm := strings.CutPrefix(doc.Place.Path, "_longterms/")
	switch {
	case longterm:
		name, _, _ := strings.Cut(below, "/")
		return "_longterms/" + name + "/_archive", "", nil
	case doc.Place.Dir == "":
		subject = doc.Partition.Owner
	default:
		subject = doc.Claim
	}
	if subject == "" {
		return "", "", errors.New("unknown owner: set subject_id in the frontmatter")
	}
	return "_longterms/" + memory.SubjectDir(subject) + "/_archive", subject, nil
}

// archiveName returns the path of the n-th file, from 1, of the month of now in
// an archive for text of a visibility. The name contains the host, so that two machines that share a
// directory never write the same file.
func (c *Compactor) archiveName(dir string, v memory.Visibility, now time.Time, n int) string {
	name := now.In(cmp.Or(c.Location, time.UTC)).Format("2006-01") + "." + HostName(c.Host)
	if n > 1 {
		name += fmt.Sprintf("-%d", n)
	}
	if v == memory.PublicOK {
		name += memory.PublicFile
	}
	return dir + "/" + name + ".md"
}
