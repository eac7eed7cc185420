package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

// maxHitText bounds the text of a hit, its section and its title, in characters, and
// maxHitTags the number of its tags.
const (
	maxHitText = 2000
	maxHitTags = 100
)

func (m readOps) search(ctx context.Context, c Call, r *api.SearchRequest) (*api.SearchAnswer, error) {
	c, err := m.withRoots(ctx, c, r.Roots)
	if err != nil {
		return nil, err
	}
	q := index.Query{
		Weights: m.rootWeights(),
		Text:    strings.TrimSpace(r.Query), Exact: r.Phrase == "required", KeepTypos: r.Typos == "keep",
		Exclude: r.Exclude, Bias: *r.RecencyBias, All: r.All, Offset: r.Offset, Limit: r.Limit, Explain: r.Explain,
		Typing: r.Typing && strings.TrimRight(r.Query, " ") == r.Query,
		ByFile: r.Group == "file" && r.Mode != "overlap", // its unit is the entry
		Filter: index.Filter{
			Types: r.Types, Tags: r.Tags, AnyTag: r.AnyTag, Sections: r.Sections, Path: r.Path,
			Session: r.Session, Contact: r.Contact, Archived: r.IncludeArchived, Review: r.Review,
		},
	}
	if r.Mode == "overlap" {
		q.Mode = index.Overlap
	}
	for _, name := range r.Kinds {
		kind, _ := memory.ParseKind(name)
		q.Filter.Kinds = append(q.Filter.Kinds, kind)
	}
	if r.State != "" {
		state := memory.Open
		if r.State == memory.Done.String() {
			state = memory.Done
		}
		q.Filter.State = &state
	}
	if err := index.CheckPath(r.Path); err != nil {
		return nil, api.Errorf(api.Invalid, "path: %v", err)
	}
	if err := index.CheckText(r.Query); err != nil {
		return nil, api.Errorf(api.Invalid, "query: %v", err)
	}
	if err := index.CheckExclude(r.Exclude); err != nil {
		return nil, api.Errorf(api.Invalid, "exclude: %v", err)
	}
	if q.Exact && index.Unquoted(r.Query) == r.Query {
		return nil, api.Errorf(api.Invalid, "phrase: no effect on a query without a quoted phrase").
			WithHint("write the phrase in quotation marks, which a shell needs within others: '\"blue bike\"'")
	}
	q.Filter.Since, _, err = m.parsePeriod("since", r.Since)
	if err != nil {
		return nil, err
	}
	_, q.Filter.Until, err = m.parsePeriod("until", r.Until)
	if err != nil {
		return nil, err
	}
	semantic := m.useMeaning(ctx, c, &q, r.Mode)
	answer, err := m.runQuery(ctx, c, q, r.AsOf, *r.Count)
	if err == nil && semantic != nil {
		answer.Index.Semantic = semantic
		if r.Mode != "auto" && answer.Note == "" {
			answer.Note = semanticNotes[semantic.State]
		}
	}
	if err == nil && answer.Total == 0 && answer.Note == noMatchNote(c) {
		q.Filter, q.Offset, q.Limit, q.AsOf = index.Filter{Archived: true}, 0, 1, m.Now()
		q.KeepTypos = true // a correction takes longer than the rest of the search
		all, err := m.Index.Search(ctx, c.View, q)
		if err != nil {
			return nil, err
		}
		if all.Total > 0 {
			answer.Note += "; without the filters, or in the archive: " + api.Plural(all.Total, "entry")
		}
	}
	return answer, err
}

func (m readOps) recent(ctx context.Context, c Call, r *api.RecentRequest) (*api.SearchAnswer, error) {
	from, _, err := m.parsePeriod("as_of", r.AsOf)
	if err != nil {
		return nil, err
	}
	q := index.Query{Mode: index.Recent, Limit: r.Limit, Filter: index.Filter{Tags: r.Tags, Until: from}}
	from = cmp.Or(from, m.Now())
	q.Filter.Since, _, err = m.parsePeriod("since", r.Since)
	if err != nil {
		return nil, err
	}
	searched := "since " + r.Since
	if r.Since == "" {
		q.Filter.Since = from.Add(-time.Duration(*r.Hours * float64(time.Hour)))
		searched = fmt.Sprintf("of the last %g h", *r.Hours)
	}
	answer, err := m.runQuery(ctx, c, q, r.AsOf, true)
	if err == nil && answer.Total == 0 && answer.Note == noMatchNote(c) {
		answer.Note = answer.Note + "; searched entries " + searched
	}
	return answer, err
}

// runQuery searches and describes the result. If a file of the result was saved after it was
// indexed, runQuery synchronizes the index and searches again.
func (m readOps) runQuery(ctx context.Context, c Call, q index.Query, asOf string, count bool) (*api.SearchAnswer,
	error) {
	var err error
	q.AsOf, _, err = m.parsePeriod("as_of", asOf)
	if err != nil {
		return nil, err
	}
	q.AsOf = cmp.Or(q.AsOf, m.Now().Truncate(time.Second))
	q.AsOf = q.AsOf.In(m.Location) // of the days that the query names
	asked := time.Now()
	result, shared, err := m.searchAll(ctx, c, q)
	if err == nil && result.Changed { // a file was saved after it was indexed
		if err := m.syncIndex(ctx, &c); err != nil {
			return nil, err
		}
		result, shared, err = m.searchAll(ctx, c, q)
	}
	if err != nil {
		return nil, err
	}
	m.queries.Add(time.Since(asked))
	answer := &api.SearchAnswer{
		Hits: make([]api.Hit, len(result.Hits)), Total: result.Total, TotalAll: result.TotalAll,
		Absent: result.Absent, Files: result.Files, Next: result.Next, AsOf: q.AsOf.UTC(), Note: result.Note,
		Corrected: result.Corrected,
		Index:     m.indexState(c), TookMS: c.took(),
	}
	answer.Index.Degraded, answer.Index.Shared = answer.Index.Degraded || result.Degraded, shared
	for i, h := range result.Hits {
		answer.Hits[i] = hitOf(c, h)
	}
	answer.Index.Explain(c.waits)
	state := &answer.Index
	behind := !state.Synced && (c.waits || state.Pending != nil && *state.Pending > 0)
	if behind || state.Notice != "" {
		answer.Absent, answer.Note = nil, "" // not known before the index is complete
		if state.Notice == "" && answer.Total == 0 {
			answer.Note = noMatchNote(c) + ", but recent saves may be missing"
		}
	} else if answer.Total == 0 && answer.Note == "" {
		answer.Note = noMatchNote(c)
	}
	if count {
		var ids []string
		for _, h := range answer.Hits {
			if h.Host == "" {
				ids = append(ids, h.ID)
			}
		}
		m.recordUse(ids...)
	}
	return answer, nil
}

// noMatchNote explains an empty result, as far as the caller's scope is the cause.
func noMatchNote(c Call) string {
	switch {
	case c.disabled:
		return "memory is disabled: set memory.enabled to true"
	case c.Scope.Subject == "":
		return "nothing matches; without a subject, only public text without an owner is searched"
	case c.Scope.Context != memory.Private:
		return "nothing matches; outside a private context, only public text is searched"
	}
	return "nothing matches"
}

// hitOf converts a hit for an answer, with bounded texts.
func hitOf(c Call, h index.Hit) api.Hit {
	doc, e := h.Doc, h.Entry
	section, _ := index.FirstRunes(strings.Join(e.Sections, " > "), maxHitText)
	title, _ := index.FirstRunes(e.Title, maxHitText)
	out := api.Hit{
		ID: entryID(doc.Place.Path, e.ID), Path: doc.Place.Path, Host: doc.Place.Host, Line: e.Line, EndLine: e.EndLine,
		Score: h.Score, Kind: doc.Place.Kind.String(), Subject: c.View.SubjectOf(e.Partition),
		Day: doc.Place.Day, Session: sessionOf(c, doc), Section: section,
		Title: title, Snippet: h.Snippet, Language: h.Language, Highlights: h.Highlights, Type: e.Type,
		Tags:       e.Tags[:min(len(e.Tags), maxHitTags)],
		Importance: e.Importance, Visibility: e.Partition.Visibility.String(), Task: e.TaskState(),
		Added: e.Added, Time: h.Time.UTC(), Untrusted: e.Author().Untrusted(c.View), Stale: doc.Stale, More: h.More,
		Missing: h.Missing, Conflict: doc.Place.Copy,
		Why: h.Why,
	}
	if out.Untrusted && out.Host == "" {
		out.Source = cmp.Or(e.By, e.Source)
	}
	out.Text, out.Truncated = index.FirstRunes(e.Text, maxHitText)
	out.AlsoAt = convertEach(h.AlsoAt, placeOf)
	if h.Successor != nil {
		place := placeOf(*h.Successor)
		out.SupersededBy = &place
	}
	return out
}

// entryID returns the id of an entry, or of a file if its title is the entry.
func entryID(path, id string) string { return strings.TrimSuffix(path+"#"+id, "#") }

func placeOf(r index.Ref) api.Place {
	return api.Place{ID: entryID(r.Path, r.ID), Path: r.Path, Line: r.Line}
}

// sessionOf returns the id of a session: the one in its file, if the caller may
// read that, otherwise the name of the file.
func sessionOf(c Call, doc *memory.Document) string {
	if id := doc.Front.SessionID; id != "" && c.View.Readable(doc.Partition) {
		return id
	}
	return doc.Place.Session
}

// maxQueryText bounds the text of a query that is embedded, in characters.
const maxQueryText = 2000

// promptWait bounds the wait for the vector of a prompt. A hook must answer in less
// than 300 ms, whatever the limit of other queries is.
const promptWait = 100 * time.Millisecond

// useMeaning makes a query compare meanings, if the mode admits it and the vector of
// the query is there in time. It returns what the answer reports about that, or
// nil if the mode does not concern it.
func (m readOps) useMeaning(ctx context.Context, c Call, q *index.Query, mode string) *api.Semantic {
	if q.Text == "" || mode != "auto" && mode != "hybrid" && mode != "semantic" || mode == "auto" && m.Vectors == nil {
		return nil
	}
	s := &api.Semantic{State: "off"}
	if m.Vectors == nil {
		return s
	}
	for _, p := range c.View.Partitions() {
		ready, pending := m.Vectors.Count(p)
		s.Ready += ready
		s.Pending += pending
	}
	if mode != "semantic" && (q.Typing || index.WordsOnly(q.Text)) {
		s.State = "exact"
		return s
	}
	text := strings.TrimSpace(index.Unquoted(q.Text))
	if secrets.MatchingRule(q.Text) != "" || secrets.MatchingRule(text) != "" {
		s.State = "private" // before a credential is cut
		return s
	}
	text, _ = index.FirstRunes(text, maxQueryText)
	nearest, err := m.Vectors.Query(ctx, text, c.View.Private())
	switch {
	case err == nil:
		s.State, q.Nearest, q.MeaningOnly = "used", nearest, mode == "semantic"
	case errors.Is(err, index.ErrPrivateQuery):
		s.State = "private"
	case errors.Is(err, context.DeadlineExceeded):
		s.State = "timeout"
	default:
		s.State = "error"
	}
	return s
}

// semanticNotes explain, by state, why a search that requires meanings is by words.
var semanticNotes = map[string]string{
	"off":     "semantic search is off; these hits are by words: set embed.endpoint and embed.model",
	"private": "private queries are not embedded; these hits are by words: set embed.private to allow it",
	"timeout": "the embeddings endpoint did not answer in time; these hits are by words",
	"error":   "the embeddings endpoint failed; these hits are by words: see `memwatchd status`",
}
