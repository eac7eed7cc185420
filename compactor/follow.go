package compactor

import (
	"maps"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// transferCounts transfers the counts of edited entries to their new ids. A generated
// id depends on the entry's text, so an edit changes it. The edited entry is the only
// one of the same section with the same title, if its id has no count. Without one,
// the count stays under the old id until it fades: the edit may be reverted.
func (f *usedFile) transferCounts(doc *memory.Document) {
	at := make(map[string]int, len(doc.Entries))
	for i := range doc.Entries {
		at[doc.Entries[i].ID] = i
	}
	for _, id := range slices.Sorted(maps.Keys(f.Entries)) {
		e := f.Entries[id]
		if _, ok := at[id]; ok {
			continue
		}
		if now := findTitled(doc, e.Title, e.Within); now != "" && f.Entries[now] == nil {
			delete(f.Entries, id)
			f.Entries[now] = e
		}
	}
	for id, u := range f.Entries {
		i, ok := at[id]
		if !ok {
			continue
		}
		e := &doc.Entries[i]
		u.Title, u.Within = "", sectionKey(e)
		if findTitled(doc, e.Title, u.Within) == e.ID {
			u.Title = e.Title
		}
	}
}

func sectionKey(e *memory.Entry) string { return strings.Join(e.Sections, "\x1f") }

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
