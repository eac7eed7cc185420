package compactor

import (
	"maps"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// follow takes the counts of entries over to what the entries have become. An id
// that nobody wrote is made of what the entry says, so an edited entry has
// another one. It is then
//
//   - the one entry of the same section with the same title, if nothing else had it,
//   - or else the one that stands between the same two neighbours.
//
// What fits neither keeps its count under the old id until that fades: the edit
// may be taken back.
func (f *usedFile) follow(doc *memory.Document) {
	at := make(map[string]int, len(doc.Entries))
	for i := range doc.Entries {
		at[doc.Entries[i].ID] = i
	}
	for _, id := range slices.Sorted(maps.Keys(f.Entries)) {
		if _, ok := at[id]; ok {
			continue
		}
		e := f.Entries[id]
		now := e.byTitle(doc, f.Entries)
		if now == "" {
			now = e.byPlace(doc, at, f.Entries)
		}
		if now != "" {
			delete(f.Entries, id)
			f.Entries[now] = e
		}
	}
	for id, e := range f.Entries {
		if i, ok := at[id]; ok {
			e.know(doc, i)
		}
	}
}

// know notes by what an entry is known.
func (u *usedEntry) know(doc *memory.Document, i int) {
	e := &doc.Entries[i]
	u.Title, u.Within = "", within(e)
	if titled(doc, e.Title, u.Within) == e.ID {
		u.Title = e.Title
	}
	u.Before, u.After = idAt(doc, i-1), idAt(doc, i+1)
}

// within is an entry's section as one text.
func within(e *memory.Entry) string { return strings.Join(e.Sections, "\x1f") }

// idAt is the id of an entry; at the ends there is a mark that no entry has.
func idAt(doc *memory.Document, i int) string {
	if i < 0 || i >= len(doc.Entries) {
		return "-"
	}
	return doc.Entries[i].ID
}

// titled is the id of the one entry of a section with a title; empty if there
// are none or several.
func titled(doc *memory.Document, title, section string) string {
	found := ""
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if e.Title != title || title == "" || within(e) != section {
			continue
		}
		if found != "" {
			return ""
		}
		found = e.ID
	}
	return found
}

func (u *usedEntry) byTitle(doc *memory.Document, counted map[string]*usedEntry) string {
	id := titled(doc, u.Title, u.Within)
	if counted[id] != nil {
		return ""
	}
	return id
}

func (u *usedEntry) byPlace(doc *memory.Document, at map[string]int, counted map[string]*usedEntry) string {
	if u.Before == "" { // it was never seen in its place
		return ""
	}
	i := 0
	switch n, ok := at[u.Before]; {
	case ok:
		i = n + 1
	case u.Before != "-":
		return ""
	}
	if i >= len(doc.Entries) || idAt(doc, i+1) != u.After || within(&doc.Entries[i]) != u.Within || counted[doc.Entries[i].ID] != nil {
		return ""
	}
	return doc.Entries[i].ID
}
