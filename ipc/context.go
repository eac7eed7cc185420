package ipc

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/brief"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// ContextRequest asks for a block of text for a prompt.
type ContextRequest struct {
	Query    string  `json:"query" arg:"rest" doc:"relevant: what the entries should be about, such as what a person has just said; quotes mean nothing in it"`
	Format   string  `json:"format" default:"summary" enum:"summary,boot,full,items,relevant" doc:"summary: the summaries of long-term memory and of the recent sessions, with their paths; boot: who the agent is, whom it helps, the notes of today and yesterday, and MEMORY.md; full: MEMORY.md alone; items: the keyed items; relevant: the entries that match a query"`
	Session  string  `json:"session" complete:"session" doc:"summary: id of the session that asks: its file of today comes first"`
	Days     int     `json:"days" min:"0" max:"3650" doc:"summary: how many days of sessions; 0 for as many as are configured"`
	Limit    int     `json:"limit" default:"8" min:"1" max:"100" doc:"relevant: how many entries at most"`
	MinCover float64 `json:"min_cover" min:"0" max:"1" doc:"relevant: the share of the query that an entry has to cover, its rarer words counting more: 0 for any; 0.4 leaves out what only shares a word or two with it by chance"`
	MaxItems *int    `json:"max_items" min:"0" max:"10000" doc:"summary, items: how many lines or items at most, if fewer than are configured"`
	MaxChars *int    `json:"max_chars" min:"0" max:"10000000" doc:"boot, full, items, relevant: how many characters at most, if fewer than are configured"`
	Lang     string  `json:"lang" enum:"en,zh" doc:"boot, full: in which language memwatchd's own words are; that of the text if not given"`
	Count    *bool   `json:"count" default:"true" doc:"relevant: what is shown counts as used, and is kept longer when long-term memory is tidied up"`
	Fresh
	Scope
}

// ContextAnswer is a block of text for a prompt. It is empty where nothing is
// to be shown.
type ContextAnswer struct {
	Text    string     `json:"text"`
	Items   int        `json:"items"`  // lines, files, items or entries
	Chars   int        `json:"chars"`  // characters
	Tokens  int        `json:"tokens"` // roughly
	LeftOut brief.Left `json:"left_out"`
	Hints   []string   `json:"hints"`
	Index   IndexState `json:"index"`

	Redaction
}

func (m *Memory) context(ctx context.Context, c Call, r *ContextRequest) (*ContextAnswer, error) {
	if err := m.fits(r); err != nil {
		return nil, err
	}
	synced, err := m.sync(ctx, &c, r.Fresh)
	if err != nil {
		return nil, err
	}
	answer := &ContextAnswer{Hints: []string{}, Index: m.state(c, synced)}
	if !m.Injection || m.Disabled {
		answer.Hints = append(answer.Hints, "injection is switched off in the configuration")
		return answer, nil
	}
	block, err := m.block(ctx, c, r)
	if err != nil {
		return nil, err
	}
	answer.Text, answer.Items, answer.LeftOut = block.Text, block.Items, block.Left
	answer.Chars, answer.Tokens = brief.Chars(block.Text), brief.Tokens(block.Text)
	answer.Hints = append(append(answer.Hints, m.nearLimits(c)...), block.Hints...)
	return answer, nil
}

// fits says no to a request whose parts do not go together.
func (m *Memory) fits(r *ContextRequest) error {
	switch {
	case r.Format == "relevant" && strings.TrimSpace(r.Query) == "":
		return Errorf(Invalid, "query: the format relevant needs one")
	case r.Format != "relevant" && r.Query != "":
		return Errorf(Invalid, "query: the format %s has none", r.Format).hint("use the format relevant")
	case r.Format == "summary" && r.MaxChars != nil:
		return Errorf(Invalid, "max_chars: the format summary is bounded by max_items alone")
	}
	return nil
}

// block renders what was asked for.
func (m *Memory) block(ctx context.Context, c Call, r *ContextRequest) (brief.Block, error) {
	style := m.style(c, r.Lang)
	if r.MaxItems != nil {
		style.MaxItems = min(style.MaxItems, *r.MaxItems)
	}
	if r.Format == "boot" || r.Format == "full" {
		style.MaxChars = brief.NoLimit // what bounds them is of MEMORY.md alone
	}
	if r.MaxChars != nil && (style.MaxChars < 0 || *r.MaxChars < style.MaxChars) {
		style.MaxChars = *r.MaxChars
	}
	switch r.Format {
	case "boot":
		return style.Boot(m.waking(c)), nil
	case "full":
		return style.Full(m.wholeLongTerm(c)), nil
	case "items":
		return style.Items(m.allItems(c)), nil
	case "relevant":
		return m.relevant(ctx, c, style, r)
	}
	return style.Summary(docsOf(m.longTerm(c)), docsOf(m.shortTerm(c, r.Days, r.Session))), nil
}

// style is how blocks are made for a caller.
func (m *Memory) style(c Call, lang string) brief.Style {
	return brief.Style{
		View: c.View, Omit: m.OmitUntrusted, Lang: brief.Lang(lang),
		MaxItems: m.MaxItems, MaxChars: m.MaxChars, MaxFull: m.MaxFull,
	}
}

// coverDepth is how many of the best entries are asked how much of the query
// they cover: those that cover most of it are not always those that rank best.
const coverDepth = 32

// relevant renders what matches.
func (m *Memory) relevant(ctx context.Context, c Call, style brief.Style, r *ContextRequest) (brief.Block, error) {
	limit := r.Limit
	if r.MinCover > 0 {
		limit = max(limit, coverDepth)
	}
	result, err := m.Index.Search(ctx, c.View, index.Query{
		Text: strings.TrimSpace(index.Unquoted(r.Query)), Limit: limit, Cover: r.MinCover > 0, AsOf: m.now().UTC().Truncate(time.Second),
	})
	if err != nil {
		return brief.Block{}, err
	}
	hits := slices.DeleteFunc(result.Hits, func(h index.Hit) bool { return h.Cover < r.MinCover })
	hits = hits[:min(len(hits), r.Limit)]
	matches := make([]brief.Match, len(hits))
	for i, h := range hits {
		shown := h.Doc.Shown(c.View)
		matches[i] = brief.Match{Path: h.Doc.Place.Path, Line: shown.Line(h.Entry.Line), Entry: h.Entry, Snippet: h.Snippet}
	}
	style.MaxItems = r.Limit
	block, shown := style.Relevant(matches)
	if *r.Count {
		ids := make([]string, len(shown))
		for i, n := range shown {
			ids[i] = matches[n].Path + "#" + matches[n].Entry.ID
		}
		m.used(ids...)
	}
	return block, nil
}

// waking is what an agent reads when it wakes: who it is, whom it helps, the
// notes of today and yesterday, and MEMORY.md.
func (m *Memory) waking(c Call) brief.Waking {
	var logs []*memory.Document
	today, yesterday := m.day(0), m.day(-1)
	for doc := range m.readable(c, func(f *index.FileInfo) bool {
		return (f.Day == today || f.Day == yesterday) && (f.Kind == memory.Daily || f.Kind == memory.Session)
	}) {
		if doc.Place.Kind == memory.Daily || m.isLog(c, doc) {
			logs = append(logs, doc)
		}
	}
	slices.SortStableFunc(logs, func(a, b *memory.Document) int { return strings.Compare(b.Place.Day, a.Place.Day) })
	return brief.Waking{Identity: docsOf(m.identity(c)), Logs: logs, LongTerm: m.wholeLongTerm(c)}
}

// wholeLongTerm is what the caller can read of the long-term files that are
// shown whole, which are those by the name of MEMORY.md.
func (m *Memory) wholeLongTerm(c Call) []*memory.Document {
	var docs []*memory.Document
	for doc := range m.readable(c, func(f *index.FileInfo) bool {
		return f.Kind == memory.Longterm && path.Base(f.Path) == "MEMORY.md"
	}) {
		docs = append(docs, doc)
	}
	rank := m.rank(c)
	slices.SortStableFunc(docs, func(a, b *memory.Document) int { return cmp.Compare(rank(a), rank(b)) })
	return docs
}

// allItems are the items that the caller can read, one of each key.
func (m *Memory) allItems(c Call) []brief.Item {
	found := union(m.items(c, "", func(string) bool { return true }))
	items := make([]brief.Item, len(found))
	for i, f := range found {
		items[i] = brief.Item{Namespace: f.name.namespace, Key: f.name.key, Value: f.value, Untrusted: f.entry.Untrusted()}
	}
	return items
}

func docsOf(files []shownFile) []*memory.Document {
	docs := make([]*memory.Document, len(files))
	for i, f := range files {
		docs[i] = f.doc
	}
	return docs
}

// oneLine is a text with its line breaks and other white space as single
// spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
