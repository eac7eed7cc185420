package index

import (
	"slices"
	"strings"
	"time"
)

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
		if s.copied(c.file) {
			h.Time = time.Time{}
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
