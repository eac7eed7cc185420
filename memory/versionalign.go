package memory

import (
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/linediff"
)

// align pairs the pieces of the versions and sets the pieces of the merged text
// in order. An unknown base has no pieces.
func (m *VersionMerge) align() {
	base := m.versions[baseVersion]
	a := &versionAlignment{m: m, placed: map[*mergeNode]bool{}}
	a.skeleton = make([]*mergeNode, len(base.pieces))
	for i := range base.pieces {
		a.skeleton[i] = &mergeNode{at: [3]int{i, -1, -1}}
	}
	for version := ourVersion; version <= theirVersion; version++ {
		a.pairVersion(version)
	}
	a.keepHeadings()
	for _, n := range a.skeleton {
		m.mergeNode(n)
	}
	a.placeSlot(0)
	for i, n := range a.skeleton {
		if n.moved == 0 {
			a.place(n)
			a.placeSlot(i + 1)
		}
	}
	for i, n := range a.skeleton { // moved pieces that wait for each other
		if !a.placed[n] {
			a.place(n)
			a.placeSlot(i + 1)
		}
	}
	a.joinIDs()
	a.foldCopies()
	m.nodes = slices.DeleteFunc(m.nodes, func(n *mergeNode) bool { return n.at == [3]int{-1, -1, -1} })
}

// A versionAlignment is the state of pairing the pieces of the versions.
type versionAlignment struct {
	m        *VersionMerge
	skeleton []*mergeNode        // by piece of the base
	slots    [3][][]*mergeNode   // by version and slot: new and moved pieces; slot i+1 is below piece i of the base
	placed   map[*mergeNode]bool // nodes in the result
}

// pairVersion pairs the pieces of a version with those of the base, and lists the
// others in the slots between them.
func (a *versionAlignment) pairVersion(version int) {
	base, v := a.m.versions[baseVersion], a.m.versions[version]
	pairs := alignLines(pieceTexts(base.pieces), pieceTexts(v.pieces))
	baseOf := make([]int, len(v.pieces))
	for j := range baseOf {
		baseOf[j] = -1
	}
	for i, j := range pairs {
		if j >= 0 {
			baseOf[j] = i
		}
	}
	equal := slices.Clone(pairs)
	pairMoved(base.pieces, v.pieces, pairs, baseOf, func(p *piece) string {
		if p.entry < 0 && p.level == 0 {
			return ""
		}
		return p.text
	})
	pairMoved(base.pieces, v.pieces, pairs, baseOf, func(p *piece) string { return p.id })
	i, j := 0, 0
	for k, l := range append(equal, len(v.pieces)) {
		if l >= 0 {
			pairRun(base, v, pairs, baseOf, lineRange{i, k}, lineRange{j, l})
			i, j = k+1, l+1
		}
	}
	a.setSlots(version, pairs, baseOf)
}

// setSlots sets the pieces of a version: those that are in the order of the base at
// their place, the others in the slots between them. The longest sequence in
// order stays, so that the fewest pieces count as moved.
func (a *versionAlignment) setSlots(version int, pairs, baseOf []int) {
	ordered := make([]bool, len(baseOf))
	for _, j := range linediff.LongestIncreasing(slices.DeleteFunc(pairs, func(j int) bool { return j < 0 })) {
		ordered[j] = true
	}
	slots := make([][]*mergeNode, len(a.skeleton)+1)
	slot := 0
	for j, i := range baseOf {
		if i < 0 {
			n := &mergeNode{at: [3]int{-1, -1, -1}, text: a.m.versions[version].pieces[j].text}
			n.at[version] = j
			slots[slot] = append(slots[slot], n)
			continue
		}
		n := a.skeleton[i]
		n.at[version] = j
		if ordered[j] {
			slot = i + 1
			continue
		}
		if n.moved == 0 {
			n.moved = version
		}
		slots[slot] = append(slots[slot], n)
	}
	a.slots[version] = slots
}

func pieceTexts(list []piece) []string {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = list[i].text
	}
	return texts
}

// pairMoved pairs unpaired pieces with equal names, if the name is unique among
// them in both versions and not empty.
func pairMoved(base, v []piece, pairs, baseOf []int, name func(*piece) string) {
	unique := func(list []piece, paired []int) map[string]int {
		found := map[string]int{}
		for i := range list {
			s := name(&list[i])
			if s == "" || paired[i] >= 0 {
				continue
			}
			if _, twice := found[s]; twice {
				found[s] = -1
			} else {
				found[s] = i
			}
		}
		return found
	}
	there := unique(v, baseOf)
	for s, i := range unique(base, pairs) {
		if j, ok := there[s]; ok && j >= 0 && i >= 0 {
			pairs[i], baseOf[j] = j, i
		}
	}
}

// pairRun pairs the pieces of two runs without equal pieces that are versions of
// one piece: only their boxes differ, or they have a title or most words in common.
func pairRun(base, v *version, pairs, baseOf []int, in, to lineRange) {
	type kindName struct {
		kind int
		name string
	}
	pair := func(name func(v *version, p *piece) string) {
		there := map[kindName][]int{} // unpaired pieces of v, in order
		for j := to.from; j < to.to; j++ {
			q := &v.pieces[j]
			if s := name(v, q); baseOf[j] < 0 && s != "" {
				k := kindName{q.kind(), s}
				there[k] = append(there[k], j)
			}
		}
		for i := in.from; i < in.to; i++ {
			p := &base.pieces[i]
			k := kindName{p.kind(), name(base, p)}
			if list := there[k]; pairs[i] < 0 && len(list) > 0 {
				pairs[i], baseOf[list[0]], there[k] = list[0], i, list[1:]
			}
		}
	}
	pair(func(_ *version, p *piece) string { return p.key })
	pair(func(v *version, p *piece) string {
		if p.entry < 0 {
			return ""
		}
		return v.doc.Entries[p.entry].Title
	})
	if (in.to-in.from)*(to.to-to.from) > maxSimilar {
		return
	}
	for i := in.from; i < in.to; i++ {
		best, at := minEdited, -1
		for j := to.from; j < to.to && pairs[i] < 0; j++ {
			p, q := &base.pieces[i], &v.pieces[j]
			if baseOf[j] >= 0 || p.kind() != q.kind() || p.level != q.level {
				continue
			}
			if share := sharedWords(p.key, q.key); share >= best && (at < 0 || share > best) {
				best, at = share, j
			}
		}
		if at >= 0 {
			pairs[i], baseOf[at] = at, i
		}
	}
}

// minEdited is the share of the words of the shorter text that two versions of
// one piece have in common.
const minEdited = 0.5

// sharedWords returns the share of the words of the shorter text that both have.
func sharedWords(a, b string) float64 {
	x, y := wordSet(TaskNorm(a)), wordSet(TaskNorm(b))
	return float64(countCommon(x, y)) / float64(max(1, min(len(x), len(y))))
}

// kind distinguishes text between entries, entries and headings.
func (p *piece) kind() int {
	switch {
	case p.level > 0:
		return 2
	case p.entry >= 0:
		return 1
	}
	return 0
}

func (m *VersionMerge) mergeNode(n *mergeNode) {
	base, ours, theirs := m.textIn(n, baseVersion), m.textIn(n, ourVersion), m.textIn(n, theirVersion)
	boxes, same := mergeBoxes(ours, theirs)
	switch {
	case n.kept:
	case same:
		n.text = boxes
	case theirs == base:
		n.text = ours
	case ours == base:
		n.text = theirs
	default:
		n.conflict = true
	}
}

// keepHeadings keeps the headings that one version removed if the other one wrote
// text below them.
func (a *versionAlignment) keepHeadings() {
	base := a.m.versions[baseVersion]
	for version := ourVersion; version <= theirVersion; version++ {
		v := a.m.versions[version]
		changed := make([]bool, len(v.pieces)) // pieces that this version wrote or that must stay
		for j := range changed {
			changed[j] = true
		}
		for i, n := range a.skeleton {
			if j := n.at[version]; j >= 0 {
				changed[j] = base.pieces[i].text != v.pieces[j].text
			}
		}
		for j, p := range slices.Backward(v.pieces) {
			if changed[j] && p.parent >= 0 {
				changed[p.parent] = true
			}
		}
		for i, n := range a.skeleton {
			j := n.at[version]
			if base.pieces[i].level > 0 && j >= 0 && n.at[ourVersion+theirVersion-version] < 0 && changed[j] {
				n.kept = true
				n.text = v.pieces[j].text
			}
		}
	}
}

func (a *versionAlignment) place(n *mergeNode) {
	if a.placed[n] {
		return
	}
	a.placed[n] = true
	a.m.nodes = append(a.m.nodes, n)
}

// placeSlot appends the new and moved pieces of a slot.
func (a *versionAlignment) placeSlot(slot int) {
	var runs [3][]*mergeNode
	for version := ourVersion; version <= theirVersion; version++ {
		for _, n := range a.slots[version][slot] {
			if n.moved == 0 || n.moved == version && !a.placed[n] {
				runs[version] = append(runs[version], n)
			}
		}
		a.slots[version][slot] = nil
	}
	for _, n := range a.mergeRuns(runs[ourVersion], runs[theirVersion]) {
		a.place(n)
		if n.moved != 0 {
			a.placeSlot(n.at[baseVersion] + 1)
		}
	}
}

// mergeRuns merges two lists of pieces that were written at the same place. Equal
// pieces become one.
func (a *versionAlignment) mergeRuns(x, y []*mergeNode) (list []*mergeNode) {
	keys := func(list []*mergeNode, version int) []string {
		keys := make([]string, len(list))
		for i, n := range list {
			keys[i] = a.m.piece(n, version).key
		}
		return keys
	}
	i, j := 0, 0
	for k, l := range alignLines(keys(x, ourVersion), keys(y, theirVersion)) {
		if l < 0 || x[k].moved != 0 || y[l].moved != 0 {
			continue
		}
		list = append(list, a.mergeSegments(x[i:k], y[j:l])...)
		x[k].at[theirVersion] = y[l].at[theirVersion]
		a.m.mergeNode(x[k])
		list = append(list, x[k])
		i, j = k+1, l+1
	}
	return append(list, a.mergeSegments(x[i:], y[j:])...)
}

// mergeSegments merges two lists without equal pieces. Text that belongs to the
// section above comes first, then the sections, deeper ones first, so that each
// piece stays in its section. Pieces of one level are in the order of their
// times, or else ours come first.
func (a *versionAlignment) mergeSegments(x, y []*mergeNode) (list []*mergeNode) {
	for len(x) > 0 && len(y) > 0 {
		p, q := a.m.piece(x[0], ourVersion), a.m.piece(y[0], theirVersion)
		takeY := q.depth() > p.depth()
		if p.depth() == q.depth() {
			ours, theirs := a.segmentTime(x, ourVersion), a.segmentTime(y, theirVersion)
			takeY = !ours.IsZero() && !theirs.IsZero() && theirs.Before(ours)
		}
		from, version := &x, ourVersion
		if takeY {
			from, version = &y, theirVersion
		}
		n := 1
		for a.m.piece((*from)[0], version).level > 0 && n < len(*from) && a.m.piece((*from)[n], version).level == 0 {
			n++
		}
		list, *from = append(list, (*from)[:n]...), (*from)[n:]
	}
	return append(append(list, x...), y...)
}

// depth orders pieces by the section that they may begin.
func (p *piece) depth() int {
	if p.level == 0 {
		return 7
	}
	return p.level
}

// segmentTime returns the first time in the segment that begins with list[0], zero
// if there is none.
func (a *versionAlignment) segmentTime(list []*mergeNode, version int) time.Time {
	first := a.m.piece(list[0], version)
	for i, n := range list {
		p := a.m.piece(n, version)
		if i > 0 && (first.level == 0 || p.level > 0) {
			break
		}
		if !p.time.IsZero() {
			return p.time
		}
	}
	return time.Time{}
}

// joinIDs joins new pieces of both versions that have the same given id but
// different texts: they are a conflict.
func (a *versionAlignment) joinIDs() {
	ours := map[string]*mergeNode{}
	for _, n := range a.m.nodes {
		if p := a.m.piece(n, ourVersion); p != nil && p.id != "" && n.at[theirVersion] < 0 && n.at[baseVersion] < 0 {
			ours[p.id] = n
		}
	}
	for _, n := range a.m.nodes {
		p := a.m.piece(n, theirVersion)
		if p == nil || p.id == "" || n.at[ourVersion] >= 0 || n.at[baseVersion] >= 0 || ours[p.id] == nil {
			continue
		}
		other := ours[p.id]
		other.at[theirVersion], n.at[theirVersion] = n.at[theirVersion], -1
		a.m.mergeNode(other)
		delete(ours, p.id)
	}
}

// foldCopies removes their new entries that ours contains in the same section at
// another place.
func (a *versionAlignment) foldCopies() {
	type place struct {
		text     string
		sections string
	}
	key := func(n *mergeNode, version int) (place, bool) {
		p := a.m.piece(n, version)
		if p == nil || p.entry < 0 || p.level > 0 || n.at[baseVersion] >= 0 {
			return place{}, false
		}
		return place{p.key, strings.Join(a.m.versions[version].doc.Entries[p.entry].Sections, "\x00")}, true
	}
	ours := map[place][]*mergeNode{}
	for _, n := range a.m.nodes {
		if k, ok := key(n, ourVersion); ok && n.at[theirVersion] < 0 {
			ours[k] = append(ours[k], n)
		}
	}
	for _, n := range a.m.nodes {
		k, ok := key(n, theirVersion)
		if !ok || n.at[ourVersion] >= 0 || len(ours[k]) == 0 {
			continue
		}
		other := ours[k][0]
		ours[k] = ours[k][1:]
		other.at[theirVersion], n.at[theirVersion] = n.at[theirVersion], -1
		a.m.mergeNode(other)
	}
}
