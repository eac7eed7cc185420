package index

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// compare orders candidates by rank. The order is total: number of phrases,
// score, importance, newer time, path, position in the file.
func (p *page) compare(c, d candidate) int {
	if c.phrases != d.phrases {
		return cmp.Compare(d.phrases, c.phrases)
	}
	if c.score != d.score {
		return cmp.Compare(d.score, c.score)
	}
	cp, dp := p.over.variantAt(c.variant), p.over.variantAt(d.variant)
	ce, de := &cp.entries[c.entry], &dp.entries[d.entry]
	return cmp.Or(cmp.Compare(dp.importance(int(d.entry)), cp.importance(int(c.entry))),
		cmp.Compare(de.time, ce.time), p.inOrder(c, d))
}

// worstHeap is a heap with the worst candidate on top.
type worstHeap struct {
	*page
	all []candidate
}

func (w *worstHeap) Len() int           { return len(w.all) }
func (w *worstHeap) Less(i, j int) bool { return w.compare(w.all[i], w.all[j]) > 0 }
func (w *worstHeap) Swap(i, j int)      { w.all[i], w.all[j] = w.all[j], w.all[i] }
func (w *worstHeap) Push(x any)         { w.all = append(w.all, x.(candidate)) }
func (w *worstHeap) Pop() any           { panic("the heap only grows and replaces") }

// bestCandidates returns the first n candidates in order, with exact scores, and the
// number of all candidates. An upper bound of the score rejects most
// candidates, because an exact score requires reading the record.
func (p *page) bestCandidates(n int) (top []candidate, total int) {
	w := &worstHeap{page: p}
	low := func(score float64, phrases uint8) bool {
		if len(w.all) < n || n == 0 {
			return n == 0
		}
		worst := &w.all[0]
		return phrases < worst.phrases || phrases == worst.phrases && score < worst.score
	}
	skip := func(a *acc) bool {
		score, candidates := p.variantBound(a)
		if math.IsInf(score, 1) || !low(score, p.mostPhrases[a.variant]) {
			return false
		}
		total += candidates
		return true
	}
	p.eachMatch(skip, func(c candidate) {
		total++
		if low(p.scoreBound(c.score), c.phrases) {
			return
		}
		c.score, _ = p.exactScore(c)
		switch {
		case len(w.all) < n:
			heap.Push(w, c)
		case p.compare(c, w.all[0]) < 0:
			w.all[0] = c
			heap.Fix(w, 0)
		}
	})
	slices.SortFunc(w.all, p.compare)
	return w.all, total
}

// dupHash returns the hash that entries of equal text share.
func (p *page) dupHash(c candidate) uint64 { return p.entryAt(c).dup }

// foldDuplicates returns the candidates of the page, the number of all candidates, and
// the duplicates of each returned candidate, best first. Of several entries
// with equal text the page contains only the best.
func (p *page) foldDuplicates(offset, limit int) (hits []candidate, others map[uint64][]candidate, total int) {
	want := offset + limit
	for n := 2*want + 32; ; n *= 2 {
		var top []candidate
		top, total = p.bestCandidates(n)
		seen := make(map[uint64]bool)
		hits = hits[:0]
		for _, c := range top {
			if d := p.dupHash(c); !seen[d] {
				seen[d] = true
				hits = append(hits, c)
			}
		}
		if len(hits) >= want || n >= total {
			break
		}
	}
	hits = hits[min(offset, len(hits)):min(want, len(hits))]
	if len(hits) == 0 {
		return nil, nil, total
	}
	chosen := make(map[uint64]candidate)
	var some uint64    // set of the dup ends, modulo 64
	var set [16]uint64 // set of the dup ends, modulo 1024
	for _, c := range hits {
		chosen[p.dupHash(c)] = c
		some |= 1 << (c.dup & 63)
		set[c.dup>>6&15] |= 1 << (c.dup & 63)
	}
	others = make(map[uint64][]candidate)
	p.eachMatch(func(a *acc) bool { return a.some > 0 && a.dups&some == 0 }, func(c candidate) {
		if set[c.dup>>6&15]>>(c.dup&63)&1 == 0 {
			return
		}
		d := p.dupHash(c)
		if h, ok := chosen[d]; ok && (h.variant != c.variant || h.entry != c.entry) {
			c.score, _ = p.exactScore(c)
			others[d] = append(others[d], c)
		}
	})
	for _, list := range others {
		slices.SortFunc(list, p.compare)
	}
	return hits, others, total
}
