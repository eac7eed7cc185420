package ipc

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// SearchRequest asks for entries.
type SearchRequest struct {
	Query           string   `json:"query" arg:"rest" doc:"words, all optional: more of them, and rarer ones, rank higher; a \"quoted phrase\" must occur"`
	Exclude         string   `json:"exclude" doc:"words and quoted phrases that no hit contains"`
	Limit           int      `json:"limit" default:"10" min:"1" max:"100" doc:"how many hits to return"`
	Offset          int      `json:"offset" min:"0" max:"100000" doc:"how many hits to leave out before the first"`
	Mode            string   `json:"mode" default:"relevance" enum:"relevance,overlap" doc:"relevance: best match first; overlap: share of the words found, recency and importance, computed exactly"`
	RecencyBias     *float64 `json:"recency_bias" default:"0.3" min:"0" max:"1" doc:"overlap: how much recency counts against text, 0 to 1"`
	AsOf            string   `json:"as_of" doc:"time that ages are counted from; now if not given"`
	All             bool     `json:"all" doc:"overlap: entries without any of the words too"`
	Kinds           []string `json:"kinds" enum:"note,session,daily,longterm,items,identity,archive" doc:"only files of these kinds"`
	Types           []string `json:"types" enum:"fact,preference,project,decision,crumb,request,result" doc:"only entries of these types"`
	Tags            []string `json:"tags" complete:"tag" doc:"only entries with all of these tags"`
	AnyTag          bool     `json:"any_tag" doc:"one of the tags is enough"`
	Sections        []string `json:"sections" complete:"section" doc:"only entries below a heading of one of these names"`
	Path            string   `json:"path" complete:"path" doc:"only files below this directory, or matching this glob"`
	Since           string   `json:"since" doc:"only entries of this day or time, or later"`
	Until           string   `json:"until" doc:"only entries of this day or time, or earlier"`
	State           string   `json:"state" enum:"open,done" doc:"only entries with a task in this state"`
	Session         string   `json:"session" complete:"session" doc:"only entries of this session"`
	Contact         string   `json:"contact" doc:"only entries of sessions with this contact"`
	IncludeArchived bool     `json:"include_archived" doc:"archived entries too"`
	Count           *bool    `json:"count" default:"true" doc:"what is returned counts as used, and is kept longer when long-term memory is tidied up"`
	Explain         bool     `json:"explain" doc:"take every score apart"`
	Fresh
	Scope
}

// RecentRequest asks for the newest entries.
type RecentRequest struct {
	Hours *float64 `json:"hours" default:"24" min:"0" max:"876000" arg:"1" doc:"how many hours to look back"`
	Tags  []string `json:"tags" complete:"tag" doc:"only entries with all of these tags"`
	Limit int      `json:"limit" default:"10" min:"1" max:"100" doc:"how many to return"`
	AsOf  string   `json:"as_of" doc:"time to look back from; now if not given"`
	Fresh
	Scope
}

// SearchAnswer is a page of hits.
type SearchAnswer struct {
	Hits   []Hit      `json:"hits"`
	Total  int        `json:"total"` // readable entries that match, before equal ones are folded
	AsOf   time.Time  `json:"as_of"`
	Note   string     `json:"note,omitempty"` // why there is nothing, or less than expected
	Index  IndexState `json:"index"`
	TookMS float64    `json:"took_ms"`

	Redaction
}

// A Hit is an entry that was found, as its file is now. Its lines are those of
// the file as the asking scope may see it.
type Hit struct {
	ID         string     `json:"id"` // path#id, which get takes
	Path       string     `json:"path"`
	Line       int        `json:"line"`
	EndLine    int        `json:"end_line"`
	Score      float64    `json:"score"`
	Kind       string     `json:"kind"`
	Subject    string     `json:"subject,omitempty"`
	Day        string     `json:"day,omitempty"`
	Session    string     `json:"session,omitempty"`
	Section    string     `json:"section,omitempty"`
	Title      string     `json:"title,omitempty"`
	Text       string     `json:"text"`
	Truncated  bool       `json:"truncated,omitempty"`
	Snippet    string     `json:"snippet,omitempty"`
	Highlights [][2]int   `json:"highlights,omitempty"` // of the snippet, in characters
	Type       string     `json:"type"`
	Tags       []string   `json:"tags,omitempty"`
	Importance float64    `json:"importance,omitempty"`
	Visibility string     `json:"visibility"`
	Task       string     `json:"task,omitempty"` // open while one of its tasks is, else done
	Added      string     `json:"added,omitempty"`
	Time       time.Time  `json:"time,omitzero"`
	Untrusted  bool       `json:"untrusted,omitempty"` // written by others than the subject: in public, or to a topic
	AlsoAt     []Place    `json:"also_at,omitempty"`   // where the same text stands too
	Stale      bool       `json:"stale,omitempty"`     // the file cannot be read: this is what it said last
	Why        *index.Why `json:"why,omitempty"`
}

// A Place is where an entry stands.
type Place struct {
	ID   string `json:"id"`
	Path string `json:"path"`
	Line int    `json:"line"`
}

// maxHitText is how many characters of an entry a hit shows.
const maxHitText = 2000

func (m *Memory) search(ctx context.Context, c Call, r *SearchRequest) (*SearchAnswer, error) {
	q := index.Query{
		Text: strings.TrimSpace(r.Query), Exclude: r.Exclude, Bias: *r.RecencyBias, All: r.All,
		Offset: r.Offset, Limit: r.Limit, Explain: r.Explain,
		Filter: index.Filter{
			Types: r.Types, Tags: r.Tags, AnyTag: r.AnyTag, Sections: r.Sections, Path: r.Path,
			Session: r.Session, Contact: r.Contact, Archived: r.IncludeArchived,
		},
	}
	q.Mode, _ = index.ParseMode(r.Mode) // the tag admits no others
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
		return nil, Errorf(Invalid, "path: %v", err)
	}
	if err := index.CheckText(r.Query); err != nil {
		return nil, Errorf(Invalid, "query: %v", err)
	}
	if err := index.CheckExclude(r.Exclude); err != nil {
		return nil, Errorf(Invalid, "exclude: %v", err)
	}
	var err error
	if q.Filter.Since, _, err = m.times("since", r.Since); err != nil {
		return nil, err
	}
	if _, q.Filter.Until, err = m.times("until", r.Until); err != nil {
		return nil, err
	}
	return m.find(ctx, c, q, r.AsOf, r.Fresh, *r.Count)
}

func (m *Memory) recent(ctx context.Context, c Call, r *RecentRequest) (*SearchAnswer, error) {
	from, _, err := m.times("as_of", r.AsOf)
	if err != nil {
		return nil, err
	}
	q := index.Query{Mode: index.Recent, Limit: r.Limit, Filter: index.Filter{Tags: r.Tags, Until: from}}
	if from.IsZero() {
		from = m.now()
	}
	q.Filter.Since = from.Add(-time.Duration(*r.Hours * float64(time.Hour)))
	answer, err := m.find(ctx, c, q, r.AsOf, r.Fresh, true)
	if err == nil && answer.Total == 0 && answer.Note == nothing(c) {
		answer.Note = fmt.Sprintf("%s; entries of the last %g h were looked at", answer.Note, *r.Hours)
	}
	return answer, err
}

// find asks the index.
func (m *Memory) find(ctx context.Context, c Call, q index.Query, asOf string, f Fresh, count bool) (*SearchAnswer, error) {
	start := time.Now()
	var err error
	if q.AsOf, _, err = m.times("as_of", asOf); err != nil {
		return nil, err
	}
	if q.AsOf.IsZero() {
		q.AsOf = m.now().UTC().Truncate(time.Second)
	}
	synced, err := m.sync(ctx, &c, f)
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	result, err := m.Index.Search(ctx, c.View, q)
	if err != nil {
		return nil, err
	}
	m.queries.Add(time.Since(asked))
	answer := &SearchAnswer{
		Hits: make([]Hit, len(result.Hits)), Total: result.Total, AsOf: q.AsOf.UTC(), Note: result.Note,
		Index: m.state(c, synced), TookMS: milliseconds(time.Since(start)),
	}
	answer.Index.Degraded = answer.Index.Degraded || result.Degraded
	for i, h := range result.Hits {
		answer.Hits[i] = hitOf(c, h)
	}
	if answer.Total == 0 && answer.Note == "" {
		answer.Note = nothing(c)
	}
	if count {
		ids := make([]string, len(answer.Hits))
		for i, h := range answer.Hits {
			ids[i] = h.ID
		}
		m.used(ids...)
	}
	return answer, nil
}

// nothing says why there is nothing, as far as that is the caller's doing.
func nothing(c Call) string {
	switch {
	case c.Scope.Subject == "":
		return "nothing matches; without a subject, only public text that is nobody's is searched"
	case c.Scope.Context != memory.Private:
		return "nothing matches; outside a private context, only public text is searched"
	}
	return "nothing matches"
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func hitOf(c Call, h index.Hit) Hit {
	doc, e := h.Doc, h.Entry
	shown := doc.Shown(c.View)
	out := Hit{
		ID: doc.Place.Path + "#" + e.ID, Path: doc.Place.Path,
		Line: shown.Line(e.Line), EndLine: shown.Line(e.EndLine),
		Score: h.Score, Kind: doc.Place.Kind.String(), Subject: c.View.SubjectOf(e.Partition),
		Day: doc.Place.Day, Session: sessionOf(c, doc), Section: strings.Join(e.Sections, " > "),
		Title: e.Title, Snippet: h.Snippet, Highlights: h.Highlights, Type: e.Type, Tags: e.Tags,
		Importance: e.Importance, Visibility: e.Partition.Visibility.String(), Task: taskState(e.Tasks),
		Added: e.Added, Time: e.Time.UTC(), Untrusted: e.Untrusted(), Stale: doc.Stale, Why: h.Why,
	}
	out.Text, out.Truncated = firstRunes(e.Text, maxHitText)
	for _, ref := range h.AlsoAt {
		out.AlsoAt = append(out.AlsoAt, Place{ID: ref.Path + "#" + ref.ID, Path: ref.Path, Line: ref.Line})
	}
	return out
}

// sessionOf is the id of a session: what its file says, if the caller may see
// that, else the name of the file.
func sessionOf(c Call, doc *memory.Document) string {
	if id := doc.Front.SessionID; id != "" && c.View.Readable(doc.Own) {
		return id
	}
	return doc.Place.Session
}

func taskState(tasks []memory.Task) string {
	if len(tasks) == 0 {
		return ""
	}
	for _, t := range tasks {
		if t.State == memory.Open {
			return memory.Open.String()
		}
	}
	return memory.Done.String()
}

// firstRunes is the beginning of a text, and whether there is more.
func firstRunes(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	for i := range s {
		if n--; n < 0 {
			return s[:i], true
		}
	}
	return s, false
}

// times is the first and the last moment of a time or a day, zero if there is
// none.
func (m *Memory) times(name, s string) (first, last time.Time, err error) {
	if s == "" {
		return time.Time{}, time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, t, nil
	}
	d, err := time.ParseInLocation(time.DateOnly, s, m.location())
	if err != nil || !utf8.ValidString(s) {
		return time.Time{}, time.Time{}, Errorf(Invalid, "%s: %q is neither a day such as 2026-02-04 nor a time such as 2026-02-04T12:30:00Z", name, s)
	}
	return d, d.AddDate(0, 0, 1).Add(-time.Nanosecond), nil
}
