package index

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/memory"
)

// maxPhraseFiles bounds the number of files that are read to find phrases.
const maxPhraseFiles = 5000

// A page turns the results of a search into one page of hits.
type page struct {
	*search
	source Source
	docs   map[*file]*memory.Document
	stale  map[string]bool // paths of files that differ from the index
	note   string

	worth    map[string]float64 // weights of the terms in the coverage; nil until they are computed
	allWorth float64            // sum of the weights

	periods  []namedPeriod // that the query names
	asksTime bool          // the query asks for a time

	incomplete bool // some files that the index lacks were not read

	chosen   []candidate // candidates that pass the phrases, if filtered is set
	filtered bool        // phrases exclude candidates

	phrases     map[entryKey]uint8 // number of phrases in the candidates that contain some; nil without phrases
	mostPhrases map[uint32]uint8   // maximum of phrases, by variant number
	lacking     map[string]bool    // runs that no candidate contains
	complete    int                // number of candidates that contain all phrases

	meaning []candidate           // entries most similar to the query, best first
	ranks   map[entryKey]*ranking // nil if the search is by words only
	passing map[uint32]bool       // by variant: it passes the filter
}

// An entryKey identifies an entry.
type entryKey struct {
	variant uint32
	entry   int32
}

// loaders bounds the number of files that are read concurrently.
const loaders = 4

// loadFiles reads the files of some candidates, except those read before.
func (p *page) loadFiles(all []candidate) {
	if p.err != nil {
		return
	}
	var files []*file
	for _, c := range all {
		f := p.over.variantAt(c.variant).file
		if _, ok := p.docs[f]; !ok {
			p.docs[f] = nil
			files = append(files, f)
		}
	}
	docs := make([]*memory.Document, len(files))
	var g errgroup.Group
	g.SetLimit(loaders)
	for i, f := range files {
		g.Go(func() (err error) {
			docs[i], err = p.loadCurrent(f)
			return err
		})
	}
	p.err = g.Wait()
	for i, f := range files {
		p.docs[f] = docs[i]
	}
}

// loadCurrent returns the document of a file, or nil if the file does not exist
// or differs from the index.
func (p *page) loadCurrent(f *file) (*memory.Document, error) {
	doc, stamp, err := p.source.LoadStamped(f.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && stamp != f.stamp {
		return nil, nil
	}
	return doc, err
}

// resolveEntry returns the current version of an entry and its document, which is
// the whole file or the excerpt, depending on the view. If the file differs from
// the index, resolveEntry returns nil and marks the file as stale, which makes the
// search restart with the current file. If the search has failed, it returns nil.
func (p *page) resolveEntry(k entryKey) (*memory.Document, *memory.Entry) {
	pt := p.over.variantAt(k.variant)
	p.loadFiles([]candidate{{entryKey: k}})
	if p.err != nil {
		return nil, nil
	}
	if whole := p.docs[pt.file]; whole != nil {
		// Equal stamps do not prove equal files.
		if doc := pt.documentOf(whole); doc != nil && p.view.Readable(doc.Partition) {
			if e := &doc.Entries[k.entry]; dupOf(e.Norm) == pt.entries[k.entry].dup {
				return doc, e
			}
		}
	}
	p.stale[pt.file.path] = true
	return nil, nil
}

// applyPhrases counts the wanted phrases and runs in each candidate, and drops the
// candidates with excluded phrases or, if the query requires its phrases, without
// them. It reads the text of candidates.
func (p *page) applyPhrases(want []string, runs []queryWord, not []string) {
	// All words of a phrase must occur in an entry. This condition leaves few
	// files to read.
	quoted := len(want)
	want = slices.Clip(want)
	sets := make([]entrySet, 0, quoted+len(runs))
	for _, phrase := range want {
		sets = append(sets, p.entriesWithAll(p.phraseTerms(phrase)))
	}
	p.lacking = make(map[string]bool)
	for _, r := range runs {
		sets = append(sets, p.entriesWithAll(r.terms))
		want = append(want, normalizePhrase(r.text))
		p.lacking[r.text] = true
	}
	none := !slices.ContainsFunc(sets, func(s entrySet) bool {
		return s == nil || slices.ContainsFunc(s, func(slots uint32) bool { return slots != 0 })
	})
	if p.err != nil || none && len(not) == 0 && (quoted == 0 || !p.query.Exact) {
		return
	}
	// isPossible reports whether an entry may contain enough phrases.
	isPossible := func(c candidate) bool {
		pt := p.over.variantAt(c.variant)
		some := false
		for i, set := range sets {
			has := set == nil || set.has(pt, int(c.entry)) // a Thai phrase has only parts
			if !has && i < quoted && p.query.Exact {
				return false
			}
			some = some || has
		}
		return some || len(not) > 0
	}
	var found []candidate
	p.eachMatch(chooseAll, func(c candidate) {
		if isPossible(c) {
			found = append(found, c)
		}
	})
	slices.SortFunc(found, func(c, d candidate) int {
		c.score, _ = p.exactScore(c)
		d.score, _ = p.exactScore(d)
		return p.compare(c, d)
	})
	p.filtered = p.query.Exact && quoted > 0 || len(not) > 0
	p.phrases = make(map[entryKey]uint8)
	p.mostPhrases = make(map[uint32]uint8)
	read := make(map[*file]bool)
	for _, c := range found {
		p.err = cmp.Or(p.err, p.ctx.Err())
		if p.err != nil {
			return
		}
		f := p.over.variantAt(c.variant).file
		if !read[f] && len(read) == maxPhraseFiles {
			p.note = fmt.Sprintf("more than %d files contain the words of the phrase, only the best were "+
				"searched; add words or a filter", maxPhraseFiles)
			clear(p.lacking)
			break
		}
		read[f] = true
		_, e := p.resolveEntry(c.entryKey)
		if e == nil {
			continue
		}
		text := normalizePhrase(e.Text)
		contains := func(phrase string) bool { return strings.Contains(text, phrase) }
		if slices.ContainsFunc(not, contains) {
			continue
		}
		n, all := uint8(0), true // all quoted phrases
		for i, phrase := range want {
			has := contains(phrase)
			if has {
				n++
				if i >= quoted {
					delete(p.lacking, runs[i-quoted].text)
				}
			}
			all = all && (has || i >= quoted)
		}
		if n > 0 {
			p.phrases[c.entryKey] = n
			p.mostPhrases[c.variant] = max(p.mostPhrases[c.variant], n)
		}
		if all && quoted > 0 {
			p.complete++
		}
		if all || !p.query.Exact {
			p.chosen = append(p.chosen, c)
		}
	}
}

// phraseTerms returns the terms of the words of a phrase.
func (p *page) phraseTerms(phrase string) (terms []string) {
	p.analyzer.eachToken(phrase, func(t token) {
		if !t.subword && len(terms) < maxTerms && !slices.Contains(terms, t.term) {
			terms = append(terms, t.term)
		}
	})
	return terms
}

// entriesWithAll returns the entries that contain all of the terms.
func (p *page) entriesWithAll(terms []string) (all entrySet) {
	for _, term := range terms {
		all = all.and(p.entriesWith(termKey(kindWord, term)))
	}
	return all
}

// phraseNote explains the hits of a query with phrases, of which total entries
// contain some words.
func (p *page) phraseNote(total int) string {
	switch n := len(p.words.phrases); {
	case p.note != "" || n == 0 || p.query.Exact || total == p.complete:
		return p.note
	case p.complete == 0 && n > 1:
		return "no entry contains all phrases; these entries contain words of them"
	case p.complete == 0:
		return "no entry contains the phrase; these entries contain words of it"
	}
	return fmt.Sprintf("the phrase occurs in %d of these entries; they come first", p.complete)
}
