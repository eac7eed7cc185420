package index

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

// A candidate is an entry that matches the query and passes the filter.
type candidate struct {
	entryKey
	score   float64
	dup     uint16 // end of the dup of the entry, 0 if only the head matches
	phrases uint8  // number of phrases of the query in the entry
	words   uint8  // number of whole words of the query in the entry

	superseded uint8 // 1 if its successor is a candidate, too; see [matches.rank]
}

// eachMatch calls yield for every candidate, without its score, file by file.
func (s *matches) eachMatch(yield func(candidate)) {
	q := s.query
	add := func(c candidate) {
		if q.Mode != Recent || s.timeOf(c.entryKey) != noTime {
			yield(c)
		}
	}
	switch {
	case len(s.words.terms) > 0 && !(q.Mode == Overlap && q.All):
		s.eachRanked(add)
	case q.Text == "", q.Mode != Relevance:
		// Without words, all entries that pass the filter match, newest first, and those
		// without a time last.
		s.eachFiltered(add)
	}
}

// eachRanked yields each entry that contains some of the words. In the mode Relevance, it
// also yields the first entry of a file of which only the head matches.
func (s *matches) eachRanked(yield func(candidate)) {
	for i := range s.accs {
		if i%1024 == 0 && s.stopped() {
			return
		}
		a := &s.accs[i]
		n := a.n
		if a.some == 0 {
			n = min(n, 1)
		}
		for e := range int(n) {
			if a.some > 0 && s.cells[int(a.first)+e].own == 0 {
				continue
			}
			if c, ok := s.rankedEntry(a, e); ok {
				yield(c)
			}
		}
	}
}

// eachFiltered yields each entry that the view may read and that passes the filter.
func (s *matches) eachFiltered(yield func(candidate)) {
	for n, v := range s.table.byNumber.all() {
		if n%1024 == 0 && s.stopped() {
			return
		}
		if v == nil || !s.view.Readable(v.partition) || !s.passesFile(n) {
			continue
		}
		for e := range v.entries {
			if k := (entryKey{n, int32(e)}); s.passesEntry(k) {
				yield(candidate{entryKey: k, dup: uint16(v.entries[e].dup), phrases: s.phrases.counts[k]})
			}
		}
	}
}

// rankedEntry returns the candidate of an entry, and reports whether the entry
// is one.
func (s *matches) rankedEntry(a *acc, e int) (c candidate, ok bool) {
	if e >= int(a.n) {
		return c, false
	}
	cell, k := &s.cells[int(a.first)+e], entryKey{a.file, int32(e)}
	isHead := a.some == 0 && e == 0
	sections := s.query.Mode == Relevance // a word may occur in the section path
	if cell.own == 0 && !isHead || !cell.inEntry && !sections || !s.passesEntry(k) {
		return c, false
	}
	return candidate{entryKey: k, dup: cell.dup, phrases: s.phrases.counts[k],
		words: cell.words}, true
}

func (s *matches) candidateAt(k entryKey) (c candidate, ok bool) {
	if n := s.at[k.file]; n > 0 {
		c, ok = s.rankedEntry(&s.accs[n-1], int(k.entry))
	}
	return c, ok
}

// scoreOf returns the score of an entry.
func (s *matches) scoreOf(k entryKey) float64 {
	switch {
	case s.query.Mode == Overlap:
		score, _ := s.overlapScore(k)
		return score
	case s.query.Mode == Recent || len(s.words.terms) == 0:
		return float64(s.timeOf(k)) / 1e9
	}
	own, near, file := s.partsOf(k)
	score := own + near + file
	if s.own || s.dates.asksTime || len(s.dates.periods) > 0 {
		score *= s.dateFactor(k) * s.ownFactor(k)
	}
	return score
}

// partsOf returns the parts of the score of an entry by words: its own, that of its
// neighbours and that of its file.
func (s *matches) partsOf(k entryKey) (own, near, file float64) {
	if i := s.at[k.file]; i > 0 {
		a := &s.accs[i-1]
		own, near, file = float64(s.cells[int(a.first)+int(k.entry)].own), s.neighbourScore(a, int(k.entry)), a.score*tuning.file
	}
	return own, near, file
}

// neighbourScore returns the shares of the scores of its neighbours that an entry
// gets. An entry that follows a question probably answers it, the less of it the longer
// it is. Of other neighbours only those in a conversation are about the same.
func (s *matches) neighbourScore(a *acc, e int) float64 {
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
	if before.question {
		share += (tuning.answer - near) * min(1, tuning.reply/float64(max(1, v.entries[e].length)))
	}
	return share*float64(before.own) + near*float64(after.own)
}

// dateFactor returns the factor of an entry for the periods and the time that the query names.
func (s *request) dateFactor(k entryKey) float64 {
	f, e := 1.0, s.entryAt(k)
	for _, n := range s.dates.periods {
		switch inside := n.first <= e.time && e.time <= n.last; {
		case e.time == noTime, s.copied(k.file):
		case inside:
			f = max(f, tuning.period)
		case n.isDay:
			days := math.Abs(float64(e.time-n.first)) / float64(24*time.Hour)
			f = max(f, 1+(tuning.period-1)*(1-days/tuning.dayFade))
		}
	}
	if s.dates.asksTime && e.flags&flagTimed != 0 {
		f *= tuning.timed
	}
	return f
}

// ownKinds are the kinds of files about their owner.
var ownKinds = []memory.Kind{memory.Longterm, memory.Items, memory.Identity}

// ownFactor returns the factor of an entry, of its score and of its cover. A question in the
// first person asks for what the owner of the memory wrote about himself: long-term memory
// comes before a reference note.
func (s *request) ownFactor(k entryKey) float64 {
	if s.own && slices.Contains(ownKinds, s.table.fileAt(k.file).Kind) {
		return tuning.mine
	}
	return 1
}

// overlapScore returns the score of an entry by [Overlap], and its parts.
func (s *matches) overlapScore(k entryKey) (float64, Why) {
	hits := 0
	if i := s.at[k.file]; i > 0 {
		hits = int(s.cells[int(s.accs[i-1].first)+int(k.entry)].words)
	}
	return overlapScore(s.query, s.weightOf(k.file), s.entryAt(k).time, s.table.fileAt(k.file).important.at(int(k.entry)),
		hits, len(s.words.terms))
}

// overlapScore returns the exact score of an entry whose text or tags contain
// the given number of hits among the distinct tokens of the query. weight is that of
// its partition.
func overlapScore(q *Query, weight float64, time int64, importance float64, hits, tokens int) (float64, Why) {
	var w Why
	if tokens > 0 {
		w.Text = float64(hits) / float64(tokens)
	}
	if time != noTime {
		w.Recency = 1 / (1 + ageHours(q.AsOf.UnixNano(), time))
	}
	w.Importance = importance
	w.Text, w.Recency, w.Importance = w.Text*weight, w.Recency*weight, w.Importance*weight
	return w.Text*(1-q.Bias) + w.Recency*q.Bias + w.Importance*0.15, w
}

// ageHours returns the age of t in hours, at least 0.
func ageHours(now, t int64) float64 {
	if t >= now {
		return 0
	}
	return float64(now-t) / 3.6e12
}

func (s *matches) explainWords(c candidate) (w Why) {
	if s.query.Mode == Overlap {
		_, w = s.overlapScore(c.entryKey)
		return w
	}
	if s.query.Mode != Relevance || s.at[c.file] == 0 {
		return w
	}
	w.Own, w.Near, w.File = s.partsOf(c.entryKey)
	exact := s.scoreOf(c.entryKey)
	w.Date, w.Superseded = exact-w.Own-w.Near-w.File, c.score-exact
	cell := s.accs[s.at[c.file]-1].first + uint32(c.entry)
	for i := range s.words.terms {
		if t, ok := s.terms[termOf{cell, i}]; ok {
			w.Terms = append(w.Terms, t)
		}
	}
	return w
}

// compare orders candidates by rank. The order is total: number of phrases,
// score, entries before those that they supersede, importance, newer time,
// path, position in the file.
func (s *matches) compare(c, d candidate) int {
	if c.phrases != d.phrases {
		return cmp.Compare(d.phrases, c.phrases)
	}
	if c.score != d.score {
		return cmp.Compare(d.score, c.score)
	}
	if c.superseded != d.superseded {
		return cmp.Compare(c.superseded, d.superseded)
	}
	cp, dp := s.table.fileAt(c.file), s.table.fileAt(d.file)
	return cmp.Or(cmp.Compare(dp.important.at(int(d.entry)), cp.important.at(int(c.entry))),
		cmp.Compare(s.timeOf(d.entryKey), s.timeOf(c.entryKey)), s.inOrder(c.entryKey, d.entryKey))
}
