package index

import (
	"container/heap"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// maxPhraseFiles bounds how many files are read to see whether a phrase stands
// in them.
const maxPhraseFiles = 5000

// page is what a search found, on its way to one page of hits.
type page struct {
	*search
	source Source
	docs   map[*file]*memory.Document
	stale  map[string]bool // files that are not what the index says
	note   string
}

// collect runs the query's mode and keeps what the sieve lets through.
func (p *page) collect(v *sieve) {
	q := p.query
	keep := func(f *file, e int, score float64) {
		if v.entry(f, e) {
			p.found = append(p.found, candidate{f, int32(e), score})
		}
	}
	tokens := len(p.words.terms)
	overlap := func(f *file, e int, hits int32) {
		score, part := overlapScore(q, &f.entries[e], int(hits), tokens)
		if q.Explain {
			p.parts[key{f, int32(e)}] = part
		}
		keep(f, e, score)
	}
	newest := func(f *file, e int) {
		if t := f.entries[e].time; t != noTime {
			keep(f, e, float64(t)/1e9)
		}
	}
	switch {
	case q.Mode == Overlap && q.All:
		p.every(v.file, func(f *file, e int) {
			var hits int32
			if i := p.at[f.number]; i > 0 {
				hits = p.cells[int(p.accs[i-1].first)+e].hits
			}
			overlap(f, e, hits)
		})
	case q.Mode == Overlap:
		p.relevance(v.file, func(f *file, e int, hits int32, _ float64) {
			if hits > 0 {
				overlap(f, e, hits)
			}
		})
	case tokens > 0 && q.Mode == Recent:
		p.relevance(v.file, func(f *file, e int, hits int32, _ float64) {
			if hits > 0 {
				newest(f, e)
			}
		})
	case tokens > 0:
		p.relevance(v.file, func(f *file, e int, _ int32, score float64) { keep(f, e, score) })
	case q.Text == "" || q.Mode == Recent:
		// No words, only a filter: newest first.
		p.every(v.file, newest)
	}
}

// every calls fn for each entry that the view may read, of the files that pass.
func (p *page) every(pass func(*file) bool, fn func(f *file, e int)) {
	var own []int
	one := func(f *file) {
		if !pass(f) {
			return
		}
		own = f.readable(p.view, own[:0])
		for _, e := range own {
			fn(f, e)
		}
	}
	for _, f := range p.table.byNumber {
		if f != nil && p.table.files[f.path] == f && !p.over.hides(f.path) {
			one(f)
		}
	}
	if p.over != nil {
		for _, f := range p.over.files {
			one(f)
		}
	}
}

// document is a candidate as its file is now, and the document that it stands
// in: the whole or the excerpt, whichever the view may read. It is nil if the
// file is not what the index says of it, which makes the search start over with
// the present one.
func (p *page) document(c candidate) (*memory.Document, *memory.Entry, error) {
	f := c.file
	whole, ok := p.docs[f]
	if !ok {
		stamp, err := p.source.Stamp(f.path)
		if err == nil && stamp == f.stamp {
			whole, err = p.source.Load(f.path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		p.docs[f] = whole // nil if it has gone or changed
	}
	if whole != nil {
		// It may have changed since its stamp was looked at.
		if doc, e := f.of(whole, int(c.entry)); doc != nil && p.view.Readable(doc.Partition) && dupOf(e.Norm) == f.entries[c.entry].dup {
			return doc, e, nil
		}
	}
	p.stale[f.path] = true
	return nil, nil, nil
}

// phrases keeps the candidates in which every phrase occurs and no excluded one
// does: for that the text has to be read.
func (p *page) phrases(want, not []string) error {
	if len(want) == 0 && len(not) == 0 {
		return nil
	}
	// The words of a phrase must all be there: that leaves few to read.
	var need []string
	for _, phrase := range want {
		p.analyzer.tokens(phrase, func(t token) {
			if !t.part {
				need = append(need, t.term)
			}
		})
	}
	slices.Sort(need)
	need = slices.Compact(need)
	for _, term := range need[:min(len(need), maxTerms)] {
		if len(p.found) == 0 {
			break
		}
		set := p.with(sortWord, levelSection+1, term)
		if p.err != nil {
			return p.err
		}
		p.found = slices.DeleteFunc(p.found, func(c candidate) bool { return !set.has(c.file, int(c.entry)) })
	}
	slices.SortFunc(p.found, compare)
	read := make(map[*file]bool)
	for i, c := range p.found {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		if !read[c.file] && len(read) == maxPhraseFiles {
			p.note = fmt.Sprintf("more than %d files hold the words of the phrase, and only the best were read; add words or a filter", maxPhraseFiles)
			p.found = p.found[:i]
			break
		}
		read[c.file] = true
		_, e, err := p.document(c)
		if err != nil {
			return err
		}
		if e == nil {
			p.found[i].file = nil
			continue
		}
		text := squash(e.Text)
		if !containsAll(text, want) || containsAny(text, not) {
			p.found[i].file = nil
		}
	}
	p.found = slices.DeleteFunc(p.found, func(c candidate) bool { return c.file == nil })
	return nil
}

func containsAll(text string, phrases []string) bool {
	for _, s := range phrases {
		if !strings.Contains(text, s) {
			return false
		}
	}
	return true
}

func containsAny(text string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(s string) bool { return strings.Contains(text, s) })
}

// worst is a heap with the worst candidate on top.
type worst []candidate

func (w worst) Len() int           { return len(w) }
func (w worst) Less(i, j int) bool { return w[j].before(w[i]) }
func (w worst) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *worst) Push(x any)        { *w = append(*w, x.(candidate)) }
func (w *worst) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}

// best returns the first n candidates in order, without sorting the rest.
func best(all []candidate, n int) []candidate {
	if n >= len(all) {
		top := slices.Clone(all)
		slices.SortFunc(top, compare)
		return top
	}
	top := worst(slices.Clone(all[:n]))
	heap.Init(&top)
	for _, c := range all[n:] {
		if c.before(top[0]) {
			top[0] = c
			heap.Fix(&top, 0)
		}
	}
	slices.SortFunc(top, compare)
	return top
}

func compare(a, b candidate) int {
	switch {
	case a.before(b):
		return -1
	case b.before(a):
		return 1
	}
	return 0
}

// fold returns the page's candidates, entries of equal text as one, and for
// each the others.
func (p *page) fold(offset, limit int) (hits []candidate, others map[uint64][]candidate) {
	want := offset + limit
	for n := 2*want + 32; ; n *= 2 {
		top := best(p.found, n)
		seen := make(map[uint64]bool)
		hits = hits[:0]
		for _, c := range top {
			if d := c.file.entries[c.entry].dup; !seen[d] {
				seen[d] = true
				hits = append(hits, c)
			}
		}
		if len(hits) >= want || n >= len(p.found) {
			break
		}
	}
	hits = hits[min(offset, len(hits)):min(want, len(hits))]
	others = make(map[uint64][]candidate)
	for _, c := range hits {
		others[c.file.entries[c.entry].dup] = nil
	}
	for _, c := range p.found {
		d := c.file.entries[c.entry].dup
		if list, ok := others[d]; ok {
			others[d] = append(list, c)
		}
	}
	for _, c := range hits {
		d := c.file.entries[c.entry].dup
		list := slices.DeleteFunc(others[d], func(o candidate) bool { return o.file == c.file && o.entry == c.entry })
		slices.SortFunc(list, compare)
		others[d] = list
	}
	return hits, others
}
