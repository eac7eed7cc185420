package memory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Whether two items are about the same thing, though they say it differently, no
// rule can tell. [Merge.Undecided] lists what somebody else may judge, and
// [Merge.Follow] does what that one proposes, if nothing is lost by it.

// Undecided decides on the items of the draft that say just what an entry says,
// and lists those of which nothing is decided then, with the entries that they
// may be the same as. What tell says no to is on neither list: it is given the
// text of each as it stands, or would stand, in the file, and who may read it.
// Neither are links on it, open tasks of the draft, which must not be lost, and
// entries that are more than a title, a text, and a list below.
func (m *Merge) Undecided(tell func(v Visibility, text string) bool) (existing, draft []Mergeable) {
	m.decide(m.sameText, m.sameNorm)
	listed := map[int]bool{}
	for i := range m.Items {
		it := &m.Items[i]
		if it.Into >= 0 || it.target != "" || it.task != nil && !it.task.Done || !tell(m.doc.Own.Visibility, it.Text) {
			continue
		}
		fit := 0
		for _, j := range it.Candidates {
			e := &m.doc.Entries[j]
			if m.taken[[2]int{j, -1}] || !tell(e.Partition.Visibility, string(m.doc.Source[e.Span.Start:e.Span.End])) {
				continue
			}
			was, ok := m.mergeable(e, it)
			if !ok {
				continue
			}
			if fit++; !listed[j] {
				listed[j], was.at = true, j
				existing = append(existing, was)
			}
		}
		if fit == 0 {
			continue
		}
		is := Mergeable{ID: fmt.Sprintf("d%d", len(draft)+1), Section: it.section, Title: it.title, at: i, Task: it.task != nil}
		if is.Task {
			is.State = Done
		}
		is.Text = strings.TrimSpace(strings.Join(it.lines, "\n"))
		if it.nested {
			is.lines = it.lines[1:]
		}
		draft = append(draft, is)
	}
	for i := range existing {
		existing[i].ID = fmt.Sprintf("e%d", i+1)
	}
	return existing, draft
}

// mergeable is an entry as it is shown to whoever judges whether it is the same
// as an item. It is false if that would not be all of it.
func (m *Merge) mergeable(e *Entry, it *MergeItem) (Mergeable, bool) {
	p := Part{Section: it.Section}
	was := Mergeable{Section: it.section}
	if len(e.Tasks) > 0 {
		if was.Task, was.State = true, e.Tasks[0].State; len(e.Tasks) > 1 || !e.Tasks[0].top {
			return was, false
		}
	}
	head, below, _ := strings.Cut(content(e), "\n")
	if title, text := splitTitle(head); title != "" && !was.Task {
		p.title, head = strings.TrimSpace(title), text
	}
	p.lines = []string{strings.TrimSpace(head)}
	for indented := range strings.Lines(below) {
		line := strings.TrimSpace(indented)
		n := listMarkerLen(line)
		switch last := len(p.lines) - 1; {
		case n > 0 && line[0] == indented[0]:
			p.lines, p.nested = append(p.lines, strings.TrimSpace(line[n:])), true
		case line != "" && escapeStart(line) == line:
			p.lines[last] = strings.TrimSpace(p.lines[last] + " " + line)
		default:
			return was, false
		}
	}
	if label := strings.TrimRight(p.lines[0], ":："); p.nested && p.title == "" && label != p.lines[0] {
		p.title, p.lines[0] = label, ""
	}
	was.Title, was.Text = p.title, strings.TrimSpace(strings.Join(p.lines, "\n"))
	if p.nested {
		was.lines = p.lines[1:]
	}
	if was.Task {
		p.task = &DraftTask{Done: was.State == Done}
	}
	again, err := m.layout.readPart(m.doc.Place.Path, &p, it.section, p.item("-"))
	return was, err == nil && again.Norm == e.Norm && was.Task == (it.task != nil)
}

// Follow does what a proposal says of the items that [Merge.Undecided] has listed,
// or nothing: the error says why that is not done. Refuse says why a text cannot
// be written at all. The lists may be those of another Merge of the same draft
// into the same source, if Undecided has been called for this one too.
func (m *Merge) Follow(p *Proposal, existing, draft []Mergeable, refuse func(text string) error) (err error) {
	items, taken := slices.Clone(m.Items), maps.Clone(m.taken)
	defer func() {
		if err != nil {
			m.Items, m.taken = items, taken
		}
	}()
	if err := p.Check(existing, draft, refuse); err != nil {
		return err
	}
	known, drafted := byID(existing), byID(draft)
	for _, s := range p.Same {
		was, is := known[s.Existing], drafted[s.Draft]
		if was.Task {
			if err := m.Same(is.at, was.at, ""); err != nil {
				return err
			}
			continue
		}
		one := mergedPart(was, is, s.Text)
		if err := m.Same(is.at, was.at, one.item("-")); err != nil {
			return err
		}
		it := &m.Items[is.at]
		if Fold(it.entry.Title) != Fold(one.title) {
			return errors.New("a merged text has a title of its own")
		}
		title := mergeTitle(it.entry)
		if title != "" && title != mergeTitle(&m.doc.Entries[was.at]) && slices.ContainsFunc(it.Candidates, func(i int) bool {
			return mergeTitle(&m.doc.Entries[i]) == title
		}) {
			return errors.New("it gives an item the title of another one")
		}
	}
	return nil
}

// mergedPart is a text that two items are to say from then on. Where one of them
// has a list below, what is behind the first line is one.
func mergedPart(was, is *Mergeable, text string) Part {
	p := Part{title: mergedTitle(was, is), lines: textLinesOf(text), nested: len(was.lines)+len(is.lines) > 0}
	for i, line := range p.lines {
		if n := listMarkerLen(line); n > 0 && (i > 0 || p.nested) {
			p.lines[i] = strings.TrimSpace(line[n:])
		}
	}
	if p.nested && p.title != "" && slices.ContainsFunc(slices.Concat(was.lines, is.lines), func(l string) bool { return label(l) == label(p.lines[0]) }) {
		p.lines = slices.Insert(p.lines, 0, "")
	}
	return p
}

// label is what stands before the colon of a line; the line, if it has none.
func label(line string) string {
	if at := strings.IndexAny(line, ":："); at >= 0 {
		line = line[:at]
	}
	return Fold(line)
}
