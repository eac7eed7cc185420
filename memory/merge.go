package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Merge is the state of merging a draft into the file of its session.
//
// First, items of the draft are paired with items of the file: by a model's
// proposal ([Merge.ApplyProposal]), then by rules ([Merge.ByRules]). Paired items replace their entries, the others are
// appended, and all other text stays the same ([Merge.Revise]). Entries that
// the view may not read are ignored.
type Merge struct {
	Items []MergeItem // of the draft, in the order of the file

	doc      *Document
	view     View
	allowed  func(*Entry) bool // whether the author of the draft may change an entry
	layout   *Layout
	sections map[string]*sectionIndex // by the name in a draft
	taken    map[[2]int]bool          // paired entries, and their tasks; task -1 is the entry as a whole
}

// A MergeItem is an item of a draft that is being merged.
type MergeItem struct {
	DraftEntry
	Text  string // Markdown of a list item
	Title string // folded title for matching
	Into  int    // the paired entry, -1 if the item is new

	entry   *Entry        // parsed form
	section *sectionIndex // entries that it may match
	heading string        // section name in the file
	text    string        // proposed text that replaces its own
	change  Change
	inTask  int // index of the paired task if it is nested in the entry, else -1
}

// A Change is the effect of a merge on the file for one item of a draft.
type Change uint8

// Kinds of changes.
const (
	Added   Change = iota // the item is new
	Updated               // the item replaced an entry or changed a task
	Merged                // the file already contains the item
)

// ErrDraft reports that a draft, or an item of it, cannot be written.
var ErrDraft = errors.New("the draft cannot be written")

// Merge starts to merge parts of a draft into a whole document, for the readers
// of the view. If a part would not be parsed as intended, Merge returns nil and
// an error that matches [ErrDraft]. An item never changes an entry for which
// allowed returns false: the item is added as a separate entry, unless the file
// already contains it.
func (l *Layout) Merge(v View, doc *Document, parts []DraftEntry, allowed func(*Entry) bool) (*Merge, error) {
	m := &Merge{doc: doc, view: v, allowed: allowed, layout: l, taken: map[[2]int]bool{},
		sections: map[string]*sectionIndex{}}
	for _, p := range parts {
		item := MergeItem{DraftEntry: p, Text: p.listItem("-"), Into: -1, inTask: -1, heading: l.draftSections(p.Section)[0],
			section: m.indexSection(p.Section)}
		var err error
		item.entry, err = l.parseDraftEntry(doc.Place.Path, &p, item.heading, item.Text)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrDraft, p.Name, err)
		}
		item.Title = mergeTitle(item.entry)
		m.Items = append(m.Items, item)
	}
	return m, nil
}

// pairItem pairs an item of the draft with an entry, both by index. The text,
// one list item with the marker "-", replaces the entry; if text is empty, as for
// a task, which keeps its words in the file, the item's own text does. pairItem
// returns an error that matches [ErrDraft], and changes nothing, if the entry is
// not a candidate of the item, is already paired, or contains an open task that
// would be lost.
func (m *Merge) pairItem(item, entry int, text string) error {
	it := &m.Items[item]
	switch {
	case it.Into >= 0:
		return fmt.Errorf("%w: %s: already merged", ErrDraft, it.Name)
	case !slices.Contains(it.section.entries, entry) || m.taken[[2]int{entry, -1}]:
		return fmt.Errorf("%w: %s: cannot be merged with entry %d", ErrDraft, it.Name, entry)
	}
	if text != "" {
		replacement, err := m.layout.parseDraftEntry(m.doc.Place.Path, &DraftEntry{}, it.heading, text)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrDraft, it.Name, err)
		}
		it.entry, it.text = replacement, text
	}
	e := &m.doc.Entries[entry]
	if !m.replaceable(it, entry) || it.task != nil && (len(e.Tasks) == 0 || !it.task.Done) {
		return fmt.Errorf("%w: %s: an open task would be lost", ErrDraft, it.Name)
	}
	if it.task != nil {
		it.entry = e
	}
	m.recordPair(it, entry)
	return nil
}

func (m *Merge) recordPair(it *MergeItem, entry int) {
	it.Into = entry
	m.taken[[2]int{entry, it.inTask}] = true
}

// replaceable reports whether an item may replace an entry, and can do so
// without the loss of an open task.
func (m *Merge) replaceable(it *MergeItem, entry int) bool {
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
// The first name is for new sections. The names of task sections come from the
// configuration.
func (l *Layout) draftSections(name string) []string {
	names, usual := orUsual(l.Tasks, DefaultTasks), DefaultTasks
	switch name {
	case tasksSection:
	case followUpsSection:
		names, usual = orUsual(l.FollowUps, DefaultFollowUps), DefaultFollowUps
	default:
		return []string{name}
	}
	if len(names) == 0 || slices.Contains(names, usual[0]) {
		return append([]string{name}, names...)
	}
	return names
}

// parseDraftEntry parses a part of a draft as part of a file. It returns an error
// unless the result is exactly one list item with the intended content.
func (l *Layout) parseDraftEntry(path string, p *DraftEntry, section, text string) (*Entry, error) {
	const above = "# Draft\n\n## "
	d := l.Parse(path, []byte(above+section+"\n"+text+"\n"), Meta{})
	switch {
	case d.Unsound || d.Front.Present || len(d.Headings) != 2 || d.Headings[1].Text != section || len(d.Hidden) > 0:
		return nil, errors.New("the text or the section name contains Markdown markup")
	case len(d.Entries) != 1 || d.Entries[0].EndLine != d.lines.count():
		return nil, errors.New("text is not exactly one list item")
	}
	e := &d.Entries[0]
	tasks := 0
	if p.task != nil {
		tasks = 1
	}
	plain := l.Parse(path, []byte(text+"\n"), Meta{}) // without the section, in which every item may be a task
	switch {
	case e.Block != Item || e.Comment.End > 0 || e.Given || e.Partition.Visibility != d.Own.Visibility:
		return nil, errors.New("text contains attributes, tags or other markup")
	case p.title != "" && Fold(e.Title) != Fold(p.title):
		return nil, fmt.Errorf("%q cannot be a title; remove asterisks", p.title)
	case len(plain.Entries) != 1 || len(plain.Entries[0].Tasks) != tasks ||
		tasks > 0 && plain.Entries[0].Tasks[0].Norm != TaskNorm(Line(p.lines[0])):
		return nil, errors.New("text would be parsed as different tasks")
	case p.target != "" && len(e.Links) != 1:
		return nil, errors.New("text and target do not form one link")
	}
	return e, nil
}

// mergeTitle returns the topic of an item for matching: its title, the text
// after a "Topic" label, or the label above a nested list. Case and white space
// are ignored.
func mergeTitle(e *Entry) string {
	head, below, _ := strings.Cut(e.Text, "\n")
	head = trimMarkers(head)
	title, rest := splitTitle(head)
	if Fold(title) == "topic" && oneLine(rest) != "" {
		title = rest
	}
	if title == "" && strings.TrimSpace(below) != "" {
		label, ok := cutColon(strings.TrimSpace(head), strings.CutSuffix)
		if ok {
			title = label
		}
	}
	return strings.ReplaceAll(Fold(stripEmphasis(title)), " ", "")
}

// itemContent returns the text of an item without its marker, box and
// indentation.
func itemContent(e *Entry) string {
	lines := strings.Split(e.Text, "\n")
	_, head := splitAnchor(trimMarkers(lines[0]))
	return strings.Join(append([]string{head}, dedent(lines[1:])...), "\n")
}

// Bounds of similar texts.
const (
	minSimilar      = 0.6  // share of the words of both texts that both have
	minSimilarWords = 3    // of each text; with fewer, one word decides
	maxSimilar      = 1000 // texts to compare with
)

// A SimilarTexts finds the text that is most similar to another one, by their
// words. It is meant for proposals to a person or an agent: similar texts often
// have different meanings.
type SimilarTexts []map[string]bool

// NewSimilarTexts returns the texts to compare with, none if there are very many.
func NewSimilarTexts(texts []string) SimilarTexts {
	if len(texts) > maxSimilar {
		return nil
	}
	sets := make(SimilarTexts, len(texts))
	for i, text := range texts {
		sets[i] = wordSet(TaskNorm(text))
	}
	return sets
}

// MostSimilar returns the index of the text that is most similar to text, the
// last of equals, or -1 if none is similar.
func (s SimilarTexts) MostSimilar(text string) int {
	words := wordSet(TaskNorm(text))
	best, at := minSimilar, -1
	if len(words) < minSimilarWords {
		return at
	}
	for i, set := range s {
		if len(set) < minSimilarWords {
			continue
		}
		both := countCommon(words, set)
		if share := float64(both) / float64(len(words)+len(set)-both); share >= best {
			best, at = share, i
		}
	}
	return at
}

// similarEntry returns the entry of the file that is most similar to a new item,
// or -1. It compares with readable items of the same section.
func (m *Merge) similarEntry(it *MergeItem) int {
	x := it.section
	if x.similar == nil {
		texts := make([]string, len(x.entries))
		for i, e := range x.entries {
			texts[i] = m.doc.Entries[e].Norm
		}
		x.similar = NewSimilarTexts(texts)
	}
	if i := x.similar.MostSimilar(it.entry.Norm); i >= 0 {
		return x.entries[i]
	}
	return -1
}
