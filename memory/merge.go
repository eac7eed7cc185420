package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Merge is a draft on its way into the file of its session.
//
// First it is decided which item of the draft is the same as which of the file:
// by [Merge.Same], as somebody else proposes it, then for all others by rules
// ([Merge.ByRules]). What is the same is replaced, what is not is appended, and
// nothing else changes ([Merge.Revise]). Entries that the view may not read are
// not there for it.
type Merge struct {
	Items []MergeItem // of the draft, in the order in which they are written

	doc    *Document
	view   View
	layout *Layout
	taken  map[[2]int]bool // entries, and their tasks: -1 for the entry as a whole
}

// A MergeItem is an item of a draft that is being merged.
type MergeItem struct {
	Part
	Text  string // as Markdown: an item of a list
	Title string // that it may have in common with one of the file; folded
	Into  int    // the entry that it is the same as, -1 if it is new

	// Candidates are the entries of its section that it may be the same as, by
	// number in the document.
	Candidates []int

	entry   *Entry // as it is read
	section string // as the file is to have it
	text    string // that was proposed, instead of its own
	change  Change
	inTask  int // the task of the entry that it is, if it is one in it; -1
}

// A Change is what a merge does with an item of a draft.
type Change uint8

// The changes.
const (
	Added   Change = iota // it is new
	Updated               // one of the file says now what it says
	Merged                // the file says that already
)

// ErrDraft: a draft, or an item of it, cannot be written.
var ErrDraft = errors.New("the draft cannot be written")

// Merge begins to merge parts of a draft into a document, which is whole, for who
// may read what the view reads. It fails if a part would not be read as what it
// is, with an [ErrDraft].
func (l *Layout) Merge(v View, doc *Document, parts []Part) (*Merge, error) {
	m := &Merge{doc: doc, view: v, layout: l, taken: map[[2]int]bool{}}
	for _, p := range parts {
		item := MergeItem{Part: p, Text: p.item("-"), Into: -1, inTask: -1, section: l.draftSections(p.Section)[0]}
		var err error
		if item.entry, err = l.readPart(doc.Place.Path, &p, item.section, item.Text); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrDraft, p.Name, err)
		}
		item.Title = mergeTitle(item.entry)
		for i := range doc.Entries {
			if e := &doc.Entries[i]; e.Block == Item && e.Readable(v) && m.inSection(e, &item) {
				item.Candidates = append(item.Candidates, i)
			}
		}
		m.Items = append(m.Items, item)
	}
	return m, nil
}

// Existing is an entry that an item may be the same as.
func (m *Merge) Existing(entry int) *Entry { return &m.doc.Entries[entry] }

// Same says that an item of the draft is the same as an entry, which is to say a
// text from now on: one item of a list with the marker "-", or what the item says
// if it is empty. It is an error if that cannot be: the entry is not one of its
// candidates, is the same as another item already, or has an open task that would
// be lost. A task keeps the words that it has in the file, so it must be done, and
// there must be no text for it.
func (m *Merge) Same(item, entry int, text string) error {
	if item < 0 || item >= len(m.Items) {
		return fmt.Errorf("%w: there is no item %d", ErrDraft, item)
	}
	it := &m.Items[item]
	switch {
	case it.task != nil && text != "":
		return fmt.Errorf("%w: %s: it is a task, which keeps its words", ErrDraft, it.Name)
	case it.Into >= 0:
		return fmt.Errorf("%w: %s: it is the same as another already", ErrDraft, it.Name)
	case !slices.Contains(it.Candidates, entry) || m.taken[[2]int{entry, -1}]:
		return fmt.Errorf("%w: %s: it cannot be the same as entry %d", ErrDraft, it.Name, entry)
	}
	if text != "" {
		fresh, err := m.layout.readPart(m.doc.Place.Path, &Part{}, it.section, text)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrDraft, it.Name, err)
		}
		it.entry, it.text = fresh, text
	}
	e := &m.doc.Entries[entry]
	if !m.replaceable(it, entry) || it.task != nil && (len(e.Tasks) == 0 || !it.task.Done) {
		return fmt.Errorf("%w: %s: an open task would be lost", ErrDraft, it.Name)
	}
	if it.task != nil {
		it.entry = e
	}
	m.pair(it, entry)
	return nil
}

func (m *Merge) pair(it *MergeItem, entry int) {
	it.Into = entry
	m.taken[[2]int{entry, -1}] = true
}

// replaceable reports whether an entry can say what an item says without the loss
// of an open task in it.
func (m *Merge) replaceable(it *MergeItem, entry int) bool {
	e := &m.doc.Entries[entry]
	if it.task == nil && boxed(e) || it.task != nil && (len(e.Tasks) == 0 || !e.Tasks[0].top) {
		return false
	}
	return !slices.ContainsFunc(e.Tasks, func(t Task) bool {
		return !t.top && t.State == Open && !slices.ContainsFunc(it.entry.Tasks, func(u Task) bool { return u.Norm == t.Norm })
	})
}

// draftSections are the names that a section of a draft may have in files, that of
// one that is made first: those with tasks are named in the configuration.
func (l *Layout) draftSections(name string) []string {
	names, usual := l.Tasks, DefaultTasks
	switch name {
	case tasksSection:
	case followUpsSection:
		names, usual = l.FollowUps, DefaultFollowUps
	default:
		return []string{name}
	}
	if names == nil {
		names = usual
	}
	if len(names) == 0 || slices.Contains(names, usual[0]) {
		return append([]string{name}, names...)
	}
	return names
}

// sectionOrder is how the sections of a session's file follow each other, each
// with the names that it may have.
func (l *Layout) sectionOrder() (order [][]string) {
	for _, section := range ShortTermSections {
		order = append(order, l.draftSections(section))
	}
	return order
}

// inSection reports whether an entry stands in the section of an item. What has
// the name of such a section, or counts as one, is it.
func (m *Merge) inSection(e *Entry, item *MergeItem) bool {
	names := fold(m.layout.draftSections(item.Section))
	return slices.ContainsFunc(e.Sections, func(s string) bool { return slices.Contains(names, sectionName(s)) })
}

// readPart reads a part of a draft as it will stand in a file, and makes sure that
// it is one item of a list, and says nothing else than it should.
func (l *Layout) readPart(path string, p *Part, section, text string) (*Entry, error) {
	const above = "# Draft\n\n## "
	d := l.Parse(path, []byte(above+section+"\n"+text+"\n"), Meta{})
	switch {
	case d.Unsound || d.Front.Present || len(d.Headings) != 2 || d.Headings[1].Text != section || len(d.Hidden) > 0:
		return nil, errors.New("the text, or the name of its section, would be taken for something else")
	case len(d.Entries) != 1 || d.Entries[0].EndLine != d.lines.count():
		return nil, errors.New("the text would not be one item of a list")
	}
	e := &d.Entries[0]
	tasks := 0
	if p.task != nil {
		tasks = 1
	}
	plain := l.Parse(path, []byte(text+"\n"), Meta{}) // where every item is a task, one without a box is none
	switch {
	case e.Block != Item || e.Comment.End > 0 || e.Given || e.Partition.Visibility != d.Own.Visibility:
		return nil, errors.New("the text would be read as more than a text")
	case p.title != "" && Fold(e.Title) != Fold(p.title):
		return nil, fmt.Errorf("%q cannot be a title; leave out asterisks", p.title)
	case len(plain.Entries) != 1 || len(plain.Entries[0].Tasks) != tasks || tasks > 0 && plain.Entries[0].Tasks[0].Norm != TaskNorm(Line(p.lines[0])):
		return nil, errors.New("the text would be read as another number of tasks, or as another one")
	case p.target != "" && len(e.Links) != 1:
		return nil, errors.New("it would not be read as one link")
	}
	return e, nil
}

// mergeTitle is what an item is about: its title; what stands behind "Topic" in
// one that labels it so; or the label that a list below it has. Case and white
// space make no difference.
func mergeTitle(e *Entry) string {
	head, below, _ := strings.Cut(e.Text, "\n")
	head = strings.TrimLeft(head, " \t")
	head = head[listMarkerLen(head):]
	head = head[boxLen(head):]
	title, rest := splitTitle(head)
	if Fold(title) == "topic" && oneLine(rest) != "" {
		title = rest
	}
	if title == "" && strings.TrimSpace(below) != "" {
		head = strings.TrimSpace(head)
		for _, colon := range []string{":", "："} {
			if label, ok := strings.CutSuffix(head, colon); ok {
				title = label
			}
		}
	}
	return strings.ReplaceAll(Fold(plain(title)), " ", "")
}

// content is what an item says, without its marker, its box and its indentation.
func content(e *Entry) string {
	lines := strings.Split(e.Text, "\n")
	head := strings.TrimLeft(lines[0], " \t")
	head = head[listMarkerLen(head):]
	_, head = anchor(head[boxLen(head):])
	return strings.Join(append([]string{head}, dedent(lines[1:])...), "\n")
}
