package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	bleve "github.com/blevesearch/bleve_index_api"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/memory"
)

// Search returns the answer to a query for one view. The hits are entries of
// the current files. Entries that the view cannot read have no influence on the
// result.
//
// If the index is damaged, Search removes it and returns a degraded result, from the newest
// files. It returns an error if the context ends or if the files of hits are temporarily
// unreadable.
func (x *Index) Search(ctx context.Context, view memory.View, q Query) (res Result, err error) {
	err = x.look(ctx, view, &q, func(s *search, b *builder) { res = s.answer(b.parse(&q)) })
	if _, ok := errors.AsType[errDamaged](err); ok {
		return x.searchFiles(ctx, view, q)
	}
	return res, err
}

// answer runs the passes of a search. After a failure, each pass does nothing.
func (s *search) answer(included, excluded words) (res Result) {
	s.words = included
	s.readDates()
	s.prepareFilter(excluded.terms)
	s.keepRarest()
	s.readPerson()
	s.addPeriods()
	s.scoreTerms()
	s.applyPhrases(excluded.phrases)
	s.rankNames()
	s.rankMeaning(excluded.phrases)
	s.countContained(&res, s.buildHits(&res))
	if res.Note == "" && s.query.Mode == Relevance && dueRE().MatchString(s.query.Text) {
		res.Note = "todo list shows the open tasks and when they are due"
	}
	res.Degraded, res.Changed = s.degraded, s.changed
	return res
}

// look calls use with a search of the present state. If the index is damaged, look
// removes it and returns errDamaged. A panic in other code is an error of this search only.
func (x *Index) look(ctx context.Context, view memory.View, q *Query, use func(*search, *builder)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b := x.builders.Get().(*builder)
	x.mu.RLock()
	store, table, degraded := x.store, x.table, x.isDegraded()
	postings := new(postingReader) // without a store there are none
	var err error
	if store != nil {
		postings.snapshot, err = store.openSnapshot()
	}
	x.mu.RUnlock()
	if err == nil {
		err = recoverPanic("search index", func() error {
			s := newSearch(ctx, view, q, table, postings, b.analyzer)
			defer s.close()
			s.degraded, s.source = degraded, x.opt.Source
			if store != nil {
				s.err = s.damaged(postings.open(&store.numbers))
			}
			if s.err == nil {
				use(s, b)
			}
			return s.err
		})
	} else {
		err = errDamaged{err}
	}
	panicked, ok := errors.AsType[*panicError](err)
	switch {
	case !ok:
		x.builders.Put(b)
	case panicked.cause() != "":
		err = errDamaged{err}
	}
	if damage, ok := errors.AsType[errDamaged](err); ok {
		x.writing.Lock()
		defer x.writing.Unlock()
		x.recoverStore(store, damage.error)
	}
	return err
}

// browse calls use with a search without a query. The errors are those of
// [Index.Search], and [api.Unavailable] if the index is damaged.
func (x *Index) browse(ctx context.Context, view memory.View, use func(*reader)) error {
	err := x.look(ctx, view, &Query{}, func(s *search, _ *builder) { use(&s.reader) })
	if _, ok := errors.AsType[errDamaged](err); ok {
		return api.Errorf(api.Unavailable, "the index is filled again from the files").WithHint("retry in a moment")
	}
	return err
}

// newSearch returns a search of a table and the postings of its blocks, which it closes.
func newSearch(ctx context.Context, view memory.View, q *Query, t *table, l *postingReader, a *analyzer) *search {
	s := new(search)
	s.reader = reader{ctx: ctx, view: view, table: t, postings: l, analyzer: a,
		documents: make(map[*file]*memory.Document), minutes: make(map[int64]bool), readable: t.readable(view)}
	s.query, s.scores = q, spare.Get().(*scores)
	s.phrases.counts = make(map[entryKey]uint8)
	s.scores.reset(int(t.byNumber.length))
	return s
}

func (s *search) close() {
	spare.Put(s.scores)
	s.postings.close()
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
		f, blocks := b.buildFile(doc, disk.Stamp{}, [32]byte{}, nil)
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

// searchFiles is Search without the store. It reads the newest readable files.
func (x *Index) searchFiles(ctx context.Context, view memory.View, q Query) (res Result, err error) {
	var files []*file
	for _, v := range x.snapshot().byNumber.all() {
		if v != nil && view.Readable(v.partition) {
			files = append(files, v)
		}
	}
	slices.SortFunc(files, func(a, b *file) int {
		return cmp.Or(cmp.Compare(b.newest, a.newest), strings.Compare(a.file.Path, b.file.Path))
	})
	var docs []*memory.Document
	for _, v := range files[:min(len(files), newestFiles)] {
		if doc, err := x.opt.Source.Load(v.Path); err == nil {
			docs = append(docs, doc)
		}
	}
	err = recoverPanic("search files", func() (err error) {
		res, err = x.Rank(ctx, view, q, docs)
		return err
	})
	res.Degraded = true
	return res, err
}
