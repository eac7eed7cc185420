package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/letters"
)

// A Draft is the input of a client about a session, without its frontmatter.
// Its parts become items of the session's file (see [Draft.Entries]).
type Draft struct {
	Items     map[string][]DraftItem `json:"items,omitempty"`
	Facts     []DraftItem            `json:"facts,omitempty"`
	Tasks     []DraftTask            `json:"tasks,omitempty"`
	FollowUps []DraftTask            `json:"follow_ups,omitempty"`
	Links     []DraftLink            `json:"links,omitempty"`
}

// A DraftItem is a title with a text, or an event with topic, participants,
// time, description and result.
type DraftItem struct {
	Title      string `json:"title,omitempty"`
	Text       string `json:"text,omitempty"`
	Topic      string `json:"topic,omitempty"`
	Users      string `json:"users,omitempty"`
	Datetime   string `json:"datetime,omitempty"`
	Event      string `json:"event,omitempty"`
	Result     string `json:"result,omitempty"`
	Visibility string `json:"visibility,omitempty"`
}

// A DraftTask is a task. A task that is already done in the file stays done
// unless Reopen is set.
type DraftTask struct {
	Text       string `json:"text,omitempty"`
	Done       bool   `json:"done,omitempty"`
	Reopen     bool   `json:"reopen,omitempty"`
	Visibility string `json:"visibility,omitempty"`
}

// A DraftLink is a link to a memory file or to any other target.
type DraftLink struct {
	Text       string `json:"text,omitempty"`
	Target     string `json:"target,omitempty"`
	Visibility string `json:"visibility,omitempty"`
}

// A DraftEntry is one item of a draft.
type DraftEntry struct {
	Name    string   // in the draft: facts[0], items.Notes[2]
	Section string   // target section, as named in the draft
	Texts   []string // all client-supplied texts, and those that are written as one
	Private bool     // the client marks it as private, so it does not belong in a public file

	title  string // as given
	lines  []string
	nested bool // each line but the first is an item of its own
	number bool // the section is a numbered list
	task   *DraftTask
	target string // of a link
}

// In reports whether a set of [Entry.Norm] contains the item, which has one text.
func (p *DraftEntry) In(norms map[string]bool) bool {
	return slices.ContainsFunc(p.Texts, func(text string) bool { return norms[normText(text)] })
}

// Names of the two task sections in a draft, which are independent of the names
// in a file.
const (
	tasksSection     = "Tasks"
	followUpsSection = "Follow Ups"
)

// Entries returns the items of the draft in the order of a new file: the sections
// in the order of [shortTermSections], then the others by name. The error names
// the first invalid item, with the reason.
func (d *Draft) Entries() (list []DraftEntry, failed error) {
	add := func(name string, i int, visibility string, p DraftEntry, err error) {
		p.Name = fmt.Sprintf("%s[%d]", name, i)
		p.Private = visibility != "" && visibility != PublicOK.String() || slices.ContainsFunc(p.Texts, HasPrivateTag)
		list = append(list, p)
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	items := func(section, name string, items []DraftItem) {
		for i, item := range items {
			p, err := item.toEntry(section)
			add(name, i, item.Visibility, p, err)
		}
	}
	tasks := func(section, name string, tasks []DraftTask) {
		for i, t := range tasks {
			p, err := t.toEntry(section)
			add(name, i, t.Visibility, p, err)
		}
	}
	for _, s := range slices.Sorted(maps.Keys(d.Items)) {
		section, name := letters.OneLine(s), "items."+letters.OneLine(s)
		same := func(known string) bool { return SameSection(known, section) }
		if i := slices.IndexFunc(shortTermSections, same); i >= 0 {
			section, name = shortTermSections[i], "items."+s
		} else if section == "" {
			return nil, errors.New("items: section name is empty")
		}
		items(section, name, d.Items[s])
	}
	items(temporaryFacts, "facts", d.Facts)
	tasks(tasksSection, "tasks", d.Tasks)
	tasks(followUpsSection, "follow_ups", d.FollowUps)
	for i, l := range d.Links {
		p, err := l.toEntry(relatedLinks)
		add("links", i, l.Visibility, p, err)
	}
	order := func(p DraftEntry) int {
		if i := slices.Index(shortTermSections, p.Section); i >= 0 {
			return i
		}
		return len(shortTermSections)
	}
	slices.SortStableFunc(list, func(a, b DraftEntry) int { return order(a) - order(b) })
	return list, failed
}

// toEntry returns the item as a title with a text, an event below its topic, or a
// plain text.
func (i *DraftItem) toEntry(section string) (DraftEntry, error) {
	p := DraftEntry{
		Section: section, Texts: []string{section, i.Title, i.Text, i.Topic, i.Users, i.Datetime, i.Event, i.Result,
			i.Title + ": " + i.Text},
		number: section == sessionSummary || section == temporaryFacts,
	}
	p.title = strings.TrimRight(letters.OneLine(i.Title+i.Topic), ":： ")
	if letters.OneLine(i.Title) != "" && letters.OneLine(i.Topic) != "" {
		return p, errors.New("title and topic exclude each other")
	}
	text := textLinesOf(i.Text)
	p.lines = text
	if section == temporaryFacts && p.title != "" && len(text) > 1 {
		p.lines, p.nested = append([]string{""}, text...), true
	}
	for _, detail := range []struct{ label, text string }{{"Users", i.Users}, {"Datetime", i.Datetime},
		{"Event", i.Event}, {"Result", i.Result}} {
		if s := letters.OneLine(detail.text); s != "" {
			if !p.nested {
				p.lines, p.nested = []string{strings.Join(text, " ")}, true
			}
			p.lines = append(p.lines, detail.label+": "+s)
		}
	}
	if p.title == "" && strings.Join(p.lines, "") == "" {
		return p, errors.New("text is empty")
	}
	return p, nil
}

func (t *DraftTask) toEntry(section string) (DraftEntry, error) {
	p := DraftEntry{Section: section, Texts: []string{t.Text}, lines: []string{letters.OneLine(t.Text)}, task: t}
	switch {
	case p.lines[0] == "":
		return p, errors.New("text is empty")
	case t.Done && t.Reopen:
		return p, errors.New("done and reopen exclude each other")
	}
	return p, nil
}

func (l *DraftLink) toEntry(section string) (DraftEntry, error) {
	p := DraftEntry{Section: section, Texts: []string{l.Text, l.Target}, target: linkTarget(letters.OneLine(l.Target))}
	if p.target == "" {
		return p, errors.New("target is missing")
	}
	text := letters.OneLine(l.Text)
	if text == "" {
		text = letters.OneLine(l.Target)
	}
	p.lines = []string{"[" + linkText.Replace(text) + "](" + p.target + ")"}
	return p, nil
}

// linkText escapes the text of a link, so that brackets do not end it and an
// address does not become a link of its own.
var linkText = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "`", "\\`", "<", `\<`)

// linkTarget percent-encodes characters that would end the target of a link.
func linkTarget(s string) string {
	return targetEndRE().ReplaceAllStringFunc(s, encodePercent)
}

var targetEndRE = lazyregexp.New("[ \"'`()<>\\[\\]\\\\{}|^]")

// textLinesOf returns the lines of a text, with white space collapsed and
// without blank lines.
func textLinesOf(s string) (lines []string) {
	for line := range strings.SplitSeq(strings.ReplaceAll(s, "\r", "\n"), "\n") {
		line = letters.OneLine(line)
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// listItem returns the entry as an item of a list. Its further lines are indented to its text.
func (p *DraftEntry) listItem(marker string) string {
	lines := slices.Clone(p.lines)
	for i, line := range lines {
		switch {
		case i == 0 && p.title != "":
		case i == 0 && p.task != nil && p.task.Done:
			lines[i] = "[x] " + lineOf(line)
		case i == 0 && p.task != nil:
			lines[i] = "[ ] " + lineOf(line)
		case p.target != "":
		case p.nested && i > 0:
			lines[i] = "- " + lineOf(line)
		default:
			lines[i] = lineOf(line)
		}
	}
	if p.title != "" {
		if len(lines) == 0 {
			lines = []string{""}
		}
		head := "**" + p.title + "**"
		if len(lines) > 1 || lines[0] != "" {
			head += ": "
		}
		lines[0] = strings.TrimSpace(head + lines[0])
	}
	return marker + " " + strings.Join(lines, "\n"+strings.Repeat(" ", len(marker)+1))
}

// A Merge is the state of merging a draft into the file of its session.
//
// First, items of the draft are paired with items of the file: by a model's
// proposal ([Merge.ApplyProposal]), then by rules ([Merge.ByRules]). Paired items replace their entries, the others are
// appended, and all other text stays the same ([Merge.Revise]).
type Merge struct {
	Items []mergeItem // of the draft, in the order of the file

	doc      *Document
	allowed  func(*Entry) bool // whether the author of the draft may change an entry
	layout   *Layout
	sections map[string]*mergeSection // by the name in a draft
	taken    map[[2]int]bool          // paired entries, and their tasks; task -1 is the entry as a whole
}

// A mergeItem is an item of a draft that is being merged.
type mergeItem struct {
	DraftEntry
	Text  string // verbatim of a list item
	Title string // folded title for matching
	Into  int    // the paired entry, -1 if the item is new

	entry   *Entry // parsed form
	section *mergeSection
	change  Change
	inTask  int // index of the paired task if it is nested in the entry, else -1
}

// A mergeSection is a section of a draft in the file.
type mergeSection struct {
	names   []string     // that it may have in the file, the first one for a new section
	items   []listItem   // list items below any of the names, in the order of the file
	heading string       // name in the file of the section for new items
	listed  bool         // a new item joins a list
	numbers int          // of the new items in a numbered list
	similar similarTexts // the items, see similarItem
}

// A listItem is a list item of a file.
type listItem struct {
	*Entry
	at    int    // in the document
	title string // for matching
}

// A Change is the effect of a merge on the file for one item of a draft.
type Change uint8

// Kinds of changes.
const (
	Added   Change = iota // the item is new
	Updated               // the item replaced an entry or changed a task
	Merged                // the file already contains the item
)

// errDraft reports that a draft, or an item of it, cannot be written.
var errDraft = errors.New("the draft cannot be written")

// Merge starts to merge parts of a draft into a whole document. If a part would not be parsed as intended, Merge returns nil and
// an error. An item never changes an entry for which
// allowed returns false: the item is added as a separate entry, unless the file
// already contains it.
func (l *Layout) Merge(doc *Document, parts []DraftEntry, allowed func(*Entry) bool) (*Merge, error) {
	m := &Merge{doc: doc, allowed: allowed, layout: l, taken: map[[2]int]bool{}, sections: map[string]*mergeSection{}}
	for _, p := range parts {
		item := mergeItem{DraftEntry: p, Text: p.listItem("-"), Into: -1, inTask: -1, section: m.section(p.Section)}
		var err error
		item.entry, err = l.parseDraftEntry(doc.Place.Path, &p, item.Text)
		if name := item.section.names[0]; err == nil && !l.isHeading(doc.Place.Path, name) {
			err = fmt.Errorf("%q cannot be a heading", name)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", errDraft, p.Name, err)
		}
		item.Title = mergeTitle(item.entry)
		m.Items = append(m.Items, item)
	}
	return m, nil
}

func (m *Merge) recordPair(it *mergeItem, entry int) {
	it.Into = entry
	m.taken[[2]int{entry, it.inTask}] = true
}

// replaceable reports whether an item may replace an entry, and can do so
// without the loss of an open task.
func (m *Merge) replaceable(it *mergeItem, entry int) bool {
	e := &m.doc.Entries[entry]
	if !m.allowed(e) {
		return false
	}
	if it.task == nil && hasBox(e) || it.task != nil && (len(e.Tasks) == 0 || !e.Tasks[0].isEntry) {
		return false
	}
	return !slices.ContainsFunc(e.Tasks, func(t Task) bool {
		return !t.isEntry && t.State == Open &&
			!slices.ContainsFunc(it.entry.Tasks, func(u Task) bool { return u.Norm == t.Norm })
	})
}

// draftSections returns the names that a section of a draft may have in files.
// The first name is for new sections. Those of sections of tasks come from the
// configuration.
func (l *Layout) draftSections(name string) []string {
	names := orUsual(l.Tasks, defaultTasks)
	switch {
	case name == followUpsSection:
		return append([]string{name}, followUpNames...)
	case name != tasksSection:
		return []string{name}
	case len(names) == 0 || slices.Contains(names, defaultTasks[0]):
		return append([]string{name}, names...)
	}
	return names
}

// parseDraftEntry parses a part of a draft. It returns an error unless the result is exactly
// one list item with the intended content.
func (l *Layout) parseDraftEntry(path string, p *DraftEntry, text string) (*Entry, error) {
	put := verbatim(text)
	if err := l.Fit(path, put); err != nil {
		return nil, errors.New("text is not exactly one list item")
	}
	e, tasks := put.Entry(), 0
	if p.task != nil {
		tasks = 1
	}
	switch {
	case e.Block != Item || e.Comment.End > 0 || e.Given || put.alone.InPrivate():
		return nil, errors.New("text contains attributes, tags or other markup")
	case p.title != "" && letters.FoldCase(e.Title) != letters.FoldCase(p.title):
		return nil, fmt.Errorf("%q cannot be a title; remove asterisks", p.title)
	case len(e.Tasks) != tasks || tasks > 0 && e.Tasks[0].Norm != TaskNorm(lineOf(p.lines[0])):
		return nil, errors.New("text would be parsed as different tasks")
	case p.target != "" && len(e.Links) != 1:
		return nil, errors.New("text and target do not form one link")
	}
	return e, nil
}

// isHeading reports whether a name becomes the text of a heading unchanged.
func (l *Layout) isHeading(path, name string) bool {
	d := l.Parse(path, []byte("## "+name+"\ntext\n"), Meta{})
	return len(d.Headings) == 1 && d.Headings[0].Text == name && !d.Unsound && len(d.Hidden) == 0 && !d.InPrivate()
}

// mergeTitle returns the topic of an item for matching: its title, the text
// after a "Topic" label, or the label above a nested list. Case and white space
// are ignored.
func mergeTitle(e *Entry) string {
	head, below, _ := strings.Cut(e.Text, "\n")
	head = trimMarkers(head)
	title, rest := splitTitle(head)
	if letters.FoldCase(title) == "topic" && letters.OneLine(rest) != "" {
		title = rest
	}
	if title == "" && strings.TrimSpace(below) != "" {
		label, ok := cutColon(strings.TrimSpace(head), strings.CutSuffix)
		if ok {
			title = label
		}
	}
	return strings.ReplaceAll(letters.FoldCase(stripEmphasis(title)), " ", "")
}

// itemContent returns the text of an item without its marker, box and
// indentation.
func itemContent(e *Entry) string {
	lines := strings.Split(e.Text, "\n")
	_, head := splitAnchor(trimMarkers(lines[0]))
	return strings.Join(append([]string{head}, dedent(lines[1:])...), "\n")
}

// hasBox reports whether an entry is a task with a box. In a section where every
// item is a task, the box is optional.
func hasBox(e *Entry) bool {
	return len(e.Tasks) > 0 && e.Tasks[0].isEntry && e.Tasks[0].Box.End > e.Tasks[0].Box.Start
}

// ByRules pairs the remaining items, rule by rule: equal texts and tasks first,
// then equal titles, then equal links. A title or a link matches only if
// exactly one entry of the section has it. The error is that of the context.
func (m *Merge) ByRules(ctx context.Context) error {
	return m.applyRules(ctx, m.sameText, m.sameTitle, m.sameLink)
}

// applyRules pairs items of the draft with entries. A rule sees only items that no earlier
// rule paired.
func (m *Merge) applyRules(ctx context.Context, rules ...func(*mergeItem) int) error {
	for _, rule := range rules {
		for i := range m.Items {
			if err := ctx.Err(); err != nil {
				return err
			}
			if it := &m.Items[i]; it.Into < 0 {
				if e := rule(it); e >= 0 {
					m.recordPair(it, e)
				}
			}
		}
	}
	return nil
}

// section returns a section of a draft in the file.
func (m *Merge) section(name string) *mergeSection {
	s := m.sections[name]
	if s != nil {
		return s
	}
	s = &mergeSection{names: m.layout.draftSections(name)}
	m.sections[name], s.heading = s, s.names[0]
	for _, name := range s.names {
		spot, err := m.doc.endOf([]string{name})
		if err == nil && len(spot.headings) == 0 {
			s.heading, s.listed = name, spot.beside >= 0 && m.doc.Entries[spot.beside].Block == Item
			break
		}
	}
	in := map[int]bool{} // by heading
	for i := range m.doc.Entries {
		e := &m.doc.Entries[i]
		if e.Block != Item {
			continue
		}
		is, known := in[e.Heading]
		if !known {
			is = slices.ContainsFunc(e.Sections, func(section string) bool {
				return slices.ContainsFunc(s.names, func(name string) bool { return SameSection(section, name) })
			})
			in[e.Heading] = is
		}
		if is {
			s.items = append(s.items, listItem{e, i, mergeTitle(e)})
		}
	}
	return s
}

// singleCandidate returns the only entry of the section that fits and may change, if it is
// unpaired and replaceable, else -1.
func (m *Merge) singleCandidate(it *mergeItem, fits func(*listItem) bool) int {
	found := -1
	for i := range it.section.items {
		k := &it.section.items[i]
		if !fits(k) || !m.allowed(k.Entry) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = k.at
	}
	if found >= 0 && !m.taken[[2]int{found, -1}] && m.replaceable(it, found) {
		return found
	}
	return -1
}

// sameText returns the entry with the same text apart from case, white space and
// emphasis or, for a task, the same task text. An entry that must not change has the
// same content.
func (m *Merge) sameText(it *mergeItem) int {
	if it.task != nil {
		return m.sameTask(it)
	}
	for _, k := range it.section.items {
		if k.Norm == it.entry.Norm && !hasBox(k.Entry) && !m.taken[[2]int{k.at, -1}] &&
			(m.allowed(k.Entry) || itemContent(k.Entry) == itemContent(it.entry)) {
			return k.at
		}
	}
	return -1
}

// sameTask returns the entry with a task of the same text. It prefers a task
// that already has the wanted state, and a task that is an entry of its own to
// a nested one. A nested task matches only if it is the only one.
func (m *Merge) sameTask(it *mergeItem) int {
	norm := it.entry.Tasks[0].Norm
	var top []int
	var nested [][2]int
	for _, k := range it.section.items {
		for j, t := range k.Tasks {
			switch {
			case t.Norm != norm || m.taken[[2]int{k.at, j}], t.State != it.targetState(t.State) && !m.allowed(k.Entry):
			case t.isEntry && !m.taken[[2]int{k.at, -1}]:
				top = append(top, k.at)
			case !t.isEntry:
				nested = append(nested, [2]int{k.at, j})
			}
		}
	}
	for _, i := range top {
		if s := m.doc.Entries[i].Tasks[0].State; s == it.targetState(s) {
			return i
		}
	}
	switch {
	case len(top) > 0:
		return top[0]
	case len(nested) == 1:
		it.inTask = nested[0][1]
		return nested[0][0]
	}
	return -1
}

// targetState returns the state of a task after the merge, given its current state.
// Done takes precedence.
func (it *mergeItem) targetState(is TaskState) TaskState {
	switch {
	case it.task.Reopen:
		return Open
	case it.task.Done:
		return Done
	}
	return is
}

func (m *Merge) sameTitle(it *mergeItem) int {
	if it.Title == "" {
		return -1
	}
	return m.singleCandidate(it, func(k *listItem) bool { return k.title == it.Title })
}

func (m *Merge) sameLink(it *mergeItem) int {
	targets := map[string]bool{}
	for i := range it.entry.Links {
		targets[linkKey(&it.entry.Links[i])] = true
	}
	if len(targets) == 0 {
		return -1
	}
	fit := m.singleCandidate(it, func(k *listItem) bool {
		return slices.ContainsFunc(k.Links, func(l Link) bool { return targets[linkKey(&l)] })
	})
	if fit >= 0 && mergeTitle(&m.doc.Entries[fit]) != it.Title {
		return -1
	}
	return fit
}

// linkKey returns the target of a link for comparison. It uses the first
// possible path, so that ../a/b.md and a/b.md are equal.
func linkKey(l *Link) string {
	target := l.Target
	if len(l.Paths) > 0 {
		target = l.Paths[0]
	}
	return target + "#" + l.Anchor
}

// Revise adds the changes of the merge to a revision. If the author is
// untrusted, new and replaced items get its attributes.
func (m *Merge) Revise(r *Revision, author Author, now time.Time) {
	for i := range m.Items {
		it := &m.Items[i]
		if it.Into >= 0 {
			m.updateEntry(r, it, author, now)
			continue
		}
		marker := "-"
		if it.number && !it.section.listed {
			it.section.numbers++
			marker = strconv.Itoa(it.section.numbers) + "."
		}
		r.Append([]string{it.section.heading}, draftPut(it.listItem(marker), author, Author{}))
	}
}

// Changes reports whether an item of the draft is new or changes an entry. Call
// [Merge.Revise] first.
func (m *Merge) Changes() bool {
	return slices.ContainsFunc(m.Items, func(it mergeItem) bool { return it.change != Merged })
}

// updateEntry adds the changes of the entry that an item is paired with.
func (m *Merge) updateEntry(r *Revision, it *mergeItem, author Author, now time.Time) {
	e := &m.doc.Entries[it.Into]
	it.change = Merged
	text := it.Text
	switch {
	case it.task != nil:
		at := max(it.inTask, 0)
		was := &e.Tasks[at]
		want := it.targetState(was.State)
		if was.Norm == it.entry.Tasks[0].Norm {
			if want != was.State {
				r.SetTask(it.Into, at, want)
				it.change = Updated
			}
			return
		}
		p, task := it.DraftEntry, *it.task
		task.Done = want == Done
		p.task = &task
		text = p.listItem("-")
	case itemContent(e) == itemContent(it.entry):
		return
	}
	it.change = Updated
	r.Replace(it.Into, draftPut(text, author, e.Author()), now)
}

// draftPut returns the request for an item of a draft. It sets the author only if the old or the
// new one is untrusted.
func draftPut(text string, author, old Author) *Put {
	p := verbatim(text)
	if author.Untrusted(View{}) || old.Untrusted(View{}) {
		p.Attributes = map[string]string{"source": author.Source, "written_by": author.By}
	}
	return p
}

// An Outcome is the result of a merge for an item of a draft.
type Outcome struct {
	*mergeItem
	Change    Change
	Entry     int    // in the document, -1 if not visible there
	Line      int    // of the entry, or of the task in it; 0 if not visible
	EntryText string // the first line of the entry there, or the task's text
	Similar   string // the first line of an earlier entry that resembles a new item; empty for none
}

// Outcomes returns the results for all items. The document after is the merged
// file as visible to the reader.
func (m *Merge) Outcomes(after *Document) []Outcome {
	list := make([]Outcome, len(m.Items))
	merged := &Merge{doc: after, layout: m.layout, sections: map[string]*mergeSection{}}
	seen := map[int]bool{} // lines
	for i := range m.Items {
		it := &m.Items[i]
		o := Outcome{mergeItem: it, Change: it.change, Entry: -1}
		if it.Into < 0 {
			o.Similar = it.section.similarItem(it.entry.Norm)
		}
		for _, k := range merged.section(it.Section).items {
			if line, says := it.findIn(k.Entry); line > 0 && !seen[line] {
				o.Entry, o.Line, o.EntryText = k.at, line, says
				seen[line] = true
				break
			}
		}
		list[i] = o
	}
	return list
}

// findIn returns the line and text of the item in an entry, or 0 if the entry does
// not contain the item.
func (it *mergeItem) findIn(e *Entry) (line int, says string) {
	if it.task == nil {
		if e.Norm == it.entry.Norm && !hasBox(e) {
			says, _, _ = strings.Cut(itemContent(e), "\n")
			return e.Line, says
		}
		return 0, ""
	}
	for _, t := range e.Tasks {
		if t.Norm == it.entry.Tasks[0].Norm && t.State == it.targetState(t.State) {
			return t.Line, t.Text
		}
	}
	return 0, ""
}

// Bounds of similar texts.
const (
	minSimilar      = 0.6  // share of the words of both texts that both have
	minSimilarWords = 3    // of each text; with fewer, one word decides
	maxSimilar      = 1000 // texts to compare with
)

// A similarTexts finds the text that is most similar to another one, by their
// words. It is meant for proposals to a person or an agent: similar texts often
// have different meanings.
type similarTexts []map[string]bool

// newSimilarTexts returns the texts to compare with, none if there are very many.
func newSimilarTexts(texts []string) similarTexts {
	if len(texts) > maxSimilar {
		return nil
	}
	sets := make(similarTexts, len(texts))
	for i, text := range texts {
		sets[i] = letters.WordSet(TaskNorm(text))
	}
	return sets
}

// mostSimilar returns the index of the text that is most similar to text, the
// last of equals, or -1 if none is similar.
func (s similarTexts) mostSimilar(text string) int {
	words := letters.WordSet(TaskNorm(text))
	best, at := minSimilar, -1
	if len(words) < minSimilarWords {
		return at
	}
	for i, set := range s {
		if len(set) < minSimilarWords {
			continue
		}
		both := letters.CountCommon(words, set)
		if share := float64(both) / float64(len(words)+len(set)-both); share >= best {
			best, at = share, i
		}
	}
	return at
}

// similarItem returns the first line of the item of the section that is most similar to
// a new one, or "".
func (s *mergeSection) similarItem(norm string) string {
	if s.similar == nil {
		norms := make([]string, len(s.items))
		for i, k := range s.items {
			norms[i] = k.Norm
		}
		s.similar = newSimilarTexts(norms)
	}
	i := s.similar.mostSimilar(norm)
	if i < 0 {
		return ""
	}
	line, _, _ := strings.Cut(itemContent(s.items[i].Entry), "\n")
	return line
}
