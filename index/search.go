package index

import (
	"context"
	"slices"

	"github.com/memwatchd/memwatchd/memory"
)

// A search is one query in progress. It reads the table, one state of the store,
// and an overlay that replaces the indexed versions of some files with the
// current ones.
type search struct {
	ctx        context.Context
	postings   *postingReader // nil if there is only the overlay
	table      *table
	over       *overlay
	degraded   bool // the index may lack files
	view       memory.View
	query      *Query
	words      words
	idfs       []float64 // of each word, among the entries
	wholeWords uint32    // number of words added to the sets
	absent     []bool    // whether nothing readable contains a whole term, by term
	analyzer   *analyzer
	partitions []*partitionStats // readable partitions with content
	filter     *preparedFilter

	files, entries  int // readable
	length, filelen float64

	*scratch
	terms map[termOf]TermScore // nil without Explain
	err   error                // the first failure; the results are then incomplete
}

// A termOf identifies the contribution of a term to the score of an entry.
type termOf struct {
	cell uint32
	term int
}

// A scratch is memory that consecutive searches reuse. It can be large. It
// contains no pointers, so it needs neither clearing nor scanning by the
// garbage collector.
type scratch struct {
	accs  []acc
	at    []int32 // by variant number: index in accs plus one, or hidden
	cells []cell
	list  []termPosting

	saturations saturations

	sets    []wordSet // by block number
	touched []uint32  // blocks with the current word
	ended   []uint32  // blocks with the last word
}

// A wordSet accumulates the slots of a block that contain all words of a query.
type wordSet struct {
	word slots  // lowest bits of the slots with the current word
	all  slots  // of those with all words before
	n    uint32 // number of these words
}

// hidden marks variants that the overlay replaces.
const hidden = -1

// A termPosting is one posting.
type termPosting struct {
	slots
	block uint32
	nth   uint32
	acc   int32
}

// An acc accumulates the data of the query terms for one variant, in 64 bytes, the
// size of a cache line.
type acc struct {
	score     float64
	weight    float64 // see [Query.Weights]
	dups      uint64  // set of the dups of its entries that contain query terms, modulo 64
	variant   uint32
	length    uint32  // in tokens
	first     uint32  // index of its first cell; it has one cell per entry
	n         uint32  // number of cells
	some      uint32  // number of entries that contain query terms; zero if only the head does
	pass      uint32  // number of these that pass the postings of the filter
	full      uint32  // number of those with a term in the entry itself
	best      float32 // highest own score
	tf        uint32  // frequency of the current term, in tenths, plus one
	hits      uint8   // maximum number of terms in an entry
	out       bool    // does not pass the filter, and only affects the statistics
	checkEach bool    // the record of each entry must be evaluated
	onPage    bool    // the page groups by file and has a hit of the variant
}

// A cell holds the own score of one entry, the number of query terms in it,
// its marks, and the end of its dup.
type cell struct {
	own   float32
	hits  uint8
	marks uint8
	dup   uint16
}

// Marks of a cell.
const (
	markOut      uint8 = 1 << iota // the postings of the filter exclude the entry
	markQuestion                   // the entry ends with a question
)

// spare holds the memory of a completed search. Its capacity is one, because a
// scratch can be as large as all other memory that the index needs for queries.
var spare = make(chan *scratch, 1)

func acquireScratch() *scratch {
	select {
	case s := <-spare:
		return s
	default:
		return new(scratch)
	}
}

func (s *scratch) releaseScratch() {
	select {
	case spare <- s:
	default:
	}
}

// close releases the resources of the search.
func (s *search) close() {
	s.scratch.releaseScratch()
	if s.postings != nil {
		s.postings.close()
	}
}

// reset prepares the memory for the given numbers of variants and blocks.
func (s *scratch) reset(variants, blocks int) {
	s.accs, s.cells, s.list = s.accs[:0], s.cells[:0], s.list[:0]
	s.touched, s.ended = s.touched[:0], s.ended[:0]
	if cap(s.sets) < blocks {
		s.sets = make([]wordSet, blocks+blocks/8)
	}
	s.sets = s.sets[:blocks]
	clear(s.sets)
	if cap(s.at) < variants {
		s.at = make([]int32, variants+variants/8)
	}
	s.at = s.at[:variants]
	clear(s.at)
}

// addCells adds n zero cells and returns the index of the first.
func (s *scratch) addCells(n int) uint32 {
	first := len(s.cells)
	s.cells = slices.Grow(s.cells, n)[:first+n]
	clear(s.cells[first:])
	return uint32(first)
}

// selectPartitions determines the readable partitions and their sums, and marks the
// variants that the overlay replaces.
func (s *search) selectPartitions() {
	for _, p := range s.view.Partitions() {
		part := partitionStats{Partition: p, prefix: prefixOf(p)}
		if have := s.table.partitions[p]; have != nil {
			part = *have
		}
		s.over.adjustSums(&part)
		if part.files == 0 {
			continue
		}
		s.partitions = append(s.partitions, &part)
		s.files += part.files
		s.entries += part.entries
		s.length += float64(part.length)
		s.filelen += float64(part.filelen)
	}
	s.reset(int(s.table.variants.length)+len(s.over.variants), int(s.table.blocks.length)+len(s.over.blocks))
	for path := range s.over.paths {
		if f := s.table.files.get(path); f != nil {
			for _, p := range f.variants {
				s.at[p.number] = hidden
			}
		}
	}
}

// eachBlock calls fn for every block in the readable partitions that contains the
// term with a key, including the blocks of the overlay.
func (s *search) eachBlock(key string, fn func(block uint32, r ref, v slots)) {
	for _, p := range s.partitions {
		if s.postings != nil && s.err == nil {
			err := s.postings.eachPosting(s.ctx, []byte(p.prefix+key), func(number uint32, v slots) {
				if s.visible(number) {
					fn(number, *s.table.blocks.at(number), v)
				}
			})
			if err != nil {
				s.err = s.damaged(err)
				return
			}
		}
		s.over.eachBlock(p.prefix+key, fn)
	}
}

// eachEntry calls fn for every entry in the readable partitions that has the term
// with a key.
func (s *search) eachEntry(key string, fn func(entryKey)) {
	s.eachBlock(key, func(_ uint32, r ref, v slots) {
		for v != 0 {
			slot, _ := v.next()
			v = v.without(slot)
			if e := entryOfSlot(int(r.nth), slot); e >= 0 {
				fn(entryKey{r.variant, int32(e)})
			}
		}
	})
}

// visible reports whether a block of bleve is in use and not replaced by the
// overlay.
func (s *search) visible(block uint32) bool {
	if block >= s.table.blocks.length {
		return false
	}
	v := s.table.blocks.at(block).variant
	return v != noVariant && s.at[v] != hidden
}

// damaged marks an error of bleve as damage of the index, unless the context
// has ended.
func (s *search) damaged(err error) error {
	if err == nil || s.ctx.Err() != nil {
		return err
	}
	return errDamaged{err}
}

// accumulatorOf returns the index of the accumulator of a variant, which it adds if
// necessary.
func (s *search) accumulatorOf(number uint32) int32 {
	if i := s.at[number]; i > 0 {
		return i - 1
	}
	row := s.over.rowAt(number)
	pass, ask := s.filter.passesVariant(s.over, number)
	a := acc{variant: number, length: row.length, weight: s.weightOf(number), out: !pass, checkEach: ask}
	if pass {
		a.n = row.entries
		a.first = s.addCells(int(row.entries))
	}
	s.accs = append(s.accs, a)
	s.at[number] = int32(len(s.accs))
	return int32(len(s.accs) - 1)
}

// weightOf returns the factor of the scores in a variant.
func (s *search) weightOf(variant uint32) float64 {
	if len(s.query.Weights) > 0 {
		if weight, ok := s.query.Weights[s.over.variantAt(variant).partition.Owner]; ok {
			return weight
		}
	}
	return 1
}

// scoreTerms adds the score of each term to the entries that contain it, in their cells, and to their variants.
func (s *search) scoreTerms() {
	s.saturations.reset(norms{tuning.k1, tuning.b, max(1, s.length/float64(max(s.entries, 1)))})
	files := norms{tuning.fileK1, tuning.fileB, max(1, s.filelen/float64(max(s.files, 1)))}
	var touched []int32
	for i := 0; i < len(s.words.terms); i++ { // corrections insert terms
		s.err = s.ctx.Err()
		if s.err != nil {
			return
		}
		t := s.words.terms[i]
		s.list, touched = s.list[:0], touched[:0]
		df, absent := 0, false
		s.eachBlock(termKey(kindWord, t.term), func(block uint32, r ref, v slots) {
			n := s.accumulatorOf(r.variant)
			if a := &s.accs[n]; a.tf == 0 {
				a.tf = 1 // only a mark: each level adds at least ten
				touched = append(touched, n)
			}
			s.list = append(s.list, termPosting{v, block, r.nth, n})
			if r.nth == 0 {
				v = v.without(0) // the head is not an entry
			}
			df += v.count()
			if t.whole || t.instead {
				s.addWord(block, v)
			}
		})
		switch {
		case s.err != nil:
		case t.prefix != "":
			s.expandPrefix(i)
		case len(s.list) == 0:
			s.correctTerm(i)
		}
		if s.err != nil {
			return
		}
		if t.whole || t.instead {
			absent = len(s.list) == 0
			if i+1 == len(s.words.terms) || !s.words.terms[i+1].instead {
				s.endWord()
			}
		}
		s.absent = append(s.absent, absent)
		rarity := idf(s.entries, df)
		s.idfs = append(s.idfs, rarity)
		weight := t.weight * rarity
		for k := range s.list {
			f := &s.list[k]
			if a := &s.accs[f.acc]; !a.out && weight > 0 {
				s.addPosting(a, f, i, weight*a.weight)
			}
		}
		weight = t.weight * idf(s.files, len(touched))
		for _, n := range touched {
			a := &s.accs[n]
			if !a.out {
				a.score += weight * a.weight * files.saturate(float64(a.tf-1)/10, a.length)
			}
			a.tf = 0
		}
	}
}

// addPosting adds one posting of the i-th term to the entries of its block.
func (s *search) addPosting(a *acc, f *termPosting, i int, weight float64) {
	l := s.over.leafAt(f.block)
	first := int(a.first) + entryOfSlot(int(f.nth), 0)
	for v := f.slots; v != 0; {
		slot, lv := v.next()
		v = v.without(slot)
		a.tf += uint32(levelTenths[lv])
		if slot == 0 && f.nth == 0 {
			continue
		}
		score := weight * s.saturations.at(lv, l.lengths[slot])
		c := &s.cells[first+slot]
		if c.own == 0 {
			c.dup = l.dups[slot]
			if s.filter.set != nil && !s.filter.set.hasSlot(f.block, slot) {
				c.marks |= markOut
			}
			if l.questions>>slot&1 != 0 {
				c.marks |= markQuestion
			}
			a.dups |= 1 << (c.dup & 63)
			a.some++
			if c.marks&markOut == 0 {
				a.pass++
			}
		}
		c.own += float32(score)
		a.best = max(a.best, c.own)
		if lv > levelSection {
			if c.hits == 0 && c.marks&markOut == 0 {
				a.full++
			}
			c.hits++
			a.hits = max(a.hits, c.hits)
		}
		if s.terms != nil {
			s.terms[termOf{uint32(first + slot), i}] = TermScore{Term: s.words.terms[i].term, Idf: weight,
				Tf: float64(levelTenths[lv]) / 10, Score: score}
		}
	}
}
