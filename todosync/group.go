package todosync

import "slices"

// Group groups copies of the same task. It adds each copy to the first group in
// which it matches every member, unless its file contains equal boxes, each of which
// is a task of its own. It returns the groups as indexes of copies; groups and members
// keep the order of the copies.
func (r *Rules) Group(copies []Copy) [][]int {
	type box struct {
		path string
		BoxKey
	}
	keys := func(c *Copy) (text, id box) {
		text, id = box{c.Path, c.BoxKey}, box{c.Path, BoxKey{ID: c.ID}}
		text.ID = ""
		return text, id
	}
	equal := map[box]int{}
	for i := range copies {
		text, id := keys(&copies[i])
		equal[text]++
		equal[id]++
	}
	var groups [][]int
	texts, ids := map[Digest][]int{}, map[string][]int{} // → groups with such a member
	for i := range copies {
		c := &copies[i]
		maybe := texts[c.Text]
		if c.ID != "" {
			maybe = slices.Concat(maybe, ids[c.ID])
			slices.Sort(maybe)
		}
		if text, id := keys(c); c.NoCopies || equal[text] > 1 || c.ID != "" && equal[id] > 1 {
			maybe = nil
		}
		at := slices.IndexFunc(maybe, func(g int) bool {
			return !slices.ContainsFunc(groups[g], func(j int) bool {
				return copies[j].Path == c.Path || !r.Same(&copies[j], c)
			})
		})
		g := len(groups)
		if at >= 0 {
			g = maybe[at]
			groups[g] = append(groups[g], i)
		} else {
			groups = append(groups, []int{i})
		}
		if c.NoCopies {
			continue
		}
		if list := texts[c.Text]; !slices.Contains(list, g) {
			texts[c.Text] = append(list, g)
		}
		if list := ids[c.ID]; c.ID != "" && !slices.Contains(list, g) {
			ids[c.ID] = append(list, g)
		}
	}
	return groups
}

// CopiesOf returns the boxes that change with the boxes at seeds, which are copies in
// different files: the seeds, and of each other file the box that matches best. A
// file with several such boxes has none. The result keeps the order of all.
func (r *Rules) CopiesOf(all []Copy, seeds []int) []int {
	type match struct {
		how     matchKind
		box     int
		several bool
	}
	best := map[string]match{}
	for i := range all {
		c, how := &all[i], byID
		for _, seed := range seeds {
			how = min(how, r.matchBoxes(&all[seed], c))
			if all[seed].Path == c.Path {
				how = different
			}
		}
		switch m := best[c.Path]; {
		case how == different || how < m.how:
		case how > m.how:
			best[c.Path] = match{how: how, box: i}
		default:
			m.several = true
			best[c.Path] = m
		}
	}
	list := slices.Clone(seeds)
	for _, m := range best {
		if !m.several {
			list = append(list, m.box)
		}
	}
	slices.Sort(list)
	copies := make([]Copy, len(list))
	for i, box := range list {
		copies[i] = all[box]
	}
	if len(r.Group(copies)) > 1 { // a task without subject or contact matches those of several
		first := &all[seeds[0]]
		list = slices.DeleteFunc(list, func(i int) bool {
			c := &all[i]
			return !slices.Contains(seeds, i) &&
				(c.Contact != first.Contact || r.Subject(c.Owner) != r.Subject(first.Owner))
		})
	}
	return list
}
