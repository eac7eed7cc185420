package compactor

import (
	"maps"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// transferCounts transfers the counts of edited entries to their new ids. A generated
// id depends on the entry's text, so an edit changes it. The edited entry is
//
//   - the only entry of the same section with the same title, if its id has no
//     count,
//   - or else the entry between the same two neighbours.
//
// Without a match, the count stays under the old id until it fades: the edit
// may be reverted.
func (f *usedFile) transferCounts(doc *memory.Document) {
	at := make(map[string]int, len(doc.Entries))
	for i := range doc.Entries {
		at[doc.Entries[i].ID] = i
	}
	for _, id := range slices.Sorted(maps.Keys(f.Entries)) {
		if _, ok := at[id]; ok {
			continue
		}
		e := f.Entries[id]
		now := findTitled(doc, e.Title, e.Within)
		if now == "" || f.Entries[now] != nil {
			now = e.byNeighbours(doc, at, f.Entries)
		}
		if now != "" {
			delete(f.Entries, id)
			f.Entries[now] = e
		}
	}
	for id, e := range f.Entries {
		if i, ok := at[id]; ok {
			e.recordContext(doc, i)
		}
	}
}

// recordContext records the properties that identify an entry after an edit.
func (u *usedEntry) recordContext(doc *memory.Document, i int) {
	e := &doc.Entries[i]
	u.Title, u.Within = "", sectionKey(e)
	if findTitled(doc, e.Title, u.Within) == e.ID {
		u.Title = e.Title
	}
	u.Before, u.After = idAt(doc, i-1), idAt(doc, i+1)
}

func sectionKey(e *memory.Entry) string { return strings.Join(e.Sections, "\x1f") }

// idAt returns the id of entry i, or "-", which no entry has, beyond either
// end.
func idAt(doc *memory.Document, i int) string {
	if i < 0 || i >= len(doc.Entries) {
		return "-"
	}
	return doc.Entries[i].ID
}

// findTitled returns the id of the only entry of a section with a title, or "" if
// there are none or several.
func findTitled(doc *memory.Document, title, section string) string {
	found := ""
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if e.Title != title || title == "" || sectionKey(e) != section {
			continue
		}
		if found != "" {
			return ""
		}
		found = e.ID
	}
	return found
}

func (u *usedEntry) byNeighbours(doc *memory.Document, at map[string]int, counted map[string]*usedEntry) string {
	if u.Before == "" { // the entry has never been seen in a document
		return ""
	}
	i := 0
	switch n, ok := at[u.Before]; {
	case ok:
		i = n + 1
	case u.Before != "-":
		return ""
	}
	if i >= len(doc.Entries) || idAt(doc, i+1) != u.After || sectionKey(&doc.Entries[i]) != u.Within ||
		counted[doc.Entries[i].ID] != nil {
		return ""
	}
	return doc.Entries[i].ID
}
