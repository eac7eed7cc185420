package index

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// A reader reads one version of the table and one state of the store, so it needs no lock. A
// search is one in four layers: a request adds the words of a query, matches the candidates,
// ranked their order, and search the answer. Each layer calls those before it only.
type reader struct {
	ctx       context.Context
	view      memory.View
	table     *table
	postings  *postingReader
	analyzer  *analyzer
	degraded  bool // the index may lack files, or a hit has changed
	changed   bool // a hit has changed since it was indexed
	source    Source
	documents map[*file]*memory.Document // read so far; nil for a file that does not exist
	minutes   map[int64]bool             // see [reader.copied]
	readable  readable

	err error // the first failure; the results are then incomplete
}

// A request is a query as the index reads it.
type request struct {
	reader
	query *Query
	words words // of the query, with corrections
	dates queryDates
	own   bool // a question in the first person
}

// A matches contains the candidates of a request.
type matches struct {
	request
	filter preparedFilter
	*scores
	phrases phraseMatches
}

// A ranked contains the order of the candidates.
type ranked struct {
	matches
	meaning meaningMatches
}

// A search is one query in progress.
type search struct {
	ranked
	cover coverWeights
}

// A readable contains the partitions with content that the view can read, and their
// sums. The statistics of the ranking come from these alone.
type readable struct {
	partitions      []*partitionStats
	files, entries  int
	length, filelen float64
}

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

func (b *builder) parse(q *Query) (included, excluded words) {
	text := q.Text
	if q.Typing {
		text += "*"
	}
	included = b.parseQuery(text, q.Mode == Overlap)
	included.phrases = slices.DeleteFunc(included.phrases, func(phrase string) bool {
		// In Overlap, the order is that of the formula. A quoted word is found by its score.
		return !q.Exact && (q.Mode == Overlap || strings.Count(phrase, " ") == 2)
	})
	if q.Mode == Relevance && !q.Cover {
		included.addForms()
	}
	return included, b.parseExclude(q.Exclude)
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

// isDegraded reports whether the index may lack files.
func (x *Index) isDegraded() bool { return !x.completeness.complete || x.store == nil }

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

// readable returns the partitions with content that a view can read.
func (t *table) readable(view memory.View) (r readable) {
	for _, p := range view.Partitions() {
		part := t.partitions[p]
		if part == nil {
			continue
		}
		r.partitions = append(r.partitions, part)
		r.files += part.files
		r.entries += part.entries
		r.length += float64(part.length)
		r.filelen += float64(part.filelen)
	}
	return r
}

// eachBlock calls fn for every block in the readable partitions that contains the
// term with a key.
func (s *reader) eachBlock(k key, fn func(block uint32, r ref, v slots)) {
	for _, p := range s.readable.partitions {
		if s.err != nil {
			return
		}
		s.err = s.damaged(s.postings.eachPosting(s.ctx, p.fields[k.kind], k.term, func(number uint32, v slots) {
			if r := s.table.refOf(number); r.file != noFile {
				fn(number, r, v)
			}
		}))
	}
}

// eachEntry calls fn for every entry in the readable partitions that has the term
// with a key.
func (s *reader) eachEntry(k key, fn func(entryKey)) {
	s.eachBlock(k, func(_ uint32, r ref, v slots) {
		for slot := range v.all() {
			if e := entryOfSlot(int(r.nth), slot); e >= 0 {
				fn(entryKey{r.file, int32(e)})
			}
		}
	})
}

// visible reports whether a block of bleve is in this version of the table.
func (s *reader) visible(block uint32) bool { return s.table.refOf(block).file != noFile }
