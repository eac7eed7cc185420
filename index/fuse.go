package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// A ranked contains the order of the candidates.
type ranked struct {
	matches
	meaning meaningMatches
}

func (s *ranked) bestCandidates(n int) ([]candidate, counts) {
	if s.meaning.ranks != nil {
		return s.bestFused(n)
	}
	return s.bestByWords(n)
}

// explainScore returns the explanation of the score of a candidate. It includes the
// terms if they were recorded.
func (s *ranked) explainScore(c candidate) (w Why) {
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

// isSummary reports whether a candidate stands for the summary of a session, because the words
// of the query are only there.
func (s *ranked) isSummary(c candidate) bool {
	i := s.at[c.file]
	return i > 0 && s.accs[i-1].some == 0 && s.meaning.ranks[c.entryKey] == nil &&
		s.table.fileAt(c.file).Kind == memory.Session
}

// A ranking always has a first hit, even for a query about a subject that is
// not in memory. The coverage of a query by an entry detects this case: the
// share of the words of the query that occur in the entry. Each word is weighted
// by its rarity among the entries that the view may read. A word that occurs in
// at most coverRare entries has the maximum weight 1. The words of everyday
// messages count a fraction of that, even where they are rare. Of Chinese, whose
// words are not separated, pairs of characters that lie between two words do not
// count, and of Japanese, pairs with hiragana, which are mostly endings.
//
// An entry easily covers a few words, even by chance, and no entry covers a
// large part of many words. So the denominator of the share is at least
// coverFew and at most coverMany words. With the threshold 0.4, one rare word of
// a short question is enough, and common words in a long text never are.
// Messages that are neither a question nor only words of a topic are mostly
// instructions ("make a backup first"): for these, at least two words must
// occur.
//
// The constants were chosen with this threshold on three sets of queries in
// English and Chinese: questions about conversations, questions about other
// conversations, and everyday messages to agents ("run the tests again").
// [TestEvalCover] prints the results.
const (
	coverFew     = 2.2
	coverOther   = 3.5 // in place of coverFew, for other messages
	coverMany    = 4
	coverRoutine = 0.25 // weight of a word of [routineWords]
	coverRare    = 4    // number of entries with a rare word
	coverClose   = 200  // of as many readable entries one is close to a query
)

// A hybrid search ranks the entries by words and by meaning, and adds the scores of
// both lists after it has scaled them to at most 1 (Bruch, Gai and Ingber 2023). Each
// list contains readable entries that pass the filter, and nothing else.
//
// Reciprocal ranks in place of scores put the nearest entry behind more than a hundred
// others if it has none of the words.
const (
	fuseDepth = 200 // entries of the list by meaning

	fuseMeaning = 0.4  // weight of the score by meaning; the one by words has 1
	fuseMargin  = 0.01 // added to cosines, so that the last of the list has a score
)

// A ranking contains the ranks of an entry in the two lists, from 1, or 0 if it is
// not in the list.
type ranking struct {
	words, meaning int
	score          float64 // by words
	cosine         float32
	similar        float64 // cosine, and the share of that of the question before the entry
}

// WordsOnly reports whether a query is so exact that its meaning adds nothing: it
// has a prefix, at most two words beside its phrases, no letters, or is one identifier
// or path.
func WordsOnly(text string) bool {
	text = quotes.Replace(text)
	_, rest := splitPhrases(text)
	fields := strings.Fields(text)
	hasRun := strings.ContainsFunc(text, func(r rune) bool { return classOf(r) >= classCJK })
	hasLetter := hasRun || strings.ContainsFunc(text, func(r rune) bool { return classOf(r) == classLetter })
	return !hasWords(rest, 3) || !hasLetter || len(fields) == 1 && !hasRun ||
		slices.ContainsFunc(fields, func(s string) bool { return len(s) > 1 && strings.HasSuffix(s, "*") })
}

// A meaningMatches contains the entries that are most similar to a query in meaning.
type meaningMatches struct {
	list    []candidate           // best first, then the replies to questions among them
	ranks   map[entryKey]*ranking // nil if the search is by words only
	passing map[uint32]bool       // by file: it passes the filter

	least, most float64 // of similar
}

// rankMeaning ranks the entries that are nearest to the query, in all readable partitions
// together.
func (s *ranked) rankMeaning(excluded []string) {
	if s.err != nil || s.query.Nearest == nil || s.query.Mode != Relevance {
		return
	}
	s.meaning.passing = make(map[uint32]bool)
	type found struct {
		Similar
		memory.Partition
	}
	var all []found
	for _, part := range s.readable.partitions {
		accept := func(k TextKey) bool { return len(s.entriesOf(TextRef{part.Partition, k})) > 0 }
		for _, n := range s.query.Nearest(part.Partition, fuseDepth, accept) {
			all = append(all, found{n, part.Partition})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Key, b.Key))
	})
	s.meaning.ranks = make(map[entryKey]*ranking)
	for i, f := range all[:min(len(all), fuseDepth)] {
		for _, k := range s.entriesOf(TextRef{f.Partition, f.Key}) {
			if !s.passesPhrases(k, excluded) {
				continue
			}
			s.addSimilar(k, &ranking{meaning: i + 1, cosine: f.Cosine, similar: float64(f.Cosine)})
		}
	}
	if len(s.meaning.list) > 0 {
		s.raiseReplies(excluded)
	}
}

// addSimilar adds an entry to the list.
func (s *ranked) addSimilar(k entryKey, r *ranking) {
	c := candidate{entryKey: k, dup: uint16(s.entryAt(k).dup)}
	if !s.query.MeaningOnly {
		c.phrases = s.phrases.counts[k]
	}
	s.meaning.list = append(s.meaning.list, c)
	s.meaning.ranks[k] = r
}

// raiseReplies gives each entry that follows a question in the list a share of its cosine.
// A reply is compared alone, and seldom repeats what it answers. The share falls faster with
// its length than that of words, because a long text has a meaning of its own. An entry
// that is not in the list joins it if it comes before the last.
func (s *ranked) raiseReplies(excluded []string) {
	most := func(c, d candidate) int {
		return cmp.Compare(s.meaning.ranks[c.entryKey].similar, s.meaning.ranks[d.entryKey].similar)
	}
	least := s.meaning.ranks[slices.MinFunc(s.meaning.list, most).entryKey].similar
	shares := make(map[entryKey]float64)
	missing := make(map[TextRef]bool)
	for _, c := range s.meaning.list {
		v, next := s.table.fileAt(c.file), entryKey{c.file, c.entry + 1}
		if s.query.ByFile || v.entries[c.entry].flags&flagQuestion == 0 || int(next.entry) == len(v.entries) {
			continue
		}
		fall := min(1, tuning.reply/float64(max(1, v.entries[next.entry].length)))
		shares[next] = tuning.answer * fall * fall * s.meaning.ranks[c.entryKey].similar
		if key := v.keys.at(int(next.entry)); key != 0 && s.meaning.ranks[next] == nil {
			missing[TextRef{v.partition, key}] = true
		}
	}
	for _, part := range s.readable.partitions {
		if len(missing) == 0 {
			break
		}
		accept := func(k TextKey) bool { return missing[TextRef{part.Partition, k}] }
		for _, n := range s.query.Nearest(part.Partition, len(missing), accept) {
			for _, k := range s.entriesOf(TextRef{part.Partition, n.Key}) {
				share, ok := shares[k]
				cosine := float64(n.Cosine)
				if ok && s.meaning.ranks[k] == nil && cosine+share > least && s.passesPhrases(k, excluded) {
					s.addSimilar(k, &ranking{meaning: len(s.meaning.list) + 1, cosine: n.Cosine, similar: cosine})
				}
			}
		}
	}
	for k, share := range shares {
		if r := s.meaning.ranks[k]; r != nil {
			r.similar += share
		}
	}
	s.meaning.least = least - fuseMargin
	s.meaning.most = s.meaning.ranks[slices.MaxFunc(s.meaning.list, most).entryKey].similar
}

// entriesOf returns the entries with a text that pass the filter, in order.
func (s *ranked) entriesOf(t TextRef) (list []entryKey) {
	for _, k := range s.table.texts.get(t) {
		pass, known := s.meaning.passing[k.file]
		if !known {
			pass = s.passesFile(k.file)
			s.meaning.passing[k.file] = pass
		}
		if pass && s.passesEntry(k) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, s.inOrder)
	return list
}

// bestFused returns the first n candidates of both lists together, with their fused
// scores, and counts all candidates.
func (s *ranked) bestFused(n int) ([]candidate, counts) {
	var all []candidate
	var total counts
	if !s.query.MeaningOnly {
		all, total = s.bestByWords(max(n, fuseDepth))
	}
	for _, r := range s.meaning.ranks {
		r.words, r.score = 0, 0
	}
	for i, c := range all {
		r := s.meaning.ranks[c.entryKey]
		if r == nil {
			r = &ranking{}
			s.meaning.ranks[c.entryKey] = r
		}
		r.words, r.score = i+1, c.score
	}
	for _, c := range s.meaning.list {
		r := s.meaning.ranks[c.entryKey]
		if r.words > 0 {
			continue
		}
		if byWords, ok := s.candidateAt(c.entryKey); ok && !s.query.MeaningOnly {
			r.score = s.rank(byWords).score
		}
		all = append(all, c)
	}
	s.eachOther(func(candidate) {
		total.entries++
		total.files++ // at most: words may also find another entry of the file
	})
	s.addScores(all)
	s.placeSuccessors(all)
	slices.SortFunc(all, s.compare)
	return all[:min(n, len(all))], total
}

// addScores sets the fused scores of the candidates.
func (s *ranked) addScores(all []candidate) {
	most := 0.0
	for _, c := range all {
		most = max(most, s.meaning.ranks[c.entryKey].score)
	}
	for i := range all {
		c, r := &all[i], s.meaning.ranks[all[i].entryKey]
		weight := s.weightOf(c.file)
		c.superseded = 0 // by words, see [ranked.placeSuccessors]
		if s.query.MeaningOnly {
			c.score = r.similar * weight
			continue
		}
		c.score = fuseMeaning * s.meaningScore(r) * weight
		if most > 0 {
			c.score += r.score / most
		}
	}
}

// meaningScore returns the score of an entry by meaning, scaled so that the nearest entry has
// the score 1.
func (s *ranked) meaningScore(r *ranking) float64 {
	if r.meaning == 0 {
		return 0
	}
	return (r.similar - s.meaning.least) / (s.meaning.most - s.meaning.least)
}

// isClose reports whether a candidate is among the nearest of the readable texts. The
// limit is a share of them, so it does not depend on the cosines of a model.
func (s *ranked) isClose(c candidate) bool {
	r := s.meaning.ranks[c.entryKey]
	if r == nil || r.meaning == 0 {
		return false
	}
	texts := 0
	for _, part := range s.readable.partitions {
		texts += part.texts
	}
	return coverClose*(r.meaning-1) < texts
}

// eachCandidate calls yield for the candidates of both lists.
func (s *ranked) eachCandidate(yield func(candidate)) {
	if !s.query.MeaningOnly || s.meaning.ranks == nil {
		s.eachMatch(yield)
	}
	s.eachOther(yield)
}

// eachOther calls yield for the candidates that are only in the list by meaning.
func (s *ranked) eachOther(yield func(candidate)) {
	for _, c := range s.meaning.list {
		if _, ok := s.candidateAt(c.entryKey); !ok || s.query.MeaningOnly {
			yield(c)
		}
	}
}

// placeSuccessors places entries behind those that supersede them.
func (s *ranked) placeSuccessors(all []candidate) {
	at := make(map[entryKey]int, len(all))
	for i, c := range all {
		at[c.entryKey] = i
	}
	for i := range all {
		of, _ := s.findSuccessor(all[i].entryKey)
		if n, ok := at[of]; ok && n != i {
			all[i].placeBehind(all[n])
		}
	}
}
