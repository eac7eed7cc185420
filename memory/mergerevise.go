package memory

import (
	"strconv"
	"strings"
	"time"
)

// Revise notes what the merge changes, now. What is new, or replaced, carries the
// source where its text comes from if that is not to be trusted.
func (m *Merge) Revise(r *Revision, source string, now time.Time) {
	comment := ""
	if FromOthers(source) {
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
	r.Replace(it.Into, m.behind(text, m.doc.keptBehind(e, source, now))+m.doc.Remarks(e))
}

// keptBehind is what stays behind an entry when its text is replaced: the id that
// others refer to it by, and its attributes. They say when it was written if they
// said so before, and by whom if that was, or is, not to be trusted.
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
