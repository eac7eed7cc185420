package memory

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
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

// boxed reports whether an entry is a task because it has a box. Where every item is
// a task it need not have one.
func boxed(e *Entry) bool {
	return len(e.Tasks) > 0 && e.Tasks[0].top && e.Tasks[0].Box.End > e.Tasks[0].Box.Start
}

// ByRules decides for every item of which nothing is decided yet, rule by rule:
// what says the same is the same, then what has the same title, the same task,
// and the same link, if just one entry of the section fits.
func (m *Merge) ByRules() { m.decide(m.sameText, m.sameNorm, m.sameTitle, m.sameLink) }

func (m *Merge) decide(rules ...func(*MergeItem) int) {
	for _, rule := range rules {
		for i := range m.Items {
			it := &m.Items[i]
			if it.Into >= 0 {
				continue
			}
			if e := rule(it); e >= 0 && it.inTask < 0 {
				m.pair(it, e)
			} else if e >= 0 {
				it.Into = e
				m.taken[[2]int{e, it.inTask}] = true
			}
		}
	}
}

// free are the candidates that keep says yes to and that no other item is the
// same as.
func (m *Merge) free(it *MergeItem, keep func(e *Entry) bool) (list []int) {
	for _, i := range it.Candidates {
		if !m.taken[[2]int{i, -1}] && keep(&m.doc.Entries[i]) {
			list = append(list, i)
		}
	}
	return list
}

// only is the one candidate that keep says yes to, if it is free and can say what
// the item says; else -1.
func (m *Merge) only(it *MergeItem, keep func(e *Entry) bool) int {
	fit := -1
	for _, i := range it.Candidates {
		if keep(&m.doc.Entries[i]) {
			if fit >= 0 {
				return -1
			}
			fit = i
		}
	}
	if fit >= 0 && !m.taken[[2]int{fit, -1}] && m.replaceable(it, fit) {
		return fit
	}
	return -1
}

// sameText finds the entry that says the same; for a task, the one that has the
// same text.
func (m *Merge) sameText(it *MergeItem) int {
	if it.task != nil {
		return m.sameTask(it)
	}
	own := content(it.entry)
	return first(m.free(it, func(e *Entry) bool { return content(e) == own && !boxed(e) }))
}

func first(list []int) int {
	if len(list) == 0 {
		return -1
	}
	return list[0]
}

// sameNorm finds an entry that says the same but for case, white space and
// emphasis.
func (m *Merge) sameNorm(it *MergeItem) int {
	if it.task != nil {
		return -1
	}
	return first(m.free(it, func(e *Entry) bool { return e.Norm == it.entry.Norm && !boxed(e) }))
}

// sameTask finds the task of the same text: one that is as it is to be, if there
// is one, and an item of its own before one that is part of another, of which
// there must be just one.
func (m *Merge) sameTask(it *MergeItem) int {
	norm := it.entry.Tasks[0].Norm
	var top []int
	var nested [][2]int
	for _, i := range it.Candidates {
		for j, t := range m.doc.Entries[i].Tasks {
			switch {
			case t.Norm != norm || m.taken[[2]int{i, j}]:
			case t.top && !m.taken[[2]int{i, -1}]:
				top = append(top, i)
			case !t.top:
				nested = append(nested, [2]int{i, j})
			}
		}
	}
	for _, i := range top {
		if s := m.doc.Entries[i].Tasks[0].State; s == it.wanted(s) {
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

// wanted is the state of a task after the merge, given what it is: done wins.
func (it *MergeItem) wanted(is TaskState) TaskState {
	switch {
	case it.task.Reopen:
		return Open
	case it.task.Done:
		return Done
	}
	return is
}

func (m *Merge) sameTitle(it *MergeItem) int {
	if it.Title == "" {
		return -1
	}
	return m.only(it, func(e *Entry) bool { return mergeTitle(e) == it.Title })
}

func (m *Merge) sameLink(it *MergeItem) int {
	if len(it.entry.Links) == 0 {
		return -1
	}
	fit := m.only(it, func(e *Entry) bool {
		return slices.ContainsFunc(e.Links, func(l Link) bool {
			return slices.ContainsFunc(it.entry.Links, func(k Link) bool { return linkKey(&l) == linkKey(&k) })
		})
	})
	if fit >= 0 && mergeTitle(&m.doc.Entries[fit]) != it.Title {
		return -1
	}
	return fit
}

// linkKey is where a link leads: as it is understood first, so that ../a/b.md and
// a/b.md are one.
func linkKey(l *Link) string {
	target := l.Target
	if len(l.Paths) > 0 {
		target = l.Paths[0]
	}
	return target + "#" + l.Anchor
}

// Revise notes what the merge changes, now. What is new, or replaced, carries the
// source where its text comes from if that is not to be trusted.
func (m *Merge) Revise(r *Revision, source string, now time.Time) {
	comment := ""
	if untrusted(source) {
		comment = newComment([]attr{{key: "source", value: source}})
	}
	order, numbers := m.layout.sectionOrder(), map[string]int{}
	for i := range m.Items {
		it := &m.Items[i]
		if it.Into >= 0 {
			m.update(r, it, source, now)
			continue
		}
		section, listed := m.placeOf(it)
		marker := "-"
		if it.number && !listed {
			numbers[section]++
			marker = strconv.Itoa(numbers[section]) + "."
		}
		r.AppendInOrder(order, section, m.behind(it.item(marker), comment))
	}
}

// placeOf is the section that an item is put into, by the name that it has in the
// file, and whether it ends with a list.
func (m *Merge) placeOf(it *MergeItem) (section string, listed bool) {
	for _, name := range m.layout.draftSections(it.Section) {
		shown := m.doc.Own.Visibility == PublicOK
		spot, err := m.doc.endOf(wanted{path: []string{name}, shown: shown})
		if err == nil && len(spot.headings) == 0 {
			return name, m.doc.alike(spot.beside, shown) >= 0
		}
	}
	return it.section, false
}

// update notes what becomes of an entry that an item is the same as.
func (m *Merge) update(r *Revision, it *MergeItem, source string, now time.Time) {
	e := &m.doc.Entries[it.Into]
	it.change = Merged
	text := it.text
	switch {
	case it.task != nil:
		at := max(it.inTask, 0)
		was := &e.Tasks[at]
		want := it.wanted(was.State)
		if was.Norm == it.entry.Tasks[0].Norm {
			if want != was.State {
				r.SetTask(it.Into, at, want)
				it.change = Updated
			}
			return
		}
		p, task := it.Part, *it.task
		task.Done = want == Done
		p.task = &task
		text = p.item("-")
	case content(e) == content(it.entry):
		return
	case text == "":
		text = it.Text
	}
	it.change = Updated
	r.Replace(it.Into, m.behind(text, m.doc.keptBehind(e, source, now)))
}

// keptBehind is what stays behind an entry when its text is replaced: the id that
// others refer to it by, and its attributes. They say when it was written if they
// said so before, and by whom if that was, or is, not to be trusted.
func (d *Document) keptBehind(e *Entry, source string, now time.Time) string {
	var attributes []Attribute
	if untrusted(source) || e.Untrusted() {
		attributes = append(attributes, Attribute{Key: "source", Value: source})
	}
	if e.Attributes["updated"] != "" {
		attributes = append(attributes, Attribute{Key: "updated", Value: Timestamp(now)})
	}
	comment := d.AttributeComment(e, attributes...)
	if e.Given && strings.HasPrefix(e.ID, "^") {
		return strings.TrimSpace(e.ID + " " + comment)
	}
	return comment
}

// behind is an item with something behind its first block.
func (m *Merge) behind(text, what string) string {
	if what == "" {
		return text
	}
	at := len(text)
	if one := m.layout.Parse(m.doc.Place.Path, []byte(text), Meta{}); len(one.Entries) == 1 && one.Entries[0].lead > 0 {
		at = one.Entries[0].lead
	}
	return text[:at] + " " + what + text[at:]
}

// An Outcome is what has become of an item of a draft.
type Outcome struct {
	*MergeItem
	Change Change
	Entry  int    // in the document, -1 if it is not seen there
	Line   int    // of it, or of the task in it; 0 then
	Says   string // the first line of what it says there, or of the task
}

// Outcomes are what has become of the items in a document after the merge, as its
// reader sees it.
func (m *Merge) Outcomes(after *Document) []Outcome {
	list := make([]Outcome, len(m.Items))
	seen := map[int]bool{} // lines
	for i := range m.Items {
		it := &m.Items[i]
		o := Outcome{MergeItem: it, Change: it.change, Entry: -1}
		for j := range after.Entries {
			line, says := it.in(&after.Entries[j])
			if line > 0 && !seen[line] && after.Entries[j].Readable(m.view) && m.inSection(&after.Entries[j], it) {
				o.Entry, o.Line, o.Says = j, line, says
				seen[line] = true
				break
			}
		}
		list[i] = o
	}
	return list
}

// in is the line on which an entry says what the item does, and its text there; 0
// if it does not.
func (it *MergeItem) in(e *Entry) (line int, says string) {
	if it.task == nil {
		if e.Norm == it.entry.Norm {
			says, _, _ = strings.Cut(content(e), "\n")
			return e.Line, says
		}
		return 0, ""
	}
	for _, t := range e.Tasks {
		if t.Norm == it.entry.Tasks[0].Norm && t.State == it.wanted(t.State) {
			return t.Line, t.Text
		}
	}
	return 0, ""
}
