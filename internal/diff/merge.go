package diff

// A Merge is the alignment of a base with two versions of it.
type Merge struct {
	// Ours and Theirs hold, for each element of the base, the index of the paired
	// element of the version, or -1.
	Ours, Theirs []int
	// Regions covers all elements of the three lists in order.
	Regions []Region
}

// A Region is a part of the three lists. It is stable if all of its elements are in all
// lists; at least one of the versions changed the others.
type Region struct {
	Base, Ours, Theirs Range
	Stable             bool
}

// A Range is a range of indexes, without To.
type Range struct{ From, To int }

// Align3 aligns a base with two versions of it.
func Align3(base, ours, theirs []string) Merge {
	m := Merge{Ours: Align(base, ours), Theirs: Align(base, theirs)}
	var at Region // at the ends of the last region
	add := func(i, j, k int, stable bool) {
		r := Region{Range{at.Base.To, i}, Range{at.Ours.To, j}, Range{at.Theirs.To, k}, stable}
		if r.Base.To > r.Base.From || r.Ours.To > r.Ours.From || r.Theirs.To > r.Theirs.From {
			m.Regions, at = append(m.Regions, r), r
		}
	}
	for i := range base {
		if j, k := m.Ours[i], m.Theirs[i]; j >= 0 && k >= 0 {
			add(i, j, k, false)
			add(i+1, j+1, k+1, true)
		}
	}
	add(len(base), len(ours), len(theirs), false)
	return m
}
