package index

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/memory"
)

type entryKey struct {
	file  uint32
	entry int32
}

// buildHits sets the page of hits, and returns the number of candidates with all words of the
// query.
func (s *search) buildHits(res *Result) (withAll int) {
	if s.err != nil {
		return 0
	}
	f := s.foldCandidates(s.query.Offset, s.query.Limit)
	res.Total, res.Files, res.Next, res.Note = f.total.entries, f.total.files, f.next, s.phraseNote(f.total.entries)
	var files []*file
	for _, c := range f.hits {
		files = append(files, s.table.fileAt(c.file))
	}
	s.loadFiles(files...)
	for _, c := range f.hits {
		doc, e := s.resolveEntry(c.entryKey)
		if doc == nil {
			continue // the entry has changed
		}
		if s.isSummary(c) && doc.Summary(s.view) != "" {
			e = doc.SummaryEntry(e)
		}
		h := Hit{Doc: doc, Entry: e, Score: c.score, Time: e.Time, More: f.more[c.file]}
		switch t := s.entryAt(c.entryKey).time; {
		case s.copied(c.file):
			h.Time = time.Time{}
		case t != noTime && t != e.Time.UnixNano(): // see [file.setWritten]
			h.Time = time.Unix(0, t)
		}
		s.describeHit(c, &h)
		for _, o := range f.others[s.dupHash(c)] {
			if len(h.AlsoAt) == maxAlso {
				break
			}
			if ref := s.refTo(o.entryKey); ref != nil {
				h.AlsoAt = append(h.AlsoAt, *ref)
			}
		}
		if next, ok := s.findSuccessor(c.entryKey); ok {
			h.Successor = s.refTo(next)
		}
		if s.query.Explain {
			why := s.explainScore(c)
			h.Why = &why
		}
		res.Hits = append(res.Hits, h)
	}
	res.Corrected = s.corrections(res.Hits)
	return f.total.withAll
}

// isSummary reports whether a candidate stands for the summary of a session, because the words
// of the query are only there.
func (s *ranked) isSummary(c candidate) bool {
	i := s.at[c.file]
	return i > 0 && s.accs[i-1].some == 0 && s.meaning.ranks[c.entryKey] == nil &&
		s.table.fileAt(c.file).Kind == memory.Session
}

// describeHit sets the fields that compare a hit with the words of the query.
func (s *search) describeHit(c candidate, h *Hit) {
	e := h.Entry
	has := make(map[string]bool, len(s.words.terms))
	text := excerptOf(e.Text, s.words.terms, s.idfs)
	h.Snippet, h.Highlights, h.Language = s.analyzer.buildSnippet(text, s.words.terms, has)
	head := strings.Join(append(slices.Concat(headingsOf(h.Doc, e), e.Tags), e.Title, h.Language), "\n")
	short := excerptOf(head, s.words.terms, s.idfs)
	s.analyzer.eachToken(short, func(t token) { has[t.term] = true })
	if len(text) < len(e.Text) || len(short) < len(head) {
		s.addTerms(c.entryKey, has)
	}
	h.Missing = s.missingWords(head+"\n"+e.Text, has)
	if s.query.Cover {
		h.Cover, h.Close, h.Shares = s.computeCover(c.entryKey, has), s.isClose(c), s.sharesWord(text)
	}
}

const maxAlso = 10 // references in Hit.AlsoAt

// refTo returns the reference to an entry, or nil if its file has changed.
func (s *reader) refTo(k entryKey) *Ref {
	doc, e := s.resolveEntry(k)
	if doc == nil {
		return nil
	}
	return &Ref{Path: doc.Place.Path, ID: e.ID, Line: e.Line}
}

// loaders bounds the number of files that are read concurrently.
const loaders = 4

// loadFiles reads files that have not been read.
func (s *reader) loadFiles(all ...*file) {
	if s.err != nil {
		return
	}
	var files []*file
	for _, f := range all {
		if _, ok := s.documents[f]; !ok {
			s.documents[f] = nil
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return
	}
	docs := make([]*memory.Document, len(files))
	var g errgroup.Group
	g.SetLimit(loaders)
	for i, f := range files {
		g.Go(func() error {
			return recoverPanic("read file", func() error {
				doc, err := s.source.Load(f.Path)
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				docs[i] = doc
				return err
			})
		})
	}
	s.err = g.Wait()
	for i, f := range files {
		s.documents[f] = docs[i]
	}
}

// resolveEntry returns the current version of an entry and the part of its file that the
// view can read. If the file has changed since it was indexed, it is the entry with the
// same text. If there is none, resolveEntry returns nil, and the result is degraded until
// the index has the change.
func (s *reader) resolveEntry(k entryKey) (*memory.Document, *memory.Entry) {
	v := s.table.fileAt(k.file)
	s.loadFiles(v)
	if s.err != nil {
		return nil, nil
	}
	doc := s.documents[v.file]
	if doc != nil && s.view.Readable(doc.Partition) {
		doc = withTitle(doc)
		for n := range doc.Entries { // first the one at the same place
			e := doc.ShownEntry((n + int(k.entry)) % len(doc.Entries))
			if dupOf(e.Norm) == v.entries[k.entry].dup {
				return doc, e
			}
		}
	}
	s.degraded, s.changed = true, true
	return nil, nil
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
	terms := []key{termKey(kindLink, path)}
	for _, key := range keys {
		terms = append(terms, termKey(kindMention, key))
	}
	return x.findRefs(ctx, view, terms...)
}

// findRefs returns the readable entries that have one of the terms, given as keys
// without a partition.
func (x *Index) findRefs(ctx context.Context, view memory.View, terms ...key) (refs []Ref, err error) {
	err = x.browse(ctx, view, func(s *reader) {
		var found []entryKey
		for _, term := range terms {
			s.eachEntry(term, func(k entryKey) { found = append(found, k) })
		}
		slices.SortFunc(found, s.inOrder)
		for _, k := range slices.Compact(found) {
			if ref := s.refTo(k); ref != nil { // a later call finds the entries of a changed file
				refs = append(refs, *ref)
			}
		}
	})
	return refs, err
}
