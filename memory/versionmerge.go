package memory

import (
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/diff"
)

// mergePieces aligns the pieces of the versions, sets those of the merged text, and
// counts their differences to our version. An unknown base has no pieces.
//
// A piece of the base stays if both versions contain it, apart from ticks. All pieces
// that a version added stay. A changed piece is one removed and one added. Where both
// versions changed a piece, the pieces of both are a conflict.
func (m *VersionMerge) mergePieces() {
	var keys [3][]string
	for version, v := range m.versions {
		m.of[version] = make([]*mergeNode, len(v.pieces))
		for j := range v.pieces {
			keys[version] = append(keys[version], v.pieces[j].key)
			n := &mergeNode{at: [3]int{-1, -1, -1}, text: v.pieces[j].text}
			n.at[version] = j
			m.of[version][j] = n
		}
	}
	aligned := diff.Align3(keys[baseVersion], keys[ourVersion], keys[theirVersion])
	for i, n := range m.of[baseVersion] {
		m.pair(n, ourVersion, aligned.Ours[i])
		m.pair(n, theirVersion, aligned.Theirs[i])
	}
	for _, r := range aligned.Regions {
		if r.Stable {
			m.nodes = append(m.nodes, m.of[baseVersion][r.Base.From])
			continue
		}
		m.nodes = append(m.nodes, m.mergeRegion(r)...)
	}
	m.foldCopies()
	for i, n := range m.of[baseVersion] {
		old := m.versions[baseVersion].pieces[i].text
		m.Additions = m.Additions && n.at[ourVersion] >= 0 && n.at[theirVersion] >= 0 && openBoxes(n.text) == openBoxes(old)
	}
	for _, n := range m.nodes {
		if !n.conflict && n.at[ourVersion] >= 0 && n.text != m.textIn(n, ourVersion) {
			m.Changed++
		}
	}
}

// pair adds a piece of a version to the node of a piece with the same key.
func (m *VersionMerge) pair(n *mergeNode, version, j int) {
	if j < 0 {
		return
	}
	n.at[version], m.of[version][j] = j, n
	base, ours, theirs := m.textIn(n, baseVersion), m.textIn(n, ourVersion), m.textIn(n, theirVersion)
	switch {
	case n.at[ourVersion] < 0 || n.at[theirVersion] < 0:
		n.text = m.versions[version].pieces[j].text
	case openBoxes(ours) == openBoxes(theirs):
		n.text = mergeBoxes(ours, theirs)
	case theirs == base:
		n.text = ours
	case ours == base:
		n.text = theirs
	default:
		x, y := *n, *n
		x.text, x.at[theirVersion] = ours, -1
		y.text, y.at[ourVersion] = theirs, -1
		m.setConflict(n, []*mergeNode{&x, &y}, []*mergeNode{&x}, []*mergeNode{&y}, base)
	}
}

// setConflict makes a conflict of a node: the pieces of both versions, of ours and of
// theirs, and the text of the base.
func (m *VersionMerge) setConflict(n *mergeNode, both, ours, theirs []*mergeNode, base string) {
	n.conflict = true
	n.sides[KeepOurs], n.sides[KeepTheirs], n.sides[KeepBoth] = ours, theirs, both
	text := func(keep Keep, version int) string {
		var texts []string
		for _, r := range m.render(n.sides[keep], keep) {
			texts = append(texts, m.textIn(r.node, version))
		}
		return strings.Join(texts, "\n")
	}
	m.Conflicts = append(m.Conflicts, VersionConflict{base, text(KeepOurs, ourVersion), text(KeepTheirs, theirVersion)})
}

// mergeRegion merges a region that at least one version changed.
func (m *VersionMerge) mergeRegion(r diff.Region) (list []*mergeNode) {
	both, clash := false, false // pieces that both versions changed, or that one ticked and the other one removed
	for _, n := range m.of[baseVersion][r.Base.From:r.Base.To] {
		both = both || n.at[ourVersion] < 0 && n.at[theirVersion] < 0
		clash = clash || n.conflict || n.text != m.textIn(n, baseVersion)
	}
	kept := func(version int, in diff.Range) (list []*mergeNode) {
		slot := r.Base.From
		for _, n := range m.of[version][in.From:in.To] {
			if n.at[baseVersion] >= 0 {
				slot = n.at[baseVersion] + 1
			}
			n.slot = slot
			if n.at[baseVersion] < 0 || n.text != m.textIn(n, baseVersion) || m.addedBelow(n, version, in.To) {
				list = append(list, n)
			}
		}
		return list
	}
	list = m.mergeRuns(kept(ourVersion, r.Ours), kept(theirVersion, r.Theirs))
	count := [3]int{}
	for _, n := range list {
		switch {
		case n.at[baseVersion] >= 0:
		case n.at[theirVersion] < 0:
			count[ourVersion]++
		case n.at[ourVersion] < 0:
			count[theirVersion]++
		}
	}
	if clash || both && count[ourVersion] > 0 && count[theirVersion] > 0 {
		var old []string
		for _, n := range m.of[baseVersion][r.Base.From:r.Base.To] {
			old = append(old, m.textIn(n, baseVersion))
		}
		n := &mergeNode{at: [3]int{-1, -1, -1}}
		m.setConflict(n, list, m.of[ourVersion][r.Ours.From:r.Ours.To], m.of[theirVersion][r.Theirs.From:r.Theirs.To],
			strings.Join(old, "\n"))
		return []*mergeNode{n}
	}
	added, removed := 0, r.Ours.To-r.Ours.From
	for _, n := range list {
		if n.at[ourVersion] < 0 {
			added++
		} else {
			removed--
		}
	}
	changed := min(added, removed)
	m.Added, m.Changed, m.Removed = m.Added+added-changed, m.Changed+changed, m.Removed+removed-changed
	return list
}

// addedBelow reports whether a version added a piece below a heading, in the
// region that ends at end.
func (m *VersionMerge) addedBelow(n *mergeNode, version, end int) bool {
	pieces := m.versions[version].pieces
	for j := n.at[version] + 1; j < end && pieces[n.at[version]].level > 0; j++ {
		up := pieces[j].parent
		for up > n.at[version] {
			up = pieces[up].parent
		}
		if up == n.at[version] && m.of[version][j].at[baseVersion] < 0 {
			return true
		}
	}
	return false
}

// mergeRuns merges two lists of pieces that were written at the same place. Equal
// pieces become one.
func (m *VersionMerge) mergeRuns(x, y []*mergeNode) (list []*mergeNode) {
	keys := func(list []*mergeNode) (keys []string) {
		for _, n := range list {
			keys = append(keys, m.nameIn(n, m.versionOf(n)))
		}
		return keys
	}
	i, j := 0, 0
	for k, l := range diff.Align(keys(x), keys(y)) {
		if l < 0 {
			continue
		}
		list = append(list, m.mergeSegments(x[i:k], y[j:l])...)
		m.pair(x[k], theirVersion, y[l].at[theirVersion])
		list = append(list, x[k])
		i, j = k+1, l+1
	}
	return append(list, m.mergeSegments(x[i:], y[j:])...)
}

// mergeSegments merges two lists without equal pieces. Text that belongs to the
// section above comes first, then the sections, deeper ones first, so that each
// piece stays in its section. Pieces of one level are in the order of their
// times, or else ours come first.
func (m *VersionMerge) mergeSegments(x, y []*mergeNode) (list []*mergeNode) {
	for len(x) > 0 && len(y) > 0 {
		p, q := m.piece(x[0]), m.piece(y[0])
		takeY := q.depth() > p.depth()
		if p.depth() == q.depth() {
			ours, theirs := m.segmentTime(x), m.segmentTime(y)
			takeY = y[0].slot < x[0].slot
			if !ours.IsZero() && !theirs.IsZero() && !ours.Equal(theirs) {
				takeY = theirs.Before(ours)
			}
		}
		from := &x
		if takeY {
			from = &y
		}
		n := 1
		for m.piece((*from)[0]).level > 0 && n < len(*from) && m.piece((*from)[n]).level == 0 {
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
func (m *VersionMerge) segmentTime(list []*mergeNode) time.Time {
	first := m.piece(list[0])
	for i, n := range list {
		p := m.piece(n)
		if i > 0 && (first.level == 0 || p.level > 0) {
			break
		}
		if !p.time.IsZero() {
			return p.time
		}
	}
	return time.Time{}
}

// foldCopies removes their new entries that our version added at another place: those
// with the same id, and those with the same text in the same section.
func (m *VersionMerge) foldCopies() {
	name := func(n *mergeNode, version int) string {
		if n.conflict || n.at[version] < 0 || n.at[baseVersion] >= 0 || n.at[ourVersion+theirVersion-version] >= 0 ||
			m.piece(n).entry < 0 || m.piece(n).level > 0 {
			return ""
		}
		return m.nameIn(n, version)
	}
	ours := map[string][]*mergeNode{}
	for _, n := range m.nodes {
		if s := name(n, ourVersion); s != "" {
			ours[s] = append(ours[s], n)
		}
	}
	m.nodes = slices.DeleteFunc(m.nodes, func(n *mergeNode) bool {
		s := name(n, theirVersion)
		if s == "" || len(ours[s]) == 0 {
			return false
		}
		same := ours[s][0]
		ours[s] = ours[s][1:]
		here := m.section(ourVersion, same.at[ourVersion]) == m.section(theirVersion, n.at[theirVersion])
		m.pair(same, theirVersion, n.at[theirVersion])
		m.Added--
		if !same.conflict || here {
			return true
		}
		n.conflict, n.sides = true, [KeepMarked][]*mergeNode{KeepTheirs: same.sides[KeepTheirs], KeepBoth: same.sides[KeepTheirs]}
		same.sides[KeepTheirs], same.sides[KeepBoth] = nil, same.sides[KeepOurs]
		return false
	})
}

// nameIn returns the id of a piece of a version, or its text with its section.
func (m *VersionMerge) nameIn(n *mergeNode, version int) string {
	p := &m.versions[version].pieces[n.at[version]]
	if p.key != openBoxes(p.text) {
		return p.key
	}
	return p.key + m.section(version, n.at[version])
}

// section returns the headings above a piece of a version.
func (m *VersionMerge) section(version, j int) (section string) {
	pieces := m.versions[version].pieces
	for up := pieces[j].parent; up >= 0; up = pieces[up].parent {
		section += "\x00" + pieces[up].text
	}
	return section
}
