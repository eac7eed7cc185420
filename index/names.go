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
	commonWord   = 20            // of so many entries, more than one has a common word, and more than coverRare
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
			if !isStopWord(text, t) {
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

// rankNames places the first entries of the files with the name in the query before others,
// as if the name were a phrase.
func (s *search) rankNames() {
	if s.err != nil || s.query.Mode != Relevance || len(s.words.phrases) > 0 {
		return
	}
	type nameWord struct {
		terms  []string // any of which
		blocks int
	}
	var words []nameWord
	query := s.analyzer.nameWords(s.query.Text)
	if len(query) > maxNameQuery {
		return
	}
	for _, term := range query {
		w := nameWord{terms: s.insteadOf(term)}
		w.blocks = s.countBlocks(w.terms)
		if w.blocks > 0 {
			words = append(words, w)
		}
	}
	slices.SortStableFunc(words, func(a, b nameWord) int { return cmp.Compare(a.blocks, b.blocks) })
	type place struct {
		file uint32
		slot int
	}
	type match struct{ words, missing int }
	var names map[place]match
	for i, w := range words {
		has := make(map[place]match)
		for _, term := range w.terms {
			s.eachBlock(termKey(kindTitle, term), func(_ uint32, r ref, v slots) {
				for v != 0 {
					slot, n := v.next()
					v = v.without(slot)
					p := place{r.file, slot}
					m, ok := names[p]
					if i == 0 && !ok {
						m = match{0, int(n)}
					}
					if i == 0 || ok {
						has[p] = match{m.words + 1, m.missing - 1}
					}
				}
			})
		}
		if i > 0 && w.blocks > max(coverRare, s.readable.entries/commonWord) {
			for p, m := range names { // a common word need not be in the name
				if _, ok := has[p]; !ok {
					has[p] = m
				}
			}
		}
		names = has
	}
	most := 1
	for _, m := range names {
		if m.missing <= 0 {
			most = max(most, m.words)
		}
	}
	for p, m := range names {
		k := entryKey{p.file, 0}
		if m.missing > 0 || m.words < most {
			continue
		}
		if s.phrases.counts == nil {
			s.phrases.counts, s.phrases.most = make(map[entryKey]uint8), make(map[uint32]uint8)
		}
		s.phrases.counts[k], s.phrases.most[k.file] = 1, 1
	}
}

// insteadOf returns a term and those that replace it: the likeliest correction, and words
// that it is the beginning of.
func (s *search) insteadOf(term string) []string {
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
		if t.corrects != "" {
			break
		}
	}
	return terms
}
