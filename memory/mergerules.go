package memory

import "slices"

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
