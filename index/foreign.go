package index

import (
	"strings"
)

// Analysis is the version of the terms that Terms and QueryTerms return.
const Analysis = 7

// Terms returns the terms of a text in their order, separated by spaces, for
// another search engine.
func (x *Index) Terms(text string) string {
	b := x.builders.Get().(*builder)
	defer x.builders.Put(b)
	var terms []string
	b.eachToken(text, func(t token) { terms = append(terms, t.term) })
	return strings.Join(terms, " ")
}

// QueryTerms returns the terms for which a search with the query looks, separated
// by spaces.
func (x *Index) QueryTerms(q Query) string {
	b := x.builders.Get().(*builder)
	defer x.builders.Put(b)
	included, _ := b.parse(&q)
	var terms []string
	for _, t := range included.terms[:min(len(included.terms), maxTerms)] {
		terms = append(terms, t.term)
	}
	return strings.Join(terms, " ")
}
