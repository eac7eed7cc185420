package index

import (
	"context"
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// Analysis is the version of the terms that Terms and QueryTerms return.
const Analysis = 3

// Terms returns the terms of a text in their order, separated by spaces, for
// another search engine.
func (x *Index) Terms(text string) string {
	b := x.acquireBuilder()
	defer x.releaseBuilder(b)
	var terms []string
	b.eachToken(text, func(t token) { terms = append(terms, t.term) })
	return strings.Join(terms, " ")
}

// QueryTerms returns the terms for which a search with the query looks, separated
// by spaces.
func (x *Index) QueryTerms(q Query) string {
	b := x.acquireBuilder()
	defer x.releaseBuilder(b)
	var terms []string
	for _, t := range b.parse(&q).included.terms {
		terms = append(terms, t.term)
	}
	return strings.Join(terms, " ")
}

// Rank answers a query for documents that are not in the index, such as those of
// another machine. It ranks their entries like those of an index that contains
// these documents only.
func (x *Index) Rank(ctx context.Context, view memory.View, q Query, docs []*memory.Document) (Result, error) {
	b := x.acquireBuilder()
	defer x.releaseBuilder(b)
	over := make(map[string]*memory.Document, len(docs))
	for i, doc := range docs {
		over[fmt.Sprintf("%06d", i)] = doc // the order decides between equal hits
	}
	only := &Index{table: newTable(), opt: Options{Logger: x.opt.Logger}}
	_, res, err := only.searchOnce(ctx, b, view, &q, b.parse(&q), over)
	res.Degraded = false
	return res, err
}
