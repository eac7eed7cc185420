package index

import (
	"cmp"
	"math"

	"github.com/memwatchd/memwatchd/memory"
)

type candidate struct {
	entryKey
	score   float64
	dup     uint16 // end of the dup of the entry
	phrases uint8  // number of phrases of the query in the entry

	superseded uint8 // number of successors that are candidates; see [search.rank]
}

// eachMatch calls yield for every entry that matches the query and passes the
// filter, file by file. It omits the files with words that choose
// rejects. The scores lack the additions of [search.exactScore].
func (s *search) eachMatch(choose func(*acc) bool, yield func(candidate)) {
	q := s.query
	if q.Mode == Recent {
		all := yield
		yield = func(c candidate) {
			if s.timeOf(c.entryKey) != noTime {
				all(c)
			}
		}
	}
	switch {
	case q.Mode == Overlap && q.All:
		s.eachFiltered(yield)
	case len(s.words.terms) > 0:
		s.eachRanked(choose, yield)
	case q.Text == "" || q.Mode == Recent:
		// Without words, all entries that pass the filter match, newest first, and those
		// without a time last.
		s.eachFiltered(yield)
	}
}

// timeOf returns the time of an entry, or noTime if it has none but that of a copy.
func (s *search) timeOf(k entryKey) int64 {
	if s.copied(k.file) {
		return noTime
	}
	return s.entryAt(k).time
}

// manyFiles is the number of files that were copied, cloned or unpacked if they were
// saved in one minute.
const manyFiles = 50

// copied reports whether the only time of the entries of a file is that of a copy. It
// counts readable files only, so it reveals nothing about others.
func (s *search) copied(number uint32) bool {
	minute := s.table.fileAt(number).minute
	if minute == 0 {
		return false
	}
	many, known := s.minutes[minute]
	if !known {
		n := 0
		for _, p := range s.readable.partitions {
			n += s.table.minutes.get(savedIn{p.Partition, minute})
		}
		many = n >= manyFiles
		s.minutes[minute] = many
	}
	return many
}

// eachRanked yields each entry that contains some of the words, with its score
// without dates. In the mode Relevance, it also yields the first entry of a
// file of which only the head matches.
func (s *search) eachRanked(choose func(*acc) bool, yield func(candidate)) {
	for i := range s.accs {
		if i%1024 == 0 && s.stopped() {
			return
		}
		a := &s.accs[i]
		if a.out || a.n == 0 || !choose(a) {
			continue
		}
		if a.some == 0 {
			if c, ok := s.rankedEntry(a, 0); ok {
				yield(c)
			}
			continue
		}
		for e := range int(a.n) {
			if s.cells[int(a.first)+e].own == 0 {
				continue
			}
			if c, ok := s.rankedEntry(a, e); ok {
				yield(c)
			}
		}
	}
}

// stopped reports whether the search has failed, which it does when its context ends.
func (s *search) stopped() bool {
	s.err = cmp.Or(s.err, s.ctx.Err())
	return s.err != nil
}

// rankedEntry returns the candidate of an entry, and reports whether the entry
// is one.
func (s *search) rankedEntry(a *acc, e int) (candidate, bool) {
	if a.out || a.n == 0 {
		return candidate{}, false
	}
	k := entryKey{a.file, int32(e)}
	sections := s.query.Mode == Relevance // a word may occur in the section path
	file := a.score * tuning.file
	if a.some == 0 {
		pt := s.table.fileAt(a.file)
		return candidate{entryKey: k, score: file, dup: uint16(pt.entries[0].dup), phrases: s.phrases.counts[k]},
			e == 0 && sections && s.passesEntry(pt, 0) && s.passesText(k)
	}
	cells := s.cells[a.first : a.first+a.n]
	c := &cells[e]
	if c.own == 0 || c.marks&markOut != 0 || c.marks&markOwn == 0 && !sections ||
		a.checkEach && !s.passesRecord(&s.table.fileAt(a.file).entries[e]) ||
		!s.passesText(k) {
		return candidate{}, false
	}
	score := float64(c.own) + s.neighbourScore(a, e) + file
	return candidate{entryKey: k, score: score, dup: c.dup, phrases: s.phrases.counts[k]}, true
}

// neighbourScore returns the shares of the scores of its neighbours that an entry
// gets. An entry that follows a question probably answers it, the less of it the longer
// it is. Of other neighbours only those in a conversation are about the same.
func (s *search) neighbourScore(a *acc, e int) float64 {
	cells := s.cells[a.first : a.first+a.n]
	var before, after cell
	if e > 0 {
		before = cells[e-1]
	}
	if e+1 < len(cells) {
		after = cells[e+1]
	}
	if before.own+after.own == 0 {
		return 0
	}
	v, near := s.table.fileAt(a.file), 0.0
	if v.Kind == memory.Session {
		near = tuning.near
	}
	share := near
	if before.marks&markQuestion != 0 {
		share += (tuning.answer - near) * min(1, tuning.reply/float64(max(1, v.entries[e].length)))
	}
	return share*float64(before.own) + near*float64(after.own)
}

// eachFiltered yields, without a score, each entry that the view may read and that
// passes the filter.
func (s *search) eachFiltered(yield func(candidate)) {
	for n, v := range s.table.byNumber.all() {
		if n%1024 == 0 && s.stopped() {
			return
		}
		if v == nil || !s.view.Readable(v.partition) {
			continue
		}
		if pass, _ := s.passesFile(n); !pass {
			continue
		}
		for e := range v.entries {
			if k := (entryKey{n, int32(e)}); s.passesEntry(v, e) && s.passesText(k) {
				yield(candidate{entryKey: k, dup: uint16(v.entries[e].dup)})
			}
		}
	}
}

func (s *search) entryAt(k entryKey) *entry { return &s.table.fileAt(k.file).entries[k.entry] }

// scoreBound returns an upper bound of the exact score of a candidate with the given
// score, including rounding errors.
func (s *search) scoreBound(score float64) float64 {
	if s.query.Mode == Relevance && len(s.words.terms) > 0 {
		return score * s.maxFactor() * rounding
	}
	return math.Inf(1)
}

const rounding = 1 + 1e-9

// fileBound returns an upper bound of the exact scores in a file, and the number of
// its candidates. The bound is infinite if it requires reading each candidate.
func (s *search) fileBound(a *acc) (score float64, candidates int) {
	switch {
	case a.checkEach || a.some == 0 && s.filter.set != nil || s.phrases.passing != nil:
	case s.query.Mode == Relevance && a.some == 0:
		return s.scoreBound(a.score * tuning.file), 1 // for the head
	case s.query.Mode == Relevance:
		return s.scoreBound(float64(a.best)*(1+tuning.near+max(tuning.near, tuning.answer)) + a.score*tuning.file),
			int(a.pass)
	case s.query.Mode == Overlap && !s.query.All:
		r := s.table.fileAt(a.file)
		score, _ := overlapScore(s.query, a.weight, r.newest, r.importance, int(a.words), len(s.words.terms))
		return score + math.Abs(score)*(rounding-1), int(a.full)
	}
	return math.Inf(1), 0
}

func (s *search) exactScore(c candidate) (float64, Why) {
	q, e := s.query, s.entryAt(c.entryKey)
	switch {
	case q.Mode == Overlap:
		hits := 0
		if a, cells := s.cellOf(c); a != nil {
			hits = int(cells[c.entry].words)
		}
		return overlapScore(q, s.weightOf(c.file), e.time,
			s.table.fileAt(c.file).important.at(int(c.entry)), hits,
			len(s.words.terms))
	case q.Mode == Recent || len(s.words.terms) == 0:
		return float64(s.timeOf(c.entryKey)) / 1e9, Why{}
	}
	date := c.score * (s.dateFactor(c.file, e)*s.ownFactor(c.entryKey) - 1)
	return c.score + date, Why{Date: date}
}

// cellOf returns the accumulator and the cells of the file of a candidate, or
// nil if the file contains no query terms.
func (s *search) cellOf(c candidate) (a *acc, cells []cell) {
	if i := s.at[c.file]; i > 0 {
		a = &s.accs[i-1]
		cells = s.cells[a.first : a.first+a.n]
	}
	return a, cells
}

// explainScore returns the explanation of the score of a candidate. It includes the
// terms if they were recorded.
func (s *search) explainScore(c candidate) (w Why) {
	r := s.meaning.ranks[c.entryKey]
	if r == nil {
		return s.explainWords(c)
	}
	if r.words > 0 {
		c.score = r.score
		w = s.explainWords(c)
	}
	w.WordsRank, w.MeaningRank, w.Cosine = r.words, r.meaning, float64(r.cosine)
	return w
}

func (s *search) explainWords(c candidate) Why {
	a, cells := s.cellOf(c)
	if s.query.Mode != Relevance || a == nil {
		_, w := s.exactScore(c)
		return w
	}
	own, near, file := float64(cells[c.entry].own), s.neighbourScore(a, int(c.entry)), a.score*tuning.file
	score := c.score
	c.score = own + near + file
	exact, w := s.exactScore(c)
	w.Own, w.Near, w.File, w.Superseded = own, near, file, score-exact
	for i := range s.words.terms {
		if t, ok := s.terms[termOf{a.first + uint32(c.entry), i}]; ok {
			w.Terms = append(w.Terms, t)
		}
	}
	return w
}
