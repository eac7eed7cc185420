package index

import (
	"slices"

	"github.com/memwatchd/memwatchd/memory"
)

// A counts contains the numbers of the candidates, of those that contain all words of the
// query, and of their files.
type counts struct{ entries, withAll, files int }

// bestByWords returns the first n candidates by words, and counts all candidates.
func (s *matches) bestByWords(n int) (top []candidate, total counts) {
	// After a sort, top[:n] are the best candidates so far, and at most n new ones follow.
	sorted := false
	last := uint32(noFile) // file of the candidate before
	s.eachMatch(func(c candidate) {
		total.entries++
		if c.words == s.wanted {
			total.withAll++
		}
		if c.file != last {
			last = c.file
			total.files++
		}
		c.score = s.scoreOf(c.entryKey)
		// Its rank is at most that by its score, because successors only lower it.
		if sorted && s.compare(top[n-1], c) < 0 {
			return
		}
		top = append(top, s.rank(c))
		if len(top) == 2*n {
			slices.SortFunc(top, s.compare)
			top, sorted = top[:n], true
		}
	})
	slices.SortFunc(top, s.compare)
	return top[:min(n, len(top))], total
}

// rank returns a candidate with its score. If its successor is a candidate, too, the rank of the
// candidate is at most the one behind it.
func (s *matches) rank(c candidate) candidate {
	c.score = s.scoreOf(c.entryKey)
	if s.query.Mode != Relevance || len(s.words.terms) == 0 {
		return c
	}
	if of, ok := s.findSuccessor(c.entryKey); ok {
		if next, ok := s.candidateAt(of); ok {
			next.score = s.scoreOf(of)
			c.placeBehind(next)
		}
	}
	return c
}

// placeBehind gives a candidate at most the rank behind another one.
func (c *candidate) placeBehind(next candidate) {
	if c.phrases > next.phrases || c.phrases == next.phrases && c.score > next.score {
		c.phrases, c.score = next.phrases, next.score
	}
	c.superseded = 1
}

// A fold is a page of candidates, each of which stands for others.
type fold struct {
	hits   []candidate
	others map[uint64][]candidate // entries with the text of a hit, by dup, best first
	more   map[uint32]int         // other candidates of the file of a hit, by file number
	total  counts
	next   int // offset of the next page, or 0
}

// foldCandidates returns the candidates of the page. Of several entries with
// equal text the page contains only the best. Of a file that is one hit, it contains only
// the best whose text is in no better hit.
func (s *ranked) foldCandidates(offset, limit int) (f fold) {
	want := offset + max(limit, 0)
	for n := 2*want + 12; ; n *= 2 { // many candidates can be of one file
		var top []candidate
		top, f.total = s.bestCandidates(n)
		f.hits = f.hits[:0]
		dups, files := make(map[uint64]bool), make(map[uint32]bool)
		for _, c := range top {
			d := s.dupHash(c)
			if dups[d] || s.grouped(c) && files[c.file] {
				continue
			}
			dups[d], files[c.file] = true, true
			f.hits = append(f.hits, c)
		}
		if len(f.hits) > want || n >= f.total.entries {
			break
		}
	}
	if len(f.hits) > want && limit > 0 {
		f.next = want
	}
	f.hits = f.hits[min(offset, len(f.hits)):min(want, len(f.hits))]
	if len(f.hits) > 0 {
		s.countOthers(&f)
	}
	return f
}

// dupHash returns the hash of the text of a candidate, or the number of a file whose summary the
// candidate stands for.
func (s *ranked) dupHash(c candidate) uint64 {
	if s.isSummary(c) {
		return uint64(c.file)
	}
	return s.entryAt(c.entryKey).dup
}

// grouped reports whether the file of a candidate is one hit: if the query groups by
// file, and among the newest entries for a note whose entries have no times of their own.
func (s *ranked) grouped(c candidate) bool {
	if s.query.ByFile || s.query.Mode != Recent {
		return s.query.ByFile
	}
	v := s.table.fileAt(c.file)
	return v.Kind == memory.Note && v.oldest == v.newest
}

// countOthers adds the candidates that the hits of a page stand for.
func (s *ranked) countOthers(f *fold) {
	chosen := make(map[uint64]entryKey)
	var some [1 << 10]bool // by the end of the dup
	f.more, f.others = make(map[uint32]int), make(map[uint64][]candidate)
	for _, c := range f.hits {
		chosen[s.dupHash(c)] = c.entryKey
		some[c.dup%uint16(len(some))] = true
		if s.grouped(c) {
			f.more[c.file] = -1 // the hit itself
		}
	}
	s.eachCandidate(func(c candidate) {
		if n, ok := f.more[c.file]; ok {
			f.more[c.file] = n + 1
		}
		if !some[c.dup%uint16(len(some))] {
			return
		}
		d := s.dupHash(c)
		if h, ok := chosen[d]; ok && h != c.entryKey {
			f.others[d] = append(f.others[d], s.rank(c))
		}
	})
	for _, list := range f.others {
		slices.SortFunc(list, s.compare)
	}
}
