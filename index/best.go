package index

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// compare orders candidates by rank. The order is total: score, importance,
// newer time, path, position in the file.
func (p *page) compare(c, d candidate) int {
	if c.score != d.score {
		return cmp.Compare(d.score, c.score)
	}
	cp, dp := p.over.part(c.part), p.over.part(d.part)
	ce, de := &cp.entries[c.entry], &dp.entries[d.entry]
	return cmp.Or(cmp.Compare(dp.importance(int(d.entry)), cp.importance(int(c.entry))),
		cmp.Compare(de.time, ce.time), p.inOrder(c, d))
}

// worst is a heap with the worst candidate on top.
type worst struct {
	*page
	all []candidate
}

func (w *worst) Len() int           { return len(w.all) }
func (w *worst) Less(i, j int) bool { return w.compare(w.all[i], w.all[j]) > 0 }
func (w *worst) Swap(i, j int)      { w.all[i], w.all[j] = w.all[j], w.all[i] }
func (w *worst) Push(x any)         { w.all = append(w.all, x.(candidate)) }
func (w *worst) Pop() any           { panic("the heap only grows and replaces") }

// best returns the first n candidates in order, with exact scores, and the
// number of all candidates. An upper bound of the score rejects most
// candidates, because an exact score requires reading the record.
func (p *page) best(n int) (top []candidate, total int) {
	w := &worst{page: p}
	low := func(score float64) bool { return len(w.all) == n && (n == 0 || score < w.all[0].score) }
	skip := func(a *acc) bool {
		score, candidates := p.most(a)
		if math.IsInf(score, 1) || !low(score) {
			return false
		}
		total += candidates
		return true
	}
	p.matches(skip, func(c candidate) {
		total++
		if low(p.bound(c.score)) {
			return
		}
		c.score, _ = p.exact(c)
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

// dup returns the hash that entries of equal text share.
func (p *page) dup(c candidate) uint64 { return p.entry(c).dup }

// fold returns the candidates of the page, the number of all candidates, and
// the duplicates of each returned candidate, best first. Of several entries
// with equal text the page contains only the best.
func (p *page) fold(offset, limit int) (hits []candidate, others map[uint64][]candidate, total int) {
	want := offset + limit
	for n := 2*want + 32; ; n *= 2 {
		var top []candidate
		top, total = p.best(n)
		seen := make(map[uint64]bool)
		hits = hits[:0]
		for _, c := range top {
			if d := p.dup(c); !seen[d] {
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
		chosen[p.dup(c)] = c
		some |= 1 << (c.dup & 63)
		set[c.dup>>6&15] |= 1 << (c.dup & 63)
	}
	others = make(map[uint64][]candidate)
	p.matches(func(a *acc) bool { return a.some > 0 && a.dups&some == 0 }, func(c candidate) {
		if set[c.dup>>6&15]>>(c.dup&63)&1 == 0 {
			return
		}
		d := p.dup(c)
		if h, ok := chosen[d]; ok && (h.part != c.part || h.entry != c.entry) {
			c.score, _ = p.exact(c)
			others[d] = append(others[d], c)
		}
	})
	for _, list := range others {
		slices.SortFunc(list, p.compare)
	}
	return hits, others, total
}
