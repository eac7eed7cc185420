package index

import (
	"cmp"
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

// writeNames writes the words of the names of a file to its first block: a slot stands for
// a name, and the level is the number of its words.
func (w *fileWriter) writeNames(doc *memory.Document) {
	for slot, name := range namesOf(doc) {
		words := w.nameWords(name)
		words = words[:min(len(words), maxNameWords)]
		for _, word := range words {
			if v := w.slotsOf(kindTitle, word); v != nil {
				v.set(slot, level(len(words)))
			}
		}
	}
}

// A place is a name of a file.
type place struct {
	file uint32
	slot int
}

// rankNames places the first entries of the files whose name is the query before others,
// as if the name were a phrase.
func (s *matches) rankNames() {
	if s.err != nil || s.query.Mode != Relevance || len(s.words.phrases) > 0 {
		return
	}
	words := s.nameQuery()
	for p, length := range s.namesWith(words) {
		if length <= len(words) {
			s.phrases.counts[entryKey{p.file, 0}] = 1
		}
	}
}

// nameQuery returns the words of the query, the rarest first: for each, the terms any of which
// a name can have. Words that nothing contains do not count.
func (s *request) nameQuery() (words [][]string) {
	blocks := make(map[string]int)
	for _, term := range s.analyzer.nameWords(s.query.Text) {
		terms := s.insteadOf(term)
		blocks[term] = s.countBlocks(terms)
		if blocks[term] > 0 {
			words = append(words, terms)
		}
	}
	slices.SortStableFunc(words, func(a, b []string) int { return cmp.Compare(blocks[a[0]], blocks[b[0]]) })
	if len(words) > maxNameQuery {
		return nil
	}
	return words
}

// namesWith returns the names that have all the words, with the numbers of their words.
func (s *reader) namesWith(words [][]string) (names map[place]int) {
	for i, terms := range words {
		has := make(map[place]int)
		for _, term := range terms {
			s.eachBlock(termKey(kindTitle, term), func(_ uint32, r ref, v slots) {
				for slot, length := range v.all() {
					p := place{r.file, slot}
					if _, ok := names[p]; ok || i == 0 {
						has[p] = int(length)
					}
				}
			})
		}
		names = has
	}
	return names
}

// insteadOf returns a term and those that replace it: corrections, and words that it is the
// beginning of.
func (s *request) insteadOf(term string) []string {
	terms := []string{term}
	i := slices.IndexFunc(s.words.terms, func(t qterm) bool { return t.term == term && t.whole })
	if i < 0 {
		return terms
	}
	for _, t := range s.words.terms[i+1:] {
		if !t.instead {
			break
		}
		terms = append(terms, t.term)
	}
	return terms
}
