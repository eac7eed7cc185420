package todosync

import "slices"

// Group groups copies of the same task. It adds each copy to the first group in
// which it matches every member. It returns the groups as indexes of copies;
// groups and members keep the order of the copies.
func (r *Rules) Group(copies []Copy) [][]int {
	var groups [][]int
	texts, ids := map[Digest][]int{}, map[string][]int{} // → groups with such a member
	for i := range copies {
		c := &copies[i]
		maybe := texts[c.Text]
		if c.ID != "" {
			maybe = slices.Concat(maybe, ids[c.ID])
			slices.Sort(maybe)
		}
		at := slices.IndexFunc(maybe, func(g int) bool {
			return !slices.ContainsFunc(groups[g], func(j int) bool { return !r.Same(&copies[j], c) })
		})
		g := len(groups)
		if at >= 0 {
			g = maybe[at]
			groups[g] = append(groups[g], i)
		} else {
			groups = append(groups, []int{i})
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
