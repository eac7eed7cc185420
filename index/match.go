package index

import (
	"cmp"
	"math"
)

// A candidate is an entry that matches the query.
type candidate struct {
	entryKey
	score   float64
	dup     uint16 // end of the dup of the entry
	phrases uint8  // number of phrases of the query in the entry

	superseded uint8 // number of successors that are candidates; see [page.rank]
}

// A choice selects entries of a variant: none if ok is false, otherwise those whose
// dup ends as one in dups.
type choice func(a *acc) (dups *dupSet, ok bool)

// chooseAll is the choice of all entries.
func chooseAll(*acc) (*dupSet, bool) { return nil, true }

// A dupSet is a set of the ends of dups, modulo 1024. The nil set contains all.
type dupSet [16]uint64

func (s *dupSet) add(dup uint16)      { s[dup>>6&15] |= 1 << (dup & 63) }
func (s *dupSet) has(dup uint16) bool { return s == nil || s[dup>>6&15]>>(dup&63)&1 != 0 }

// eachMatch calls yield for every entry that matches the query and passes the
// filter, variant by variant. Of variants with words it omits the entries that
// choose rejects. The scores lack the additions of [page.exactScore].
func (p *page) eachMatch(choose choice, yield func(candidate)) {
	if len(p.phrases) > 0 {
		plain := yield
		yield = func(c candidate) {
			c.phrases = p.phrases[c.entryKey]
			plain(c)
		}
	}
	if p.filtered {
		for _, c := range p.chosen {
			yield(c)
		}
		return
	}
	q := p.query
	timed := func(c candidate) {
		if p.entryAt(c.entryKey).time != noTime {
			yield(c)
		}
	}
	switch {
	case q.Mode == Overlap && q.All:
		p.eachFiltered(yield)
	case q.Mode == Recent && len(p.words.terms) > 0:
		p.eachRanked(choose, timed)
	case len(p.words.terms) > 0:
		p.eachRanked(choose, yield)
	case q.Text == "" || q.Mode == Recent:
		// Without words, all entries with a time that pass the filter match,
		// newest first.
		p.eachFiltered(timed)
	}
}

// eachRanked yields each entry that contains some of the words, with its score
// without recency. In the mode Relevance, it also yields the first entry of a
// file of which only the head matches.
func (p *page) eachRanked(choose choice, yield func(candidate)) {
	for i := range p.accs {
		if i%1024 == 0 && p.stopped() {
			return
		}
		a := &p.accs[i]
		if a.out || a.n == 0 {
			continue
		}
		dups, ok := choose(a)
		if !ok {
			continue
		}
		if a.some == 0 {
			if c, ok := p.rankedEntry(a, 0); ok {
				yield(c)
			}
			continue
		}
		for e := range int(a.n) {
			if c := &p.cells[int(a.first)+e]; c.own == 0 || !dups.has(c.dup) {
				continue
			}
			if c, ok := p.rankedEntry(a, e); ok {
				yield(c)
			}
		}
	}
}

// stopped reports whether the search has failed, which it does when its context ends.
func (p *page) stopped() bool {
	p.err = cmp.Or(p.err, p.ctx.Err())
	return p.err != nil
}

// rankedEntry returns the candidate of an entry, and reports whether the entry
// is one.
func (p *page) rankedEntry(a *acc, e int) (candidate, bool) {
	if a.out || a.n == 0 {
		return candidate{}, false
	}
	sections := p.query.Mode == Relevance // a word may occur in the section path
	file := a.score * tuning.file
	if a.some == 0 {
		pt := p.over.variantAt(a.variant)
		return candidate{entryKey: entryKey{a.variant, 0}, score: file, dup: uint16(pt.entries[0].dup)},
			e == 0 && sections && p.filter.passesEntry(pt, 0)
	}
	cells := p.cells[a.first : a.first+a.n]
	c := &cells[e]
	if c.own == 0 || c.marks&markOut != 0 || c.hits == 0 && !sections ||
		a.checkEach && !p.filter.passesRecord(&p.over.variantAt(a.variant).entries[e]) {
		return candidate{}, false
	}
	score := float64(c.own) + neighbourScore(cells, e) + file
	return candidate{entryKey: entryKey{a.variant, int32(e)}, score: score, dup: c.dup}, true
}

// neighbourScore returns the shares of the scores of its neighbours that an entry
// gets. An entry that follows a question probably answers it.
func neighbourScore(cells []cell, e int) (sum float64) {
	if e > 0 {
		share := tuning.near
		if cells[e-1].marks&markQuestion != 0 {
			share = tuning.answer
		}
		sum += share * float64(cells[e-1].own)
	}
	if e+1 < len(cells) {
		sum += tuning.near * float64(cells[e+1].own)
	}
	return sum
}

// eachFiltered yields, without a score, each entry that the view may read and that
// passes the filter.
func (p *page) eachFiltered(yield func(candidate)) {
	one := func(pt *variant) {
		if !p.view.Readable(pt.partition) {
			return
		}
		if pass, _ := p.filter.passesVariant(p.over, pt.number); !pass {
			return
		}
		for e := range pt.entries {
			if p.filter.passesEntry(pt, e) {
				yield(candidate{entryKey: entryKey{pt.number, int32(e)}, dup: uint16(pt.entries[e].dup)})
			}
		}
	}
	for n, pt := range p.table.variants.all() {
		if n%1024 == 0 && p.stopped() {
			return
		}
		if pt != nil && p.at[n] != hidden {
			one(pt)
		}
	}
	for _, pt := range p.over.variants {
		one(pt)
	}
}

func (p *page) entryAt(k entryKey) *entry { return &p.over.variantAt(k.variant).entries[k.entry] }

// scoreBound returns an upper bound of the exact score of a candidate with the given
// score, including rounding errors.
func (p *page) scoreBound(score float64) float64 {
	if p.query.Mode == Relevance && len(p.words.terms) > 0 {
		return score * p.maxDateFactor() * (1 + tuning.recency) * rounding
	}
	return math.Inf(1)
}

const rounding = 1 + 1e-9

// variantBound returns an upper bound of the exact scores in a variant, and the number of
// its candidates. The bound is infinite if it requires reading each candidate.
func (p *page) variantBound(a *acc) (score float64, candidates int) {
	switch {
	case a.checkEach || a.some == 0 && p.filter.set != nil:
	case p.query.Mode == Relevance && a.some == 0:
		return p.scoreBound(a.score * tuning.file), 1 // for the head
	case p.query.Mode == Relevance:
		return p.scoreBound(float64(a.best)*(1+tuning.near+max(tuning.near, tuning.answer)) + a.score*tuning.file), int(a.pass)
	case p.query.Mode == Overlap && !p.query.All:
		r := p.over.rowAt(a.variant)
		score, _ := overlapScore(p.query, a.weight, r.newest, r.importance, int(a.hits), len(p.words.terms))
		return score + math.Abs(score)*(rounding-1), int(a.full)
	}
	return math.Inf(1), 0
}

// exactScore returns the exact score of a candidate and its explanation.
func (p *page) exactScore(c candidate) (float64, Why) {
	q, e := p.query, p.entryAt(c.entryKey)
	switch {
	case q.Mode == Overlap:
		hits := 0
		if a, cells := p.cellOf(c); a != nil {
			hits = int(cells[c.entry].hits)
		}
		return overlapScore(q, p.weightOf(c.variant), e.time, p.over.variantAt(c.variant).important.at(int(c.entry)), hits,
			len(p.words.terms))
	case q.Mode == Recent || len(p.words.terms) == 0:
		return float64(e.time) / 1e9, Why{}
	}
	date := c.score * (p.dateFactor(e) - 1)
	recency := (c.score + date) * tuning.recency * freshness(q.AsOf.UnixNano(), e.time)
	return c.score + date + recency, Why{Date: date, Recency: recency}
}

// cellOf returns the accumulator and the cells of the variant of a candidate, or
// nil if the variant contains no query terms.
func (p *page) cellOf(c candidate) (a *acc, cells []cell) {
	i := p.at[c.variant]
	if i <= 0 {
		return nil, nil
	}
	a = &p.accs[i-1]
	return a, p.cells[a.first : a.first+a.n]
}

// explainScore returns the explanation of the score of a candidate. It includes the
// terms if they were recorded.
func (p *page) explainScore(c candidate) (w Why) {
	r := p.ranks[c.entryKey]
	if r == nil {
		return p.explainWords(c)
	}
	if r.words > 0 {
		c.score = r.score
		w = p.explainWords(c)
	}
	w.WordsRank, w.MeaningRank, w.Cosine = r.words, r.meaning, float64(r.cosine)
	return w
}

// explainWords returns the explanation of the score of a candidate by words.
func (p *page) explainWords(c candidate) Why {
	a, cells := p.cellOf(c)
	if p.query.Mode != Relevance || a == nil {
		_, w := p.exactScore(c)
		return w
	}
	own, near, file := float64(cells[c.entry].own), neighbourScore(cells, int(c.entry)), a.score*tuning.file
	score := c.score
	c.score = own + near + file
	exact, w := p.exactScore(c)
	w.Own, w.Near, w.File, w.Superseded = own, near, file, score-exact
	for i := range p.words.terms {
		if t, ok := p.terms[termOf{a.first + uint32(c.entry), i}]; ok {
			w.Terms = append(w.Terms, t)
		}
	}
	return w
}
