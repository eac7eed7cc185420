package index

import (
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// A ranking always has a first hit, even for a query that is about nothing in
// memory. How much of a query an entry covers tells: the share of the query's
// words that stand in the entry, each counting by how rare it is among the
// entries that the view may read. A word counts 1 at most, if a single entry has
// it or none.
//
// A few words are covered easily, by chance too, and of many words nobody covers
// a large part. So the share is at least of coverFew words and at most of
// coverMany: with 0.4 for a threshold two rare words always make it, one never
// does, and neither do many common ones in a long text.
//
// The figures were chosen with that threshold on questions about conversations,
// on questions about other conversations, and on what people say to agents all
// day ("run the tests again"), in English and Chinese; [TestEvalCover] prints what
// they come to.
const (
	coverFew  = 3.5
	coverMany = 5
	coverPair = 0.8 // of a pair of Han characters: a word makes more than one with its neighbours
)

// covered is which share of the query an entry covers, 0 to 1.
func (p *page) covered(e *memory.Entry) float64 {
	most := idf(p.entries, 1)
	worth := make(map[string]float64, len(p.words.terms))
	all := 0.0
	for i, t := range p.words.terms {
		w := t.weight * min(1, p.idfs[i]/most)
		if r := []rune(t.term); classOf(r[0]) == classCJK {
			if len(r) == 1 {
				continue // it is in half the words there are
			}
			w *= coverPair
		}
		worth[t.term] = w
		all += w
	}
	sum := 0.0
	p.analyzer.tokens(strings.Join(e.Sections, "\n")+"\n"+e.Text, func(t token) {
		sum += worth[t.term]
		delete(worth, t.term)
	})
	return min(1, sum/min(max(all, coverFew), coverMany))
}
