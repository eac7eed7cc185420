package index

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

// People look for a note by its name more than by anything else, and seldom repeat the
// name in its text. If a query has all words of a name and no other rare word, the first
// entry of the file comes first.

const (
	maxNames     = slotsPerBlock // names of a file that count
	maxNameWords = 7             // words of a name that count, the highest level
	maxNameQuery = 32            // words of a query that can be a name
)

// fileName returns the name of a file as a person reads it, or "". That of the note of a
// folder is the name of the folder. Files with dates and numbers as names have none.
func fileName(doc *memory.Document) string {
	name, _ := memory.CutMarkdown(path.Base(doc.Place.Path))
	switch strings.ToLower(name) {
	case "index", "_index", "readme":
		name = path.Base(path.Dir(doc.Place.Path))
	}
	if !strings.ContainsFunc(name, unicode.IsLetter) || secrets.Find(doc.Place.Path) != nil {
		return ""
	}
	return name
}

// namesOf returns the names of a file: its own, its title, its aliases and, of a note, its
// first heading. Those of other files are the same in many of them.
func namesOf(doc *memory.Document) []string {
	names := append([]string{fileName(doc)}, doc.Front.Names()...)
	if doc.Place.Kind == memory.Note && len(doc.Headings) > 0 {
		names = append(names, doc.Headings[0].Text)
	}
	return names[:min(len(names), maxNames)]
}

// nameWords returns the distinct words of a name or a query, without stop words if there
// are others.
func (a *analyzer) nameWords(text string) []string {
	var all, some []string
	text = strings.ReplaceAll(text, "_", " ")
	a.wholeWords(text, func(t token) {
		if !slices.Contains(all, t.term) {
			all = append(all, t.term)
			if !isCommonWord(text, t) {
				some = append(some, t.term)
			}
		}
	})
	if len(some) == 0 {
		return all
	}
	return some
}

// headingsOf returns the headings above an entry. The names and the description of a file
// are headings of its first entry.
func headingsOf(doc *memory.Document, e *memory.Entry) []string {
	if e != &doc.Entries[0] {
		return e.Sections
	}
	return slices.Concat(doc.Front.Names(), e.Sections, []string{fileName(doc)})
}
