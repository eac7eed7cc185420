package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/memwatchd/memwatchd/memory"
)

// retries is the number of restarts of a search that finds changed files, even if
// they take longer than scanBudget.
const retries = 5

// scanBudget bounds the time in which a search reads files that are missing
// from the index or that have changed since.
const scanBudget = 1500 * time.Millisecond

// Search returns the answer to a query for one view. The hits are entries of
// the current files. Entries that the view cannot read have no influence on the
// result.
//
// If the index is damaged, Search sets the index aside and answers from the
// files. It returns an error if the context ends or if files that it must read
// instead of the index are temporarily unreadable.
func (x *Index) Search(ctx context.Context, view memory.View, q Query) (res Result, err error) {
	b := x.acquireBuilder()
	defer x.releaseBuilder(b)
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	w := b.parse(&q)
	over := make(map[string]*memory.Document)
	limit := time.Now().Add(scanBudget)
	for try := 0; ; try++ {
		var stale []string
		err := x.retryDamaged(func() (err error) {
			stale, res, err = x.searchOnce(ctx, b, view, &q, w, over)
			return err
		})
		if err != nil || len(stale) == 0 {
			return res, err
		}
		if try >= retries && time.Now().After(limit) {
			res.Degraded = true // entries of the stale files are missing
			return res, nil
		}
		for _, path := range stale {
			doc, _, err := x.opt.Source.LoadStamped(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return Result{}, err
			}
			over[path] = doc // nil if the file does not exist
		}
	}
}

// parse parses the text of a query.
func (b *builder) parse(q *Query) parsedQuery {
	text := q.Text
	if q.Typing {
		text += "*"
	}
	w := parsedQuery{included: b.parseQuery(text, q.Mode == Overlap), excluded: b.parseExclude(q.Exclude)}
	if q.Mode == Overlap && !q.Exact {
		w.included.phrases = nil // the order is that of the formula
	}
	if q.Mode == Relevance && !q.Cover {
		w.included.addForms()
	}
	w.setKeys(b, &q.Filter)
	return w
}

// errDamaged wraps an error of bleve about its own files.
type errDamaged struct{ error }

// retryDamaged runs look, which reads from bleve. A panic, an error of bleve, or a
// page fault because a mapped file was truncated means that the index is
// damaged. In this case retryDamaged sets the index aside and runs look once more.
func (x *Index) retryDamaged(look func() error) (err error) {
	for range 2 {
		x.mu.RLock()
		s := x.store
		x.mu.RUnlock()
		err = x.recoverDamage(look)
		damage, ok := errors.AsType[errDamaged](err)
		if !ok {
			return err
		}
		x.writing.Lock()
		x.recoverStore(s, damage.error)
		x.writing.Unlock()
	}
	return err
}

func (x *Index) recoverDamage(look func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			x.opt.Logger.Error("search panicked", "err", r, "stack", string(debug.Stack()))
			err = errDamaged{fmt.Errorf("search index: %v", r)}
		}
	}()
	return look()
}

// parsedQuery is a parsed query text.
type parsedQuery struct {
	included words
	excluded words
	keys     map[string]bool // keys whose postings the query needs
}

// addKeys adds the keys of terms and reports whether any of them is new.
func (w *parsedQuery) addKeys(terms []qterm) (added bool) {
	for _, t := range terms {
		key := termKey(kindWord, t.term)
		added = added || !w.keys[key]
		w.keys[key] = true
	}
	return added
}

// setKeys sets the keys of a query with a filter. For a file that is missing from
// the index, postings of these keys suffice.
func (w *parsedQuery) setKeys(b *builder, f *Filter) {
	w.keys = make(map[string]bool)
	w.addKeys(slices.Concat(w.included.terms, w.excluded.terms))
	for _, phrase := range w.included.phrases {
		b.eachToken(phrase, func(t token) { w.keys[termKey(kindWord, t.term)] = true })
	}
	for _, key := range slices.Concat(f.conditions()...) {
		w.keys[key] = true
	}
}

// beginSearch starts a search of the index with the files in over replacing their
// indexed versions. It takes the present state, so that the search needs no lock.
func (x *Index) beginSearch(ctx context.Context, b *builder, view memory.View, q *Query, keys map[string]bool,
	over map[string]*memory.Document) (*page, error) {
	x.mu.RLock()
	s := &search{ctx: ctx, table: x.table, view: view, query: q, analyzer: b.analyzer, scratch: acquireScratch(),
		degraded: x.isDegraded(), over: &overlay{table: x.table, paths: make(map[string]*file)}}
	p := &page{search: s, source: x.opt.Source, docs: make(map[*file]*memory.Document), stale: make(map[string]bool)}
	store := x.store
	var snapshot *scorch.IndexSnapshot
	var err error
	if store != nil {
		snapshot, err = store.openSnapshot()
	}
	x.mu.RUnlock()
	begun := false
	defer func() {
		if !begun { // also after a panic
			s.close()
		}
	}()
	if err == nil && store != nil {
		s.postings, err = store.places.openPostings(snapshot)
	}
	if err != nil {
		return nil, errDamaged{err}
	}
	lay := func(path string, doc *memory.Document) {
		if doc == nil {
			s.over.add(path, nil, nil)
			return
		}
		f, blocks := b.buildFile(doc, memory.Stamp{}, [32]byte{}, keys)
		s.over.add(path, f, blocks)
		p.docs[f] = doc
	}
	for _, path := range slices.Sorted(maps.Keys(over)) {
		lay(path, over[path])
	}
	var unread []string
	if s.degraded && x.opt.Paths != nil {
		unread = append(unread, slices.DeleteFunc(x.opt.Paths(),
			func(path string) bool { return s.table.files.get(path) != nil })...)
	}
	p.incomplete, err = x.layFiles(ctx, unread, s.over, lay)
	if err != nil {
		return nil, err
	}
	s.selectPartitions()
	begun = true
	return p, nil
}

// isDegraded reports whether the index may lack files.
func (x *Index) isDegraded() bool { return !x.completeness.complete || x.store == nil }

// layFiles adds files that are not on disk in the index to the overlay, as many as
// it can read within scanBudget. It reports whether some are left out.
func (x *Index) layFiles(ctx context.Context, paths []string, over *overlay,
	lay func(string, *memory.Document)) (leftOut bool, err error) {
	slices.Sort(paths)
	limit := time.Now().Add(scanBudget)
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return true, err
		}
		if over.hides(path) {
			continue
		}
		if time.Now().After(limit) {
			return true, nil
		}
		if doc, _, err := x.opt.Source.LoadStamped(path); err == nil { // indexing the file reports the error
			lay(path, doc)
		}
	}
	return false, nil
}

// searchOnce runs one search of the index, with the given files replacing their
// indexed versions. It returns the paths of the files that differ from the
// index.
func (x *Index) searchOnce(ctx context.Context, b *builder, view memory.View, q *Query, w parsedQuery,
	over map[string]*memory.Document) ([]string, Result, error) {
	for {
		var res Result
		stale, again, err := x.answerQuery(ctx, b, view, q, w, over, &res)
		if !again {
			return stale, res, err
		}
	}
}

// answerQuery answers a query. It returns the paths of the files that differ from
// the index, and reports whether the overlay lacks terms that it has added to
// the keys of the query.
func (x *Index) answerQuery(ctx context.Context, b *builder, view memory.View, q *Query, w parsedQuery,
	over map[string]*memory.Document, res *Result) (stale []string, again bool, err error) {
	p, err := x.beginSearch(ctx, b, view, q, w.keys, over)
	if err != nil {
		return nil, false, err
	}
	defer p.close()
	res.Degraded = p.degraded || p.incomplete
	p.words = w.included
	p.words.terms = slices.Clone(p.words.terms) // corrections insert terms
	if q.Explain && q.Mode == Relevance {
		p.terms = make(map[termOf]TermScore)
	}
	p.readDates()
	p.filter = p.prepareFilter(w.excluded)
	p.scoreTerms()
	if p.err != nil {
		return nil, false, p.err
	}
	if len(p.over.paths) > 0 && w.addKeys(p.words.terms) {
		return nil, true, nil
	}
	var runs []queryWord
	if q.Mode == Relevance {
		runs = w.included.runs()
	}
	if len(w.included.phrases)+len(runs)+len(w.excluded.phrases) > 0 {
		p.applyPhrases(w.included.phrases, runs, w.excluded.phrases)
	}
	if p.err == nil && q.Nearest != nil && q.Mode == Relevance {
		p.rankMeaning(w.included.phrases, w.excluded.phrases)
	}
	if p.err == nil {
		p.buildHits(res)
	}
	if p.err == nil {
		res.TotalAll = res.Total
		if p.wholeWords > 0 {
			res.TotalAll, res.Absent = p.countAll(), p.absentWords(res.Corrected)
		}
	}
	return slices.Sorted(maps.Keys(p.stale)), false, p.err
}

// buildHits converts the best candidates into hits. If a file is stale, the hits are
// incomplete and the search restarts.
func (p *page) buildHits(res *Result) {
	res.Note = p.note
	if p.query.Limit <= 0 {
		_, total := p.bestCandidates(0)
		res.Total, res.Files, res.Note = total.entries, total.files, p.phraseNote(total.entries)
		return
	}
	if len(p.stale) > 0 {
		return // the search restarts
	}
	f := p.foldCandidates(p.query.Offset, p.query.Limit)
	res.Total, res.Files, res.Next, res.Note = f.total.entries, f.total.files, f.next, p.phraseNote(f.total.entries)
	p.loadFiles(f.hits)
	for _, c := range f.hits {
		doc, e := p.resolveEntry(c.entryKey)
		if doc == nil {
			continue // the search fails or restarts
		}
		h := Hit{Doc: doc, Entry: e, Score: c.score, Time: e.Time, More: f.more[c.variant]}
		if t := p.entryAt(c.entryKey).time; t != noTime && t != e.Time.UnixNano() { // see [file.setWritten]
			h.Time = time.Unix(0, t)
		}
		has := make(map[string]bool, len(p.words.terms))
		text := excerptOf(e.Text, p.words.terms, p.idfs)
		h.Snippet, h.Highlights, h.Language = p.analyzer.buildSnippet(text, p.words.terms, has)
		if len(text) < len(e.Text) {
			p.addTerms(c.entryKey, has)
		}
		h.Missing, h.Partial = p.compareWords(e, h.Language, has)
		for _, o := range f.others[p.dupHash(c)] {
			if len(h.AlsoAt) == maxAlso {
				break
			}
			if ref := p.refTo(o.entryKey); ref != nil {
				h.AlsoAt = append(h.AlsoAt, *ref)
			}
		}
		if next, ok := p.findSuccessor(c.entryKey); ok {
			h.Successor = p.refTo(next)
		}
		if p.query.Cover {
			h.Cover = p.computeCover(c.entryKey, e)
			h.Close = p.isClose(c)
		}
		if p.query.Explain {
			why := p.explainScore(c)
			h.Why = &why
		}
		res.Hits = append(res.Hits, h)
	}
	res.Corrected = p.corrections(res.Hits)
}

// maxAlso bounds the length of Hit.AlsoAt.
const maxAlso = 10

// refTo returns the reference to an entry, or nil if its file has changed.
func (p *page) refTo(k entryKey) *Ref {
	doc, e := p.resolveEntry(k)
	if doc == nil {
		return nil
	}
	return &Ref{Path: doc.Place.Path, ID: e.ID, Line: e.Line}
}

// ByID returns the readable entries with an explicit id, ordered by path, or
// none. The errors are those of [Index.Search].
func (x *Index) ByID(ctx context.Context, view memory.View, id string) ([]Ref, error) {
	return x.findRefs(ctx, view, termKey(kindID, id))
}

// LinksTo returns the readable entries that may link to a file: by its path, or by one
// of its keys, see [memory.Document.NameKeys]. They are ordered by path. The errors
// are those of [Index.Search].
func (x *Index) LinksTo(ctx context.Context, view memory.View, path string, keys []string) ([]Ref, error) {
	terms := []string{termKey(kindLink, path)}
	for _, key := range keys {
		terms = append(terms, termKey(kindMention, key))
	}
	return x.findRefs(ctx, view, terms...)
}

// findRefs returns the readable entries that have one of the terms, given as keys
// without a partition.
func (x *Index) findRefs(ctx context.Context, view memory.View, terms ...string) (refs []Ref, err error) {
	wanted := map[string]bool{}
	for _, term := range terms {
		wanted[term] = true
	}
	err = x.browse(ctx, view, wanted, func(p *page) {
		var found []entryKey
		for _, term := range terms {
			p.eachEntry(term, func(k entryKey) { found = append(found, k) })
		}
		slices.SortFunc(found, p.inOrder)
		refs = nil
		for _, k := range slices.Compact(found) {
			if ref := p.refTo(k); ref != nil { // a later call finds the entries of a changed file
				refs = append(refs, *ref)
			}
		}
	})
	return refs, err
}
