package index

import (
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// A ranking always has a first hit, even for a query about a subject that is
// not in memory. The coverage of a query by an entry detects this case: the
// share of the words of the query that occur in the entry. Each word is weighted
// by its rarity among the entries that the view may read. A word that occurs in
// at most one entry has the maximum weight 1.
//
// An entry easily covers a few words, even by chance, and no entry covers a
// large part of many words. So the denominator of the share is at least
// coverFew and at most coverMany words. With the threshold 0.4, two rare words
// always suffice, one word never does, and neither do many common words in a
// long text.
//
// The constants were chosen with this threshold on three sets of queries in
// English and Chinese: questions about conversations, questions about other
// conversations, and everyday messages to agents ("run the tests again").
// [TestEvalCover] prints the results.
const (
	coverFew  = 3.5
	coverMany = 5
	coverPair = 0.8 // weight of a pair of Han characters: a word forms several pairs with its neighbours
)

// computeCover returns the share of the query that an entry covers, from 0 to 1.
func (p *page) computeCover(e *memory.Entry) float64 {
	most := idf(p.entries, 1)
	worth := make(map[string]float64, len(p.words.terms))
	all := 0.0
	for i, t := range p.words.terms {
		w := t.weight * min(1, p.idfs[i]/most)
		if r := []rune(t.term); classOf(r[0]) == classCJK {
			if len(r) == 1 {
				continue // a single Han character occurs in half of all words
			}
			w *= coverPair
		}
		worth[t.term] = w
		all += w
	}
	sum := 0.0
	p.analyzer.eachToken(strings.Join(e.Sections, "\n")+"\n"+e.Text, func(t token) {
		sum += worth[t.term]
		delete(worth, t.term)
	})
	return min(1, sum/min(max(all, coverFew), coverMany))
}
