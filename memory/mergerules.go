package memory

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// hasBox reports whether an entry is a task with a box. In a section where every
// item is a task, the box is optional.
func hasBox(e *Entry) bool {
	return len(e.Tasks) > 0 && e.Tasks[0].isEntry && e.Tasks[0].Box.End > e.Tasks[0].Box.Start
}

// ByRules pairs the remaining items, rule by rule: equal texts and tasks first,
// then equal titles, then equal links. A title or a link matches only if
// exactly one entry of the section has it. The error is that of the context.
func (m *Merge) ByRules(ctx context.Context) error {
	return m.applyRules(ctx, m.sameText, m.sameNorm, m.sameTitle, m.sameLink)
}

func (m *Merge) applyRules(ctx context.Context, rules ...func(*MergeItem) int) error {
	for _, rule := range rules {
		for i := range m.Items {
			if err := ctx.Err(); err != nil {
				return err
			}
			it := &m.Items[i]
			if it.Into >= 0 {
				continue
			}
			if e := rule(it); e >= 0 {
				m.recordPair(it, e)
			}
		}
	}
	return nil
}

// A sectionIndex finds the list items of a section by the properties that the
// rules compare. The lists are in the order of the file. Those for norm, title
// and link contain changeable entries only. Those for title and link end after
// two entries, because only a single entry matches.
type sectionIndex struct {
	entries                          []int
	content, norm, title, link, task map[string][]int
	similar                          SimilarTexts // of the entries; nil until needed
}

// indexSection returns the index of the readable list items in a section of a
// draft, under any name of the section.
func (m *Merge) indexSection(section string) *sectionIndex {
	if x := m.sections[section]; x != nil {
		return x
	}
	x := &sectionIndex{
		content: map[string][]int{}, norm: map[string][]int{}, title: map[string][]int{}, link: map[string][]int{},
		task: map[string][]int{},
	}
	m.sections[section] = x
	names := m.layout.draftSections(section)
	in := map[int]bool{} // by heading
	for i := range m.doc.Entries {
		e := &m.doc.Entries[i]
		if e.Block != Item || !e.Readable(m.view) {
			continue
		}
		is, known := in[e.Heading]
		if !known {
			is = slices.ContainsFunc(e.Sections, func(s string) bool {
				return slices.ContainsFunc(names, func(name string) bool { return SameSection(s, name) })
			})
			in[e.Heading] = is
		}
		if is {
			x.addEntry(i, e, m.allowed(e))
		}
	}
	return x
}

func (x *sectionIndex) addEntry(i int, e *Entry, may bool) {
	x.entries = append(x.entries, i)
	put := func(m map[string][]int, key string, most int) {
		if list := m[key]; len(list) == 0 || len(list) < most && list[len(list)-1] != i {
			m[key] = append(list, i)
		}
	}
	if may {
		put(x.title, mergeTitle(e), 2)
		for j := range e.Links {
			put(x.link, linkKey(&e.Links[j]), 2)
		}
	}
	for j := range e.Tasks {
		put(x.task, e.Tasks[j].Norm, math.MaxInt)
	}
	if !hasBox(e) {
		put(x.content, itemContent(e), math.MaxInt)
		if may {
			put(x.norm, e.Norm, math.MaxInt)
		}
	}
}

// singleCandidate returns the single entry of a list if it is unpaired and
// replaceable, else -1.
func (m *Merge) singleCandidate(it *MergeItem, list []int) int {
	if len(list) == 1 && !m.taken[[2]int{list[0], -1}] && m.replaceable(it, list[0]) {
		return list[0]
	}
	return -1
}

// sameText returns the entry with the same content or, for a task, the same
// task text.
func (m *Merge) sameText(it *MergeItem) int {
	if it.task != nil {
		return m.sameTask(it)
	}
	return m.firstUnpaired(it.section.content[itemContent(it.entry)])
}

// firstUnpaired returns the first unpaired entry of a list, or -1.
func (m *Merge) firstUnpaired(list []int) int {
	for _, i := range list {
		if !m.taken[[2]int{i, -1}] {
			return i
		}
	}
	return -1
}

// sameNorm returns an entry with the same text apart from case, white space and
// emphasis.
func (m *Merge) sameNorm(it *MergeItem) int {
	if it.task != nil {
		return -1
	}
	return m.firstUnpaired(it.section.norm[it.entry.Norm])
}

// sameTask returns the entry with a task of the same text. It prefers a task
// that already has the wanted state, and a task that is an entry of its own to
// a nested one. A nested task matches only if it is the only one.
func (m *Merge) sameTask(it *MergeItem) int {
	norm := it.entry.Tasks[0].Norm
	var top []int
	var nested [][2]int
	for _, i := range it.section.task[norm] {
		for j, t := range m.doc.Entries[i].Tasks {
			switch {
			case t.Norm != norm || m.taken[[2]int{i, j}],
				t.State != it.targetState(t.State) && !m.allowed(&m.doc.Entries[i]):
			case t.isEntry && !m.taken[[2]int{i, -1}]:
				top = append(top, i)
			case !t.isEntry:
				nested = append(nested, [2]int{i, j})
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
func (it *MergeItem) targetState(is TaskState) TaskState {
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
	return m.singleCandidate(it, it.section.title[it.Title])
}

func (m *Merge) sameLink(it *MergeItem) int {
	var list []int
	for i := range it.entry.Links {
		list = append(list, it.section.link[linkKey(&it.entry.Links[i])]...)
	}
	slices.Sort(list)
	fit := m.singleCandidate(it, slices.Compact(list))
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
	comment := ""
	if author.Untrusted(View{}) {
		comment = newComment([]Attribute{{"source", author.Source}, {"written_by", author.By}})
	}
	var order [][]string // the sections of a session's file, each with its possible names
	for _, section := range ShortTermSections {
		order = append(order, m.layout.draftSections(section))
	}
	numbers := map[string]int{}
	places := map[string]sectionPlace{} // by the section of the draft
	for i := range m.Items {
		it := &m.Items[i]
		if it.Into >= 0 {
			m.updateEntry(r, it, author, now)
			continue
		}
		place, known := places[it.Section]
		if !known {
			place = m.locateSection(it)
			places[it.Section] = place
		}
		marker := "-"
		if it.number && !place.listed {
			numbers[place.heading]++
			marker = strconv.Itoa(numbers[place.heading]) + "."
		}
		r.AppendInOrder(order, place.heading, m.insertSuffix(it.listItem(marker), comment))
	}
}

// Changes reports whether an item of the draft is new or changes an entry. Call
// [Merge.Revise] first.
func (m *Merge) Changes() bool {
	return slices.ContainsFunc(m.Items, func(it MergeItem) bool { return it.change != Merged })
}

type sectionPlace struct {
	heading string // name in the file
	listed  bool   // a new item joins a list
}

func (m *Merge) locateSection(it *MergeItem) sectionPlace {
	for _, name := range m.layout.draftSections(it.Section) {
		shown := m.doc.Own.Visibility == PublicOK
		spot, err := m.doc.placement().endOf([]string{name}, nil, shown)
		if err == nil && len(spot.headings) == 0 {
			return sectionPlace{name, m.doc.placement().similarItem(spot.beside, shown) >= 0}
		}
	}
	return sectionPlace{it.heading, false}
}

// updateEntry adds the changes of the entry that an item is paired with.
func (m *Merge) updateEntry(r *Revision, it *MergeItem, author Author, now time.Time) {
	e := &m.doc.Entries[it.Into]
	it.change = Merged
	text := it.text
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
	case text == "":
		text = it.Text
	}
	it.change = Updated
	r.Replace(it.Into, m.insertSuffix(text, m.doc.preservedSuffix(e, author, now))+m.doc.InnerComments(e))
}

// preservedSuffix returns the suffix that an entry keeps when its text is replaced:
// its given anchor and its attributes. It sets the attribute updated only if
// the entry has one, and the author only if the old or the new one is
// untrusted.
func (d *Document) preservedSuffix(e *Entry, author Author, now time.Time) string {
	var attributes []Attribute
	if author.Untrusted(View{}) || e.Author().Untrusted(View{}) {
		attributes = append(attributes, Attribute{Key: "source", Value: author.Source},
			Attribute{Key: "written_by", Value: author.By})
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

// insertSuffix inserts a suffix after the first block of an item.
func (m *Merge) insertSuffix(text, what string) string {
	if what == "" {
		return text
	}
	at := len(text)
	if one := m.layout.Parse(m.doc.Place.Path, []byte(text), Meta{}); len(one.Entries) == 1 && one.Entries[0].lead > 0 {
		at = one.Entries[0].lead
	}
	return text[:at] + " " + what + text[at:]
}

// An Outcome is the result of a merge for an item of a draft.
type Outcome struct {
	*MergeItem
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
	merged := &Merge{doc: after, view: m.view, allowed: func(*Entry) bool { return true }, layout: m.layout,
		sections: map[string]*sectionIndex{}}
	seen := map[int]bool{} // lines
	for i := range m.Items {
		it := &m.Items[i]
		o := Outcome{MergeItem: it, Change: it.change, Entry: -1}
		if it.Into < 0 {
			if j := m.similarEntry(it); j >= 0 {
				o.Similar, _, _ = strings.Cut(itemContent(&m.doc.Entries[j]), "\n")
			}
		}
		x := merged.indexSection(it.Section)
		like := x.norm[it.entry.Norm]
		if it.task != nil {
			like = x.task[it.entry.Tasks[0].Norm]
		}
		for _, j := range like {
			line, says := it.findIn(&after.Entries[j])
			if line > 0 && !seen[line] {
				o.Entry, o.Line, o.EntryText = j, line, says
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
func (it *MergeItem) findIn(e *Entry) (line int, says string) {
	if it.task == nil {
		if e.Norm == it.entry.Norm {
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
