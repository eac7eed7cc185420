package memory

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// boxed reports whether an entry is a task with a box. In a section where every
// item is a task, the box is optional.
func boxed(e *Entry) bool {
	return len(e.Tasks) > 0 && e.Tasks[0].top && e.Tasks[0].Box.End > e.Tasks[0].Box.Start
}

// ByRules pairs the remaining items, rule by rule: equal texts and tasks first,
// then equal titles, then equal links. A title or a link matches only if
// exactly one entry of the section has it.
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

// first returns the first unpaired candidate for which keep returns true, else
// -1.
func (m *Merge) first(it *MergeItem, keep func(e *Entry) bool) int {
	for _, i := range it.Candidates {
		if !m.taken[[2]int{i, -1}] && keep(&m.doc.Entries[i]) {
			return i
		}
	}
	return -1
}

// only returns the single candidate for which keep returns true, if it is
// unpaired and replaceable; else -1.
func (m *Merge) only(it *MergeItem, keep func(e *Entry) bool) int {
	other := func(i int) bool { return !keep(&m.doc.Entries[i]) }
	fit := slices.DeleteFunc(slices.Clone(it.Candidates), other)
	if len(fit) == 1 && !m.taken[[2]int{fit[0], -1}] && m.replaceable(it, fit[0]) {
		return fit[0]
	}
	return -1
}

// sameText returns the entry with the same content or, for a task, the same
// task text.
func (m *Merge) sameText(it *MergeItem) int {
	if it.task != nil {
		return m.sameTask(it)
	}
	own := content(it.entry)
	return m.first(it, func(e *Entry) bool { return content(e) == own && !boxed(e) })
}

// sameNorm returns an entry with the same text apart from case, white space and
// emphasis.
func (m *Merge) sameNorm(it *MergeItem) int {
	if it.task != nil {
		return -1
	}
	return m.first(it, func(e *Entry) bool { return e.Norm == it.entry.Norm && !boxed(e) })
}

// sameTask returns the entry with a task of the same text. It prefers a task
// that already has the wanted state, and a task that is an entry of its own to
// a nested one. A nested task matches only if it is the only one.
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

// wanted returns the state of a task after the merge, given its current state.
// Done takes precedence.
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

// linkKey returns the target of a link for comparison. It uses the first
// possible path, so that ../a/b.md and a/b.md are equal.
func linkKey(l *Link) string {
	target := l.Target
	if len(l.Paths) > 0 {
		target = l.Paths[0]
	}
	return target + "#" + l.Anchor
}

// Revise adds the changes of the merge to a revision. If source is not trusted,
// new and replaced items get it as an attribute.
func (m *Merge) Revise(r *Revision, source string, now time.Time) {
	comment := ""
	if FromOthers(source) {
		comment = newComment([]Attribute{{"source", source}})
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

// placeOf returns the name in the file of the section for an item, and whether
// the item would join a list there.
func (m *Merge) placeOf(it *MergeItem) (section string, listed bool) {
	for _, name := range m.layout.draftSections(it.Section) {
		shown := m.doc.Own.Visibility == PublicOK
		spot, err := m.doc.placement().endOf(wanted{path: []string{name}, shown: shown})
		if err == nil && len(spot.headings) == 0 {
			return name, m.doc.placement().alike(spot.beside, shown) >= 0
		}
	}
	return it.section, false
}

// update adds the changes of the entry that an item is paired with.
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
	r.Replace(it.Into, m.behind(text, m.doc.keptBehind(e, source, now))+m.doc.Remarks(e))
}

// keptBehind returns the suffix that an entry keeps when its text is replaced:
// its given anchor and its attributes. It sets the attribute updated only if
// the entry has one, and source only if the old or the new source is not
// trusted.
func (d *Document) keptBehind(e *Entry, source string, now time.Time) string {
	var attributes []Attribute
	if FromOthers(source) || e.Untrusted() {
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

// behind inserts a suffix after the first block of an item.
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

// An Outcome is the result of a merge for an item of a draft.
type Outcome struct {
	*MergeItem
	Change Change
	Entry  int    // in the document, -1 if not visible there
	Line   int    // of the entry, or of the task in it; 0 if not visible
	Says   string // the first line of the entry there, or the task's text
}

// Outcomes returns the results for all items. The document after is the merged
// file as visible to the reader.
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

// in returns the line and text of the item in an entry, or 0 if the entry does
// not contain the item.
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
