package ops

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/brief"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/memory"
)

func (m readOps) context(ctx context.Context, c Call, r *api.ContextRequest) (*api.ContextAnswer, error) {
	if r.Format == "relevant" && strings.TrimSpace(r.Query) == "" {
		return nil, api.Errorf(api.Invalid, "query: required by the format relevant")
	}
	answer := &api.ContextAnswer{Hints: []string{}, Index: m.indexState(c)}
	if !m.Injection || m.Disabled {
		answer.Hints = append(answer.Hints, "injection is disabled in the configuration")
		return answer, nil
	}
	block, err := m.renderBlock(ctx, c, r, &answer.Index)
	if err != nil {
		return nil, err
	}
	answer.Text, answer.Items, answer.LeftOut = block.Text, block.Items, block.Omitted
	answer.Chars, answer.Tokens = brief.Chars(block.Text), brief.Tokens(block.Text)
	if r.Format != "auto" { // its block contains them
		lang := cmp.Or(brief.Lang(r.Lang), brief.LanguageOf(block.Text))
		answer.Hints = append(answer.Hints, m.limitHints(c, lang)...)
	}
	if block.Text == "" {
		answer.Hints = append(answer.Hints, m.emptyReason(c, r, block.Omitted, &answer.Index))
	}
	return answer, nil
}

// emptyReason returns a hint that explains an empty block.
func (m readOps) emptyReason(c Call, r *api.ContextRequest, left api.Omitted, state *api.IndexState) string {
	state.Explain(c.waits)
	switch {
	case left != api.Omitted{}:
		return "the block is empty: everything was omitted; raise the limits"
	case state.Notice != "":
		return "the block is empty"
	case r.Format == "relevant":
		return "the block is empty: no entry matches the query, or the session has been shown all that do"
	case !c.View.Private():
		return "the block is empty: this context shows nothing of this format"
	case r.Format == "auto":
		for range m.readableFiles(c, func(*index.FileInfo) bool { return true }) {
			return "the block is empty: there is no long-term memory, and nothing of recent days; search for older entries"
		}
		return "the block is empty: nothing was saved yet; save with remember or note"
	}
	return "the block is empty: there is nothing of this format; use the format auto"
}

// renderBlock renders the requested context block. It sets the state of the search by
// meaning and of that in the shared store.
func (m readOps) renderBlock(ctx context.Context, c Call, r *api.ContextRequest, state *api.IndexState) (brief.Block,
	error) {
	style := m.blockStyle(ctx, c, r.Lang)
	if r.MaxItems != nil {
		style.MaxItems = min(style.MaxItems, *r.MaxItems)
	}
	if slices.Contains([]string{"auto", "boot", "full"}, r.Format) {
		style.MaxChars = brief.NoLimit // only MEMORY.md is limited
	}
	if r.MaxChars != nil {
		style.MaxChars = min(style.MaxChars, *r.MaxChars)
	} else if r.Format == "auto" {
		style.MaxChars = brief.DefaultStartChars
	}
	switch r.Format {
	case "auto":
		files := m.startFiles(c, r)
		block := style.Start(files)
		m.shown.restart(c, r.Session, block.Text)
		m.recordInjected(c, block, pathsOf(slices.Concat(files.Identity, files.LongTerm, files.Index, files.Logs, files.Recent)))
		return block, nil
	case "boot":
		return style.Boot(m.bootFiles(c)), nil
	case "full":
		return style.Full(m.completeLongTerm(c)), nil
	case "items":
		items := m.allItems(c)
		if len(r.Namespaces) > 0 {
			items = slices.DeleteFunc(items,
				func(i brief.Item) bool { return !slices.Contains(r.Namespaces, i.Namespace) })
		}
		return style.Items(items), nil
	case "relevant":
		return m.renderRelevant(ctx, c, style, r, state)
	}
	return style.Summary(m.longTerm(c), m.shortTerm(c, r.Days, r.Session)), nil
}

func (m readOps) blockStyle(ctx context.Context, c Call, lang string) brief.Style {
	return brief.Style{
		Successors: func(doc *memory.Document) map[string]string {
			ids := map[string]string{}
			refs, _ := m.Index.Successors(ctx, c.View, doc.Place.Path) // without them the file is shown as it is
			for id, ref := range refs {
				ids[id] = ref.Path + "#" + ref.ID
			}
			return ids
		},
		View: c.View, Today: m.day(0), Lang: brief.Lang(lang),
		MaxItems: m.MaxItems, MaxChars: m.MaxChars, MaxFull: m.MaxFull,
	}
}

// coverDepth is how many of the best entries are examined for their query
// coverage. The entries with the highest coverage are not always those with the
// highest rank.
const coverDepth = 32

// renderRelevant renders the entries that match the query, and records their use. It sets the
// state as relevantHits does.
func (m readOps) renderRelevant(ctx context.Context, c Call, style brief.Style, r *api.ContextRequest,
	state *api.IndexState) (brief.Block, error) {
	// A folder that cannot be read now must not keep the memory out of a prompt.
	m.syncRoots(ctx, &c, r.Roots)
	state.Synced = c.synced
	c.View = c.View.WithRoots(slices.DeleteFunc(slices.Clone(r.Roots), m.isRootMissing)...)
	style.View = c.View
	hits, later, err := m.relevantHits(ctx, c, r, state)
	if err != nil {
		return brief.Block{}, err
	}
	matches, err := m.matchesOf(ctx, c, hits)
	if err != nil {
		return brief.Block{}, err
	}
	for i := range matches {
		matches[i].SaidLater = later[matches[i].Place()]
	}
	if c.FullAccess && c.operator && filepath.IsAbs(r.Dir) { // others, such as models, must not learn times of files
		m.findNewer(r.Dir, matches)
	}
	style.MaxItems = r.Limit
	style.MaxTokens = r.MaxTokens
	block, included := style.Relevant(matches)
	var ids, texts []string
	for _, n := range included {
		texts = append(texts, matches[n].Entry.Text)
		if matches[n].Host == "" {
			ids = append(ids, entryID(matches[n].Path, matches[n].Entry.ID))
		}
	}
	m.shown.record(c, r, texts)
	m.recordInjected(c, block, ids)
	if *r.Count {
		m.recordUse(ids...)
	}
	return block, nil
}

// relevantHits returns the hits for the query of a prompt, at most r.Limit: imported text last,
// then those for the project of the prompt first. It also returns the places of later hits, as
// newestFirst does, and sets the state of the search by meaning and of that in the shared store.
func (m readOps) relevantHits(ctx context.Context, c Call, r *api.ContextRequest, state *api.IndexState) (
	hits []index.Hit, later map[string]string, err error) {
	limit := r.Limit
	if r.MinCover > 0 {
		limit = max(limit, coverDepth)
	}
	text := r.Query[:min(len(r.Query), api.MaxQuery)] // a message can be as long as the request
	q := index.Query{
		Text: strings.TrimSpace(index.Unquoted(strings.ToValidUTF8(text, ""))), Limit: limit,
		Weights: m.rootWeights(), Cover: true,
		AsOf: m.Now().In(m.Location).Truncate(time.Second), // of the days that the query names
	}
	soon, cancel := context.WithTimeout(ctx, promptWait)
	state.Semantic = m.useMeaning(soon, c, &q, "auto")
	cancel()
	result, shared, err := m.searchAll(ctx, c, q)
	if err != nil {
		return nil, nil, err
	}
	state.Shared = shared
	hits = result.Hits
	if r.MinCover > 0 {
		hits = index.Covered(hits, r.MinCover)
	}
	later = newestFirst(c.View, hits) // also than lines that were shown before
	isShown := m.shown.filter(c, r)
	hits = slices.DeleteFunc(hits, func(h index.Hit) bool { return isShown(h.Entry.Text) })
	if r.MinCover > 0 {
		hits = index.Covered(hits, r.MinCover)
	}
	order := orderFor(r.Project)
	slices.SortStableFunc(hits, func(a, b index.Hit) int {
		return cmp.Or(importRank(a)-importRank(b), order(a.Entry.Tags)-order(b.Entry.Tags))
	})
	return hits[:min(len(hits), r.Limit)], later, nil
}

const (
	statesCover = 0.4 // share of a query that an entry covers which states something about it
	mostAlike   = 6   // best hits that are compared; each note costs as much as a third of an entry
)

// newestFirst sorts the entries that state something about the query, and lack at most one
// more of its words than the best hit, from the newest on among their places: a change
// ("moved to") repeats fewer words than the fact before it. It returns the place of the
// newest one for each place of an older one. Untrusted entries, and
// those without a day, keep their places.
func newestFirst(v memory.View, hits []index.Hit) map[string]string {
	var at []int
	var group []index.Hit
	for i, h := range hits[:min(len(hits), mostAlike)] {
		more := slices.DeleteFunc(slices.Clone(h.Missing),
			func(w string) bool { return slices.Contains(hits[0].Missing, w) })
		if dayOf(h) != "" && h.Cover >= statesCover && len(more) <= 1 && !h.Entry.Author().Untrusted(v) {
			at, group = append(at, i), append(group, h)
		}
	}
	slices.SortStableFunc(group, func(a, b index.Hit) int { return strings.Compare(dayOf(b), dayOf(a)) })
	later := map[string]string{}
	for n, i := range at {
		hits[i] = group[n]
		if dayOf(group[n]) < dayOf(group[0]) {
			later[placeOfHit(group[n])] = placeOfHit(group[0])
		}
	}
	return later
}

// importRank ranks imported text, such as a transcript that says the same in more words,
// after all other text of a prompt.
func importRank(h index.Hit) int {
	if strings.HasPrefix(h.Doc.Place.Path, memory.ImportsDir+"/") {
		return 1
	}
	return 0
}

func placeOfHit(h index.Hit) string { return fmt.Sprintf("%s:%d", h.Doc.Place.Path, h.Entry.Line) }

// dayOf returns the day of an entry or of its file, or "" for a note without one: the file
// may have changed elsewhere since.
func dayOf(h index.Hit) string { return cmp.Or(h.Entry.Added, h.Doc.Place.Day) }

// fileNameRE matches a relative path of a file with an extension.
var fileNameRE = lazyregexp.New(`[\pL\pN_.-]+(?:/[\pL\pN_.-]+)*\.[A-Za-z][A-Za-z0-9]{0,9}\b`)

// maxNames is the number of paths in an entry that are looked up.
const maxNames = 8

// findNewer sets the file that each match names, if it is below a directory and was
// written after the day of the match.
func (m readOps) findNewer(dir string, matches []brief.Match) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return // the block is right without it
	}
	defer root.Close()
	for i := range matches {
		if matches[i].Day == "" {
			continue
		}
		for _, name := range fileNameRE().FindAllString(matches[i].Entry.Text, maxNames) {
			info, err := root.Stat(name)
			if err == nil && info.Mode().IsRegular() &&
				info.ModTime().In(m.Location).Format(time.DateOnly) > matches[i].Day {
				matches[i].Newer = name
				break
			}
		}
	}
}

// maxReplacement is the number of characters of a long entry that is shown only because
// it replaces a hit.
const maxReplacement = 300

// matchesOf returns the matches of hits. A hit that another entry replaces follows this
// entry.
func (m readOps) matchesOf(ctx context.Context, c Call, hits []index.Hit) (matches []brief.Match, err error) {
	at := map[string]int{} // indices of the matches, by place
	add := func(match brief.Match) int {
		i, ok := at[match.Place()]
		if !ok {
			i = len(matches)
			at[match.Place()], matches = i, append(matches, match)
		}
		matches[i].Snippet = cmp.Or(match.Snippet, matches[i].Snippet)
		return i
	}
	for _, h := range hits {
		old := m.matchOf(h.Doc, h.Entry, h.Time)
		old.Snippet = h.Snippet
		if h.Successor == nil {
			add(old)
			continue
		}
		refs, err := m.Index.Successors(ctx, c.View, old.Path)
		if err != nil {
			return nil, err
		}
		doc, e, err := m.findEntry(ctx, c, refs[h.Entry.ID].Path+"#"+refs[h.Entry.ID].ID)
		if err != nil {
			continue // it has changed meanwhile
		}
		by := m.matchOf(doc, e, e.Time)
		by.Snippet, _ = index.FirstRunes(oneLine(e.Text), maxReplacement)
		next := add(by)
		matches[next].Replaces, old.ReplacedBy = old.Place(), matches[next].Place()
		add(old)
	}
	return matches, nil
}

// matchOf returns the match of an entry of a time, without snippet.
func (m readOps) matchOf(doc *memory.Document, e *memory.Entry, at time.Time) brief.Match {
	day := cmp.Or(e.Added, doc.Place.Day)
	if day == "" && !at.IsZero() {
		day = at.In(m.Location).Format(time.DateOnly)
	}
	return brief.Match{Path: doc.Place.Path, Host: doc.Place.Host, Line: e.Line, Day: day, Entry: e,
		Unchecked: doc.UncheckedSince(e, m.day(0))}
}

// bootFiles returns the content that an agent loads at startup: the agent's
// identity, the user, the notes of today and yesterday, and MEMORY.md.
func (m readOps) bootFiles(c Call) brief.BootFiles {
	var logs []*memory.Document
	today, yesterday := m.day(0), m.day(-1)
	for doc := range m.readableFiles(c, func(f *index.FileInfo) bool {
		return (f.Day == today || f.Day == yesterday) && (f.Kind == memory.Daily || f.Kind == memory.Session)
	}) {
		if m.isLog(c, doc) {
			logs = append(logs, doc)
		}
	}
	slices.SortStableFunc(logs, func(a, b *memory.Document) int { return strings.Compare(b.Place.Day, a.Place.Day) })
	return brief.BootFiles{Identity: m.identityFiles(c), Logs: logs, LongTerm: m.completeLongTerm(c)}
}

// startTaskDays is the number of days whose open tasks are part of the memory
// for the start of a session, in addition to tasks without a day.
const startTaskDays = 30

// startFiles returns the content for the start of a session. If there are no
// notes of today and yesterday, it includes the latest ones, and if there is
// nothing of the recent days, the sessions of the latest day.
func (m readOps) startFiles(c Call, r *api.ContextRequest) brief.StartFiles {
	order := orderFor(r.Project)
	files := brief.StartFiles{
		BootFiles: m.bootFiles(c), Summaries: m.summaries(c, order), Items: m.allItems(c),
		Other: func(doc *memory.Document, e *memory.Entry) bool {
			return order(e.Tags) == otherProject
		},
		Hints: func(lang brief.Lang) []string { return m.limitHints(c, lang) },
	}
	recent := m.shortTerm(c, cmp.Or(r.Days, m.daysSinceLast(c)), r.Session)
	if len(files.Logs) == 0 { // for example after a weekend
		i := slices.IndexFunc(recent, func(doc *memory.Document) bool { return m.isLog(c, doc) })
		if i >= 0 {
			files.Logs = recent[i : i+1]
		}
	}
	whole := map[string]bool{} // paths of files whose text is shown
	for _, doc := range slices.Concat(files.Logs, files.LongTerm) {
		whole[doc.Place.Path] = true
	}
	for _, doc := range m.longTerm(c) {
		if !whole[doc.Place.Path] {
			whole[doc.Place.Path] = true
			files.Index = append(files.Index, doc)
		}
	}
	for _, doc := range recent {
		if !whole[doc.Place.Path] {
			files.Recent = append(files.Recent, doc)
		}
	}
	slices.SortStableFunc(files.Recent, func(a, b *memory.Document) int {
		return order.rankDoc(c, a) - order.rankDoc(c, b)
	})
	listed := map[string]bool{} // equal tasks of a file are listed once
	for _, t := range m.openTasks(c, max(startTaskDays, r.Days), order) {
		task := t.Places[0].Path + ":" + t.Text
		if !listed[task] && !slices.ContainsFunc(t.Places, func(p api.TodoPlace) bool { return whole[p.Path] }) {
			listed[task] = true
			files.Tasks = append(files.Tasks, brief.Task{Text: t.Text, Path: t.Places[0].Path, Line: t.Places[0].Line,
				Untrusted: t.Untrusted})
		}
	}
	return files
}

// summaries returns the summaries of the caller and of the caller's projects:
// first those of the project of the order, then the newest.
func (m readOps) summaries(c Call, order projectOrder) (list []*memory.Entry) {
	rank := m.subjectRank(c)
	for doc := range m.readableFiles(c, func(f *index.FileInfo) bool {
		return f.Kind == memory.Items && slices.Contains([]string{"profile.md", "project.md"}, path.Base(f.Path))
	}) {
		for i := range doc.Entries {
			if e := &doc.Entries[i]; rank(doc) >= 0 && e.IsSummary() && e.Readable(c.View) {
				list = append(list, e)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *memory.Entry) int {
		return cmp.Or(order(a.Tags)-order(b.Tags), b.Time.Compare(a.Time))
	})
	return list
}

// daysSinceLast returns the configured number of recent days or, if the caller
// can read nothing of them, the number of days since the last session or daily
// note.
func (m readOps) daysSinceLast(c Call) int {
	last := ""
	for _, f := range m.Index.Files(func(f *index.FileInfo) bool {
		return (f.Kind == memory.Session || f.Kind == memory.Daily) && f.Day <= m.day(1) && f.Readable(c.View)
	}) {
		last = max(last, f.Day)
	}
	from, err := time.Parse(time.DateOnly, last)
	if err != nil {
		return m.recentDays()
	}
	today, _ := time.Parse(time.DateOnly, m.day(0))
	return max(m.recentDays(), int(today.Sub(from).Hours()/24)+1)
}

// completeLongTerm returns the readable parts of the long-term files that are
// shown completely: those named MEMORY.md.
func (m readOps) completeLongTerm(c Call) []*memory.Document {
	return m.bySubject(c, m.listFiles(c, func(f *index.FileInfo) bool {
		return f.Kind == memory.Longterm && path.Base(f.Path) == "MEMORY.md"
	}))
}

// allItems returns the items that the caller can read, one for each key.
func (m readOps) allItems(c Call) []brief.Item {
	found := uniqueItems(m.findItems(c, "", func(string) bool { return true }))
	items := make([]brief.Item, len(found))
	for i, f := range found {
		items[i] = brief.Item{Namespace: f.name.namespace, Key: f.name.key, Value: f.value,
			Untrusted: f.entry.Author().Untrusted(c.View)}
	}
	return items
}

// oneLine returns a text with each run of white space replaced by one space.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// A projectOrder returns the rank of text in a file with some tags, for readers
// in a project.
type projectOrder func(tags []string) int

// The ranks of text.
const (
	ownProject   = iota
	noProject    // belongs to no project
	otherProject // belongs to other projects only
)

// orderFor returns the order for readers in a project. Text belongs to the projects in its
// tags. If project is empty, all text has the same rank.
func orderFor(project string) projectOrder {
	if project == "" {
		return func([]string) int { return noProject }
	}
	own := projectTag + strings.ToLower(project)
	return func(tags []string) int {
		rank := noProject
		for _, tag := range tags {
			switch name, ok := strings.CutPrefix(tag, projectTag); {
			case tag == own:
				return ownProject
			case ok && name != "":
				rank = otherProject
			}
		}
		return rank
	}
}

// rankDoc returns the best rank of a readable entry of a file.
func (o projectOrder) rankDoc(c Call, doc *memory.Document) int {
	rank := otherProject + 1
	for i := range doc.Entries {
		if e := &doc.Entries[i]; e.Readable(c.View) && e.Block != memory.EmptyHeading {
			rank = min(rank, o(e.Tags))
		}
	}
	if rank <= otherProject {
		return rank
	}
	var tags []string // of a file with frontmatter only
	if c.View.Readable(doc.Partition) {
		for _, tag := range doc.Front.Tags {
			tags = append(tags, memory.FoldTag(tag))
		}
	}
	return o(tags)
}
