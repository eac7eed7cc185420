package index

import (
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

// withTitle returns a document, which may be nil. Of a note without text, it returns a copy
// with one entry: the title, without an id and lines. A title with a credential is no entry.
func withTitle(doc *memory.Document) *memory.Document {
	if doc == nil || len(doc.Entries) > 0 || doc.Place.Kind != memory.Note || doc.Place.Copy != "" {
		return doc
	}
	title := doc.Title()
	if secrets.Find(title) != nil {
		return doc
	}
	note := *doc
	note.Entries = []memory.Entry{{Text: title, Norm: normalizePhrase(title), Heading: -1, Tags: doc.Front.Tags,
		Partition: doc.Partition}}
	return &note
}

// CountEntries returns the number of entries of a document in the index.
func CountEntries(doc *memory.Document) int { return len(withTitle(doc).Entries) }
