package index

import (
	"math"
)

// tuning holds the constants of ranking by relevance. They were chosen on
// judged collections. Changing one changes the golden files.
var tuning = struct {
	k1, b         float64 // for entries: both are low for short texts
	maxAverage    float64 // upper bound of the average length of an entry, in tokens
	fileK1, fileB float64
	near          float64 // share of the own score of each neighbour, in a session
	answer        float64 // share of the own score of a question, for the entry that follows
	reply         float64 // tokens of an entry that follows a question, from which its share falls
	file          float64 // share of the score of the file
	beginning     float64 // weight of the beginning of a word
	function      float64 // weight of a function word of another language
	typo          float64 // weight of a term that replaces a misspelled word
	period        float64 // factor for entries of a period that the query names
	dayFade       float64 // days from a day until the factor is 1
	named         float64 // weight of a period that the query names, like that of a word
	dateWord      float64 // factor of the weight of a word in the name of a period
	person        float64 // idf of a pronoun of the first person
	mine          float64 // factor for long-term memory if the query is a question in the first person
	timed         float64 // factor for entries with words of time if the query asks for a time
	irregular     float64 // weight of an irregular form of a word
}{
	k1: 0.9, b: 0.3, maxAverage: 50,
	fileK1: 1.2, fileB: 0.8,
	near: 0.1, answer: 0.5, reply: 64, file: 1,
	beginning: 0.5, function: 0.1, typo: 0.7,
	period: 2, dayFade: 10,
	named: 0.5, dateWord: 0.3, person: 1.6, mine: 1.5, timed: 1.3, irregular: 0.3,
}

// idf returns the inverse document frequency of BM25 with one added inside the
// logarithm, so that the result is never negative (Robertson and Zaragoza 2009,
// as implemented in Lucene).
func idf(n, df int) float64 {
	return math.Log(1 + (float64(n)-float64(df)+0.5)/(float64(df)+0.5))
}

// norms holds the parameters of BM25 for texts of an average length.
type norms struct{ k1, b, average float64 }

// saturate returns the factor of BM25 for the frequency of a term in a text of a length
// (Robertson and Zaragoza 2009, (3.15)). The contribution of the term to the score is
// this factor times the idf of the term.
func (n *norms) saturate(tf float64, length uint32) float64 {
	return tf * (n.k1 + 1) / (tf + n.k1*(1-n.b+n.b*float64(length)/n.average))
}
