package index

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// A hybrid search ranks the entries by words and by meaning, and adds the scores of
// both lists after it has scaled them to at most 1 (Bruch, Gai and Ingber 2023). The
// share of the meaning follows the formula of the words: an entry gets shares of its
// neighbours and of the best entry of its file. Each list contains readable entries
// that pass the filter, and nothing else.
//
// Reciprocal ranks in place of scores are about as good with these shares, but put
// the nearest entry behind more than a hundred others if it has none of the words.
const (
	fuseDepth = 200 // entries of each list whose scores are added
	fuseKeep  = 10  // of the first ranks by words, entries with all words stay within as many

	fuseMeaning = 0.4  // weight of the score by meaning; the one by words has 1
	fuseVague   = 0.55 // in place of fuseMeaning if no entry has half of a short query
	fuseMargin  = 0.01 // added to cosines, so that the last of the list has a score
)

// A ranking contains the ranks of an entry in the two lists, from 1, or 0 if it is
// not in the list.
type ranking struct {
	words, meaning int
	score          float64 // by words
	cosine         float32
}

// WordsOnly reports whether a query is so exact that its meaning adds nothing: it
// has a phrase or a prefix, at most two words, no letters, or is one identifier or
// path.
func WordsOnly(text string) bool {
	text = quotes.Replace(text)
	phrases, _ := splitPhrases(text)
	fields := strings.Fields(text)
	hasRun := strings.ContainsFunc(text, func(r rune) bool { return classOf(r) >= classCJK })
	hasLetter := hasRun || strings.ContainsFunc(text, func(r rune) bool { return classOf(r) == classLetter })
	return len(phrases) > 0 || !hasWords(text, 3) || !hasLetter || len(fields) == 1 && !hasRun ||
		slices.ContainsFunc(fields, func(s string) bool { return len(s) > 1 && strings.HasSuffix(s, "*") })
}

// rankMeaning sets the entries that are most similar to the query in meaning, in
// order.
func (p *page) rankMeaning(phrases, excluded []string) {
	type found struct {
		Similar
		memory.Partition
	}
	var all []found
	for _, part := range p.partitions {
		accept := func(k TextKey) bool {
			ok := false
			p.eachText(part.Partition, k, func(entryKey) { ok = true })
			return ok
		}
		for _, s := range p.query.Nearest(part.Partition, fuseDepth, accept) {
			all = append(all, found{s, part.Partition})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Key, b.Key))
	})
	p.ranks = make(map[entryKey]*ranking)
	for i, f := range all[:min(len(all), fuseDepth)] {
		var same []entryKey
		p.eachText(f.Partition, f.Key, func(k entryKey) { same = append(same, k) })
		slices.SortFunc(same, p.inOrder)
		for _, k := range same {
			if !p.passesPhrases(k, phrases, excluded) {
				continue
			}
			c := candidate{entryKey: k, dup: uint16(p.entryAt(k).dup)}
			if !p.query.MeaningOnly {
				c.phrases = p.phrases[c.entryKey]
			}
			p.meaning = append(p.meaning, c)
			p.ranks[c.entryKey] = &ranking{meaning: i + 1, cosine: f.Cosine}
		}
	}
}

// passesPhrases reports whether an entry contains no excluded phrase and, if the
// query requires its phrases, all of them.
func (p *page) passesPhrases(k entryKey, phrases, excluded []string) bool {
	if !p.query.Exact {
		phrases = nil
	}
	if len(phrases)+len(excluded) == 0 {
		return true
	}
	_, e := p.resolveEntry(k)
	if e == nil {
		return false
	}
	text := normalizePhrase(e.Text)
	contains := func(phrase string) bool { return strings.Contains(text, phrase) }
	lacks := func(phrase string) bool { return !contains(phrase) }
	return !slices.ContainsFunc(excluded, contains) && !slices.ContainsFunc(phrases, lacks)
}

// eachText calls yield for each entry of a readable partition whose text has the key
// and which passes the filter.
func (p *page) eachText(part memory.Partition, key TextKey, yield func(entryKey)) {
	one := func(k entryKey) {
		v := p.over.variantAt(k.variant)
		pass, known := p.passing[k.variant]
		if !known {
			if p.passing == nil {
				p.passing = map[uint32]bool{}
			}
			pass, _ = p.filter.passesVariant(p.over, k.variant)
			p.passing[k.variant] = pass
		}
		if pass && p.filter.passesEntry(v, int(k.entry)) {
			yield(k)
		}
	}
	for k := range p.table.texts.entriesOf(part, key) {
		if p.at[k.variant] != hidden {
			one(k)
		}
	}
	for _, v := range p.over.variants {
		if v.partition != part {
			continue
		}
		for e, k := range v.keys {
			if k == key {
				one(entryKey{v.number, int32(e)})
			}
		}
	}
}

// bestFused returns the first n candidates of both lists together, with their fused
// scores, and counts all candidates. The entries of the two lists come first; those
// with a lower rank by words follow in the order of the words.
func (p *page) bestFused(n int) ([]candidate, counts) {
	var list []candidate
	var total counts
	if !p.query.MeaningOnly {
		want := fuseDepth
		if n > fuseDepth {
			want = n + len(p.meaning) // those with a rank by meaning are not in the rest
		}
		list, total = p.bestByWords(want)
	}
	for _, r := range p.ranks {
		r.words = 0
	}
	var all, rest []candidate
	for i, c := range list {
		r := p.ranks[c.entryKey]
		switch {
		case r == nil:
			r = &ranking{}
			p.ranks[c.entryKey] = r
		case i >= fuseDepth && r.meaning > 0:
			continue // only its rank by meaning counts
		}
		r.words, r.score = i+1, c.score
		if i < fuseDepth {
			all = append(all, c)
		} else {
			rest = append(rest, c)
		}
	}
	for _, c := range p.meaning {
		if p.ranks[c.entryKey].words == 0 {
			all = append(all, c)
		}
	}
	files := make(map[uint32]bool)
	p.eachOther(func(c candidate) {
		total.entries++
		if !files[c.variant] && (p.query.MeaningOnly || !p.matchesWords(c.variant)) {
			files[c.variant] = true
			total.files++
		}
	})
	p.addScores(all)
	p.placeSuccessors(all)
	slices.SortFunc(all, p.compare)
	p.keepComplete(all)
	for _, c := range rest {
		c.score *= all[len(all)-1].score / max(c.score, rest[0].score)
		all = append(all, c)
	}
	return all[:min(n, len(all))], total
}

// addScores sets the fused scores of candidates.
func (p *page) addScores(all []candidate) {
	if p.query.MeaningOnly {
		for i := range all {
			all[i].score = float64(p.ranks[all[i].entryKey].cosine) * p.weightOf(all[i].variant)
		}
		return
	}
	meaning := p.meaningScores(all)
	weight := p.meaningWeight(all)
	mostWords, mostMeaning := 0.0, 0.0
	for i, c := range all {
		mostWords, mostMeaning = max(mostWords, p.ranks[c.entryKey].score), max(mostMeaning, meaning[i])
	}
	for i := range all {
		c := &all[i]
		c.score = 0
		if r := p.ranks[c.entryKey]; r.words > 0 && mostWords > 0 {
			c.score = r.score / mostWords
		}
		if mostMeaning > 0 {
			c.score += weight * meaning[i] / mostMeaning
		}
	}
}

// meaningScores returns the scores of candidates by meaning, with shares of their
// neighbours and of their files.
func (p *page) meaningScores(all []candidate) []float64 {
	scores := make([]float64, len(all))
	if len(p.meaning) == 0 {
		return scores
	}
	top := float64(p.ranks[p.meaning[0].entryKey].cosine)
	last := float64(p.ranks[p.meaning[len(p.meaning)-1].entryKey].cosine)
	own := func(k entryKey) float64 {
		r := p.ranks[k]
		if r == nil || r.meaning == 0 {
			return 0
		}
		return (float64(r.cosine) - last + fuseMargin) / (top - last + fuseMargin)
	}
	files := make(map[uint32]float64) // best score of each file
	for _, c := range p.meaning {
		files[c.variant] = max(files[c.variant], own(c.entryKey))
	}
	for i, c := range all {
		score := own(c.entryKey) + tuning.file*files[c.variant]
		entries := p.over.variantAt(c.variant).entries
		if c.entry > 0 {
			share := tuning.near
			if entries[c.entry-1].flags&flagQuestion != 0 {
				share = tuning.answer
			}
			score += share * own(entryKey{c.variant, c.entry - 1})
		}
		if int(c.entry)+1 < len(entries) {
			score += tuning.near * own(entryKey{c.variant, c.entry + 1})
		}
		scores[i] = score * p.dateFactor(&entries[c.entry]) * p.weightOf(c.variant)
	}
	return scores
}

// meaningWeight returns the weight of the scores by meaning, given the candidates with
// the best scores by words.
func (p *page) meaningWeight(all []candidate) float64 {
	most := 0.0
	for i, t := range p.words.terms {
		most += t.weight * p.idfs[i]
	}
	if len(p.words.list) > maxListed {
		return fuseMeaning // in a long text, most words are beside the point
	}
	for _, c := range all {
		if _, cells := p.cellOf(c); cells != nil && 2*float64(cells[c.entry].own) >= most {
			return fuseMeaning
		}
	}
	return fuseVague
}

// isClose reports whether a candidate is among the nearest of the readable texts. The
// limit is a share of them, so it does not depend on the cosines of a model.
func (p *page) isClose(c candidate) bool {
	r := p.ranks[c.entryKey]
	if r == nil || r.meaning == 0 {
		return false
	}
	texts := 0
	for _, part := range p.partitions {
		texts += p.table.texts.count(part.Partition)
	}
	return coverClose*(r.meaning-1) < texts
}

// eachCandidate calls yield for the candidates of both lists. It omits entries by words
// that choose rejects.
func (p *page) eachCandidate(choose choice, yield func(candidate)) {
	if !p.query.MeaningOnly || p.ranks == nil {
		p.eachMatch(choose, yield)
	}
	p.eachOther(yield)
}

// eachOther calls yield for the candidates that are only in the list by meaning.
func (p *page) eachOther(yield func(candidate)) {
	for _, c := range p.meaning {
		if _, ok := p.candidateAt(c.entryKey); !ok || p.query.MeaningOnly {
			yield(c)
		}
	}
}

// matchesWords reports whether a variant has a candidate by words.
func (p *page) matchesWords(variant uint32) bool {
	if p.filtered {
		return slices.ContainsFunc(p.chosen, func(c candidate) bool { return c.variant == variant })
	}
	if n := p.at[variant]; n > 0 {
		for e := range int(p.accs[n-1].n) {
			if _, ok := p.rankedEntry(&p.accs[n-1], e); ok {
				return true
			}
		}
	}
	return false
}

// placeSuccessors limits the score of each entry to that of the entry that supersedes
// it, if that is in the list.
func (p *page) placeSuccessors(all []candidate) {
	at := make(map[entryKey]int, len(all))
	for i, c := range all {
		at[c.entryKey] = i
	}
	var place func(i, depth int)
	place = func(i, depth int) {
		c := &all[i]
		next, ok := p.findSuccessor(c.entryKey)
		if !ok || c.superseded > 0 || depth == maxSuccessors {
			return
		}
		if k, ok := at[next]; ok {
			place(k, depth+1)
			c.score = math.Min(c.score, all[k].score)
			c.superseded = all[k].superseded + 1
		}
	}
	for i := range all {
		place(i, 0)
	}
}

// keepComplete moves entries with all words of the query that are among the first
// fuseKeep by words back into the first fuseKeep, in place of the last others.
func (p *page) keepComplete(all []candidate) {
	isKept := func(c candidate) bool {
		r := p.ranks[c.entryKey]
		return r.words > 0 && r.words <= fuseKeep && p.containsAll(c)
	}
	for i := fuseKeep; i < len(all); i++ {
		if !isKept(all[i]) {
			continue
		}
		k := fuseKeep - 1
		for k >= 0 && isKept(all[k]) {
			k--
		}
		if k < 0 {
			return
		}
		c := all[i]
		c.score = all[fuseKeep-1].score
		out := all[k]
		copy(all[k:fuseKeep-1], all[k+1:fuseKeep])
		copy(all[fuseKeep+1:i+1], all[fuseKeep:i])
		out.score = min(out.score, c.score)
		all[fuseKeep-1], all[fuseKeep] = c, out
	}
}
