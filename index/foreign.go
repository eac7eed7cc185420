package index

import (
	"context"
	"fmt"
	"strings"

	bleve "github.com/blevesearch/bleve_index_api"

	"github.com/memwatchd/memwatchd/memory"
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

// Rank answers a query for documents that are not in the index, such as those of
// another machine. It ranks their entries like those of an index that contains
// these documents only, which it makes in memory.
func (x *Index) Rank(ctx context.Context, view memory.View, q Query, docs []*memory.Document) (res Result, err error) {
	b := x.builders.Get().(*builder)
	defer x.builders.Put(b)
	t := newTable()
	read := make(map[*file]*memory.Document, len(docs))
	var all []bleve.Document
	for _, doc := range docs {
		f, blocks := b.buildFile(doc, memory.Stamp{}, [32]byte{}, nil)
		if err := t.assignBlocks(f); err != nil {
			return res, err
		}
		t.addFile(f)
		read[f] = doc
		for _, block := range blocks {
			block.number = f.blocks[block.nth]
			block.AddIDField()
			all = append(all, block)
		}
	}
	postings, err := postingsOf(all)
	if err != nil {
		return res, fmt.Errorf("rank documents: %w", err)
	}
	q.KeepTypos = true // the words of these few documents say little about spelling
	s := newSearch(ctx, view, &q, t, postings, b.analyzer)
	defer s.close()
	s.documents = read
	res = s.answer(b.parse(&q))
	return res, s.err
}
