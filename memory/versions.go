package memory

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A VersionMerge is the merge of two versions of a file, entry by entry. The
// merge keeps the additions of both versions and applies changes, moves and
// removals that only one version made to their common base. An entry that both
// versions changed differently is a conflict.
type VersionMerge struct {
	// Conflicts lists the pieces that both versions changed differently.
	Conflicts []VersionConflict
	// Whole reports that the versions cannot be merged by entries, because one of
	// them is damaged or an entry would get another meaning or more readers.
	Whole bool
	// Additions reports that neither version changed, moved or removed an entry.
	Additions bool
	// Added, Changed and Removed count the pieces by which the merged text differs
	// from our version.
	Added, Changed, Removed int

	layout   *Layout
	path     string
	sources  [3][]byte    // base, ours, theirs
	versions [3]*version  // likewise, without byte order marks
	of       [3][]*merged // by version and piece
	parts    []mergePart  // of the merged text, in order
	ending   string       // of every line of our version, empty if they differ

	generated bool // the summary of both versions is generated
}

// A VersionConflict is a piece that both versions changed: its text in each
// version, empty where the version lacks it.
type VersionConflict struct{ Base, Ours, Theirs string }

// A Keep is the treatment of conflicts in a merged text.
type Keep uint8

// Treatments of conflicts.
const (
	KeepOurs Keep = iota
	KeepTheirs
	KeepBoth
	KeepMarked // both, between conflict markers
)

// Conflict markers, at the start of a line, as written by git and diff3.
const (
	markOurs   = "<<<<<<< ours"
	markMiddle = "======="
	markTheirs = ">>>>>>> theirs"
)

// ErrWhole reports that two versions of a file cannot be merged by entries.
var ErrWhole = errors.New("the versions cannot be merged entry by entry; compare them by hand")

// The versions of a merge.
const (
	baseVersion = iota
	ourVersion
	theirVersion
)

// A version is one version of a file as pieces, which contain every line that is
// not blank.
type version struct {
	doc    *Document
	pieces []piece
	tail   int // blank lines at the end
}

// A piece is a key of the frontmatter, a heading, an entry, or text between them.
type piece struct {
	text   string // its lines with LF endings, without the last one
	key    string // key of the frontmatter or given id, or else the text with open boxes
	front  string // key of the frontmatter
	line   int    // its first line
	gap    int    // blank lines above it
	level  int    // of a heading, else 0
	entry  int    // index in Document.Entries, -1 for none
	parent int    // index of the piece with the heading above it, -1 for none
	item   bool
	time   time.Time
}

// A merged is a piece in the versions that contain it.
type merged struct {
	at   [3]int // index in the pieces of each version, -1 if missing
	text string // merged text
	slot int    // of a piece that a version added: index in the base
}

// A mergePart is a piece of the merged text, or a conflict: the different pieces of
// both versions at one place.
type mergePart struct {
	sides    [KeepMarked][]*merged // pieces by the versions that are kept
	conflict bool
	base     string // text of a conflict in the base
}

// MergeVersions merges two versions of the file at path. A nil base means that
// the common base is unknown: the merge then keeps the pieces of both versions,
// in the order of their times where they have times.
func (l *Layout) MergeVersions(path string, base, ours, theirs []byte) *VersionMerge {
	m := &VersionMerge{layout: l, path: path, sources: [3][]byte{base, ours, theirs}}
	for i, src := range m.sources {
		m.versions[i] = l.splitVersion(path, src)
		m.Whole = m.Whole || m.versions[i].doc.Unsound && (i > 0 || base != nil)
	}
	if !m.Whole {
		m.ending = commonEnding(ours)
		m.generated = m.versions[ourVersion].doc.HasGeneratedSummary() && m.versions[theirVersion].doc.HasGeneratedSummary()
		m.mergePieces()
		_, err := m.Text(KeepOurs)
		m.Whole = err != nil
	}
	if m.Whole {
		m.Conflicts = []VersionConflict{{string(base), string(ours), string(theirs)}}
	}
	m.Additions = m.Additions && len(m.Conflicts) == 0
	return m
}

// splitVersion parses a version and splits it into pieces.
func (l *Layout) splitVersion(path string, src []byte) *version {
	d := l.Parse(path, src[bomLen(src):], Meta{})
	v := &version{doc: d}
	owner := make([]int, d.lines.count()+2) // by line: number of its piece, 0 for none
	pieces := []piece{{entry: -1}}          // pieces[0] is text between others
	cover := func(from, to int, p piece) {
		pieces = append(pieces, p)
		for line := from; line <= to; line++ {
			if owner[line] == 0 {
				owner[line] = len(pieces) - 1
			}
		}
	}
	for _, f := range d.Front.Fields {
		if f.Span.End > 0 {
			cover(d.lines.at(f.Span.Start), d.lines.at(f.Span.End-1), piece{key: "key\x00" + f.Key, front: f.Key, entry: -1})
		}
	}
	for _, o := range d.outline(false) {
		p := piece{level: o.level, entry: o.entry}
		if o.entry >= 0 {
			e := &d.Entries[o.entry]
			p.item, p.time = e.Block == Item, e.Time
			if e.Given {
				p.key = "id\x00" + e.ID
			}
		}
		cover(o.from, o.to, p)
	}
	for _, s := range d.Hidden {
		cover(d.lines.at(s.Start), d.lines.at(max(s.Start, s.End-1)), piece{entry: -1})
	}
	gap, stack := 0, []int(nil)
	for line := 1; line <= d.lines.count(); {
		if owner[line] == 0 && d.blankLine(line) {
			gap, line = gap+1, line+1
			continue
		}
		from, id := line, owner[line]
		for line++; id > 0 && line <= d.lines.count() && owner[line] == id; line++ {
		}
		p := pieces[id]
		pieces[id] = piece{entry: -1} // a second part of a divided piece is plain text
		for to := line - 1; to > from && d.blankLine(to); to-- {
			line = to // blank lines at the end belong to the gap
		}
		s := d.lines.span(from, line-1)
		text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(d.Source[s.Start:s.End]))
		p.text = strings.TrimSuffix(text, "\n")
		p.key, p.line, p.gap, gap = cmp.Or(p.key, openBoxes(p.text)), from, gap, 0
		for p.level > 0 && len(stack) > 0 && v.pieces[stack[len(stack)-1]].level >= p.level {
			stack = stack[:len(stack)-1]
		}
		p.parent = -1
		if len(stack) > 0 {
			p.parent = stack[len(stack)-1]
		}
		if p.level > 0 {
			stack = append(stack, len(v.pieces))
		}
		v.pieces = append(v.pieces, p)
	}
	v.tail = gap
	return v
}

// boxRE matches the box of a task at the start of a line.
var boxRE = lazyregexp.New(`(?m)^([ \t]*(?:[-*+]|\d+[.)])[ \t]+\[)[ xX]\]`)

func openBoxes(text string) string { return boxRE().ReplaceAllString(text, "${1} ]") }

// mergeBoxes merges texts that differ in their boxes only. A box that one of them has
// ticked is ticked: a task that one machine has done is done.
func mergeBoxes(ours, theirs string) string {
	o, t := strings.Split(ours, "\n"), strings.Split(theirs, "\n")
	for i := range o {
		if o[i] == openBoxes(o[i]) {
			o[i] = t[i]
		}
	}
	return strings.Join(o, "\n")
}

// mergePieces aligns the pieces of the versions and sets those of the merged text.
//
// A piece of the base stays if both versions contain it, apart from ticks. All pieces
// that a version added stay. A changed piece is one removed and one added. Where both
// versions changed a piece, the pieces of both are a conflict.
func (m *VersionMerge) mergePieces() {
	var keys [3][]string
	for version, v := range m.versions {
		for j := range v.pieces {
			n := &merged{at: [3]int{-1, -1, -1}, text: v.pieces[j].text}
			n.at[version] = j
			m.of[version], keys[version] = append(m.of[version], n), append(keys[version], v.pieces[j].key)
		}
	}
	aligned := diff.Align3(keys[baseVersion], keys[ourVersion], keys[theirVersion])
	for i, n := range m.of[baseVersion] {
		for version, j := range map[int]int{ourVersion: aligned.Ours[i], theirVersion: aligned.Theirs[i]} {
			if j >= 0 {
				n.at[version], m.of[version][j] = j, n
			}
		}
	}
	for _, r := range aligned.Regions {
		if r.Stable {
			m.parts = append(m.parts, m.mergeNode(m.of[baseVersion][r.Base.From]))
		} else {
			m.parts = append(m.parts, m.mergeRegion(r)...)
		}
	}
	m.foldCopies()
	for _, p := range m.parts {
		if p.conflict {
			m.Conflicts = append(m.Conflicts, VersionConflict{p.base, m.textOf(p.sides[KeepOurs], ourVersion),
				m.textOf(p.sides[KeepTheirs], theirVersion)})
		}
	}
	m.count()
}

// count counts the entries, headings and other pieces below the frontmatter in which the
// merged text differs from our version, and sets Additions.
func (m *VersionMerge) count() {
	for _, n := range m.of[ourVersion] {
		if m.piece(n).front == "" {
			m.Removed++
		}
	}
	for _, r := range m.render(KeepOurs) {
		switch n := r.node; {
		case m.piece(n).front != "":
		case n.at[ourVersion] < 0:
			m.Added++
		default:
			m.Removed--
			if n.text != m.textIn(n, ourVersion) {
				m.Changed++
			}
		}
	}
	m.Additions = true
	for i, n := range m.of[baseVersion] {
		p := &m.versions[baseVersion].pieces[i]
		same := n.at[ourVersion] >= 0 && n.at[theirVersion] >= 0 && openBoxes(n.text) == openBoxes(p.text)
		m.Additions = m.Additions && (same || p.front != "")
	}
}

// mergeNode returns the part with a piece that both versions contain.
func (m *VersionMerge) mergeNode(n *merged) mergePart {
	base, ours, theirs := m.textIn(n, baseVersion), m.textIn(n, ourVersion), m.textIn(n, theirVersion)
	front := m.piece(n).front
	switch {
	case openBoxes(ours) == openBoxes(theirs):
		n.text = mergeBoxes(ours, theirs)
	case theirs == base, m.prefers(front, ours, theirs):
		n.text = ours
	case ours == base, m.prefers(front, theirs, ours):
		n.text = theirs
	default:
		x, y := *n, *n
		x.text, x.at[theirVersion] = ours, -1
		y.text, y.at[ourVersion] = theirs, -1
		return mergePart{base: base, conflict: true, sides: [KeepMarked][]*merged{{&x}, {&y}, {&x, &y}}}
	}
	return plainPart(n)
}

func plainPart(n *merged) mergePart { return mergePart{sides: [KeepMarked][]*merged{{n}, {n}, {n}}} }

// prefers reports whether the line of a key of the frontmatter that both versions changed
// wins over another one: the later time of the last change, the earlier one of the
// creation, or a value that is computed again.
func (m *VersionMerge) prefers(key, line, other string) bool {
	switch key {
	case "updated_at":
		return line > other
	case "created_at":
		return line < other
	}
	return key == "tasks" || key == "follow_ups" || key == "summary" && m.generated
}

// textIn returns the text of a piece in a version, empty if the version lacks it.
func (m *VersionMerge) textIn(n *merged, version int) string {
	if n.at[version] < 0 {
		return ""
	}
	return m.versions[version].pieces[n.at[version]].text
}

// textOf returns the text of pieces in a version.
func (m *VersionMerge) textOf(nodes []*merged, version int) string {
	var texts []string
	for _, n := range nodes {
		texts = append(texts, m.textIn(n, version))
	}
	return strings.Join(texts, "\n")
}

// piece returns the piece of a node in our version or else in theirs.
func (m *VersionMerge) piece(n *merged) *piece {
	version := m.versionOf(n)
	return &m.versions[version].pieces[n.at[version]]
}

// versionOf returns the version whose line endings and blank lines a piece has.
func (m *VersionMerge) versionOf(n *merged) int {
	if n.at[ourVersion] < 0 {
		return theirVersion
	}
	return ourVersion
}

// mergeRegion merges a region that at least one version changed. None of its pieces
// are in all three versions.
func (m *VersionMerge) mergeRegion(r diff.Region) []mergePart {
	old := m.of[baseVersion][r.Base.From:r.Base.To]
	both, clash := false, false // pieces that both versions removed, or that one removed and the other one ticked
	for _, n := range old {
		both = both || n.at[ourVersion] < 0 && n.at[theirVersion] < 0
	}
	kept := func(version int, in diff.Range) (list []*merged) {
		slot := r.Base.From
		for _, n := range m.of[version][in.From:in.To] {
			if n.at[baseVersion] >= 0 {
				slot = n.at[baseVersion] + 1
			}
			n.text, n.slot = m.textIn(n, version), slot
			ticked := n.at[baseVersion] >= 0 && n.text != m.textIn(n, baseVersion)
			clash = clash || ticked
			if ticked || n.at[baseVersion] < 0 {
				list = append(list, n)
			}
		}
		return list
	}
	list := m.mergeRuns(kept(ourVersion, r.Ours), kept(theirVersion, r.Theirs))
	var added [3]bool // by version: it has a piece that no other one has
	for _, p := range list {
		for _, n := range p.sides[KeepBoth] {
			added[ourVersion] = added[ourVersion] || max(n.at[baseVersion], n.at[theirVersion]) < 0
			added[theirVersion] = added[theirVersion] || max(n.at[baseVersion], n.at[ourVersion]) < 0
		}
	}
	if !clash && !(both && added[ourVersion] && added[theirVersion]) {
		return list
	}
	sides := [KeepMarked][]*merged{m.of[ourVersion][r.Ours.From:r.Ours.To], m.of[theirVersion][r.Theirs.From:r.Theirs.To], nil}
	for _, p := range list {
		sides[KeepBoth] = append(sides[KeepBoth], p.sides[KeepBoth]...)
	}
	return []mergePart{{base: m.textOf(old, baseVersion), conflict: true, sides: sides}}
}

// mergeRuns merges two lists of pieces that were written at the same place. Equal
// pieces become one.
func (m *VersionMerge) mergeRuns(x, y []*merged) (list []mergePart) {
	keys := func(list []*merged) (keys []string) {
		for _, n := range list {
			keys = append(keys, m.nameOf(n))
		}
		return keys
	}
	i, j := 0, 0
	for k, l := range diff.Align(keys(x), keys(y)) {
		if l < 0 {
			continue
		}
		list = append(list, m.mergeSegments(x[i:k], y[j:l])...)
		x[k].at[theirVersion] = y[l].at[theirVersion]
		list = append(list, m.mergeNode(x[k]))
		i, j = k+1, l+1
	}
	return append(list, m.mergeSegments(x[i:], y[j:])...)
}

// mergeSegments merges two lists without equal pieces. Text that belongs to the
// section above comes first, then the sections, deeper ones first, so that each
// piece stays in its section. Sections of one level are in the order of their
// times, or else of their places in the base; of equal ones, ours come first.
func (m *VersionMerge) mergeSegments(x, y []*merged) (list []mergePart) {
	for len(x)+len(y) > 0 {
		from := &x
		if len(x) == 0 || len(y) > 0 && m.comesFirst(y, x) {
			from = &y
		}
		n := 1
		for n < len(*from) && m.piece((*from)[0]).level > 0 && m.piece((*from)[n]).level == 0 {
			n++
		}
		for _, node := range (*from)[:n] {
			list = append(list, plainPart(node))
		}
		*from = (*from)[n:]
	}
	return list
}

// comesFirst reports whether the first section or piece of y comes before that of x.
func (m *VersionMerge) comesFirst(y, x []*merged) bool {
	depth := func(p *piece) int { return cmp.Or(p.level, 7) }
	p, q := m.piece(x[0]), m.piece(y[0])
	if depth(p) != depth(q) {
		return depth(q) > depth(p)
	}
	ours, theirs := m.firstTime(x), m.firstTime(y)
	if ours.IsZero() || theirs.IsZero() || ours.Equal(theirs) {
		return y[0].slot < x[0].slot
	}
	return theirs.Before(ours)
}

// firstTime returns the first time in the section or piece at the start of a list, zero
// if there is none.
func (m *VersionMerge) firstTime(list []*merged) time.Time {
	for i, n := range list {
		p := m.piece(n)
		if !p.time.IsZero() || i > 0 && p.level > 0 || m.piece(list[0]).level == 0 {
			return p.time
		}
	}
	return time.Time{}
}

// foldCopies removes their new entries that our version added at another place of the
// same section.
func (m *VersionMerge) foldCopies() {
	isNew := func(p mergePart, version int) bool {
		n := p.sides[0]
		return !p.conflict && n[0].at[version] >= 0 && n[0].at[baseVersion] < 0 &&
			n[0].at[ourVersion+theirVersion-version] < 0 && m.piece(n[0]).entry >= 0 && m.piece(n[0]).level == 0
	}
	ours := map[string][]*merged{}
	for _, p := range m.parts {
		if isNew(p, ourVersion) {
			name := m.nameOf(p.sides[0][0])
			ours[name] = append(ours[name], p.sides[0][0])
		}
	}
	m.parts = slices.DeleteFunc(m.parts, func(p mergePart) bool {
		if !isNew(p, theirVersion) {
			return false
		}
		n := p.sides[0][0]
		name := m.nameOf(n)
		same := ours[name]
		if len(same) == 0 || openBoxes(same[0].text) != openBoxes(n.text) {
			return false
		}
		ours[name] = same[1:]
		same[0].at[theirVersion], same[0].text = n.at[theirVersion], mergeBoxes(same[0].text, n.text)
		return true
	})
}

// nameOf returns the id of a piece, or its text with its section.
func (m *VersionMerge) nameOf(n *merged) string {
	version := m.versionOf(n)
	pieces := m.versions[version].pieces
	p := &pieces[n.at[version]]
	name := p.key
	if p.key == openBoxes(p.text) {
		for up := p.parent; up >= 0; up = pieces[up].parent {
			name += "\x00" + pieces[up].text
		}
	}
	return name
}

// A renderedPiece is a piece of the merged text, or a conflict marker.
type renderedPiece struct {
	node   *merged
	marker string
}

// Text returns the merged text. Every piece of it has the same section and no
// more readers than in the versions; if that is impossible, or if keep requires both
// values of a key of the frontmatter, the error is [ErrWhole]. With KeepMarked the file
// is private until the markers are removed, and there is always a text.
func (m *VersionMerge) Text(keep Keep) ([]byte, error) {
	base, ours, theirs := m.sources[baseVersion], m.sources[ourVersion], m.sources[theirVersion]
	switch {
	case bytes.Equal(ours, theirs), base != nil && bytes.Equal(theirs, base):
		return ours, nil
	case base != nil && bytes.Equal(ours, base):
		return slices.Concat(ours[:bomLen(ours)], theirs[bomLen(theirs):]), nil
	case m.Whole && keep == KeepMarked:
		return MarkVersions(ours, theirs), nil
	case m.Whole:
		return nil, ErrWhole
	}
	list := m.render(keep)
	out, err := m.join(list), error(nil)
	switch {
	case keep == KeepMarked && len(m.Conflicts) > 0:
		if m.layout.Parse(m.path, out, Meta{}).Partition.Visibility == PublicOK {
			out = MarkVersions(ours, theirs)
		}
	case !m.check(out, list):
		return nil, ErrWhole
	default:
		out, err = m.finish(out)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrWhole, err)
		}
	}
	return slices.Concat(ours[:bomLen(ours)], out), nil
}

// MarkVersions returns both versions of a file between conflict markers. The file is
// private until the markers are removed.
func MarkVersions(ours, theirs []byte) []byte {
	out := []byte(markOurs + "\n")
	for _, part := range [][]byte{ours, []byte(markMiddle), theirs, []byte(markTheirs)} {
		out = append(out, part...)
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
	}
	return out
}

// render returns the pieces of a merged text in order.
func (m *VersionMerge) render(keep Keep) (list []renderedPiece) {
	add := func(nodes []*merged) {
		for _, n := range nodes {
			list = append(list, renderedPiece{node: n})
		}
	}
	for _, p := range m.parts {
		if !p.conflict || keep != KeepMarked {
			add(p.sides[min(keep, KeepBoth)])
			continue
		}
		list = append(list, renderedPiece{marker: markOurs})
		add(p.sides[KeepOurs])
		list = append(list, renderedPiece{marker: markMiddle})
		add(p.sides[KeepTheirs])
		list = append(list, renderedPiece{marker: markTheirs})
	}
	return list
}

// join writes the pieces with blank lines between them. A line has the ending that all
// lines of our version have, or else the one that it has in its own version.
func (m *VersionMerge) join(list []renderedPiece) (out []byte) {
	ours := m.versions[ourVersion]
	newline := cmp.Or(m.ending, string(ours.doc.LineEnding()))
	endLine := func() {
		if len(out) > 0 && len(trimEnding(out)) == len(out) {
			out = append(out, newline...) // the last line of a version may have no ending
		}
	}
	write := func(line, ending string) {
		endLine()
		if line == "" && ending == "\n" && bytes.HasSuffix(out, []byte("\r")) {
			ending = "\r" // CR LF would be the ending of one line
		}
		out = append(append(out, line...), ending...)
	}
	for i, r := range list {
		if r.marker == markOurs && list[i+1].node != nil && m.piece(list[i+1].node).gap > 0 {
			write("", newline)
		}
		if r.marker != "" {
			write(r.marker, newline)
			continue
		}
		gap, version := m.gap(list, i)
		if i > 0 && list[i-1].marker != "" && list[i-1].marker != markTheirs {
			gap = 0
		}
		p := &m.versions[version].pieces[r.node.at[version]]
		for k := range gap {
			if p.gap == gap {
				write(m.sourceLine(version, p.line-gap+k))
			} else {
				write("", newline)
			}
		}
		version, p = m.versionOf(r.node), m.piece(r.node)
		for k, line := range strings.Split(r.node.text, "\n") {
			_, ending := m.sourceLine(version, p.line+k)
			write(line, ending)
		}
	}
	for k := range ours.tail {
		write(m.sourceLine(ourVersion, ours.doc.lines.count()-ours.tail+1+k))
	}
	if source := ours.doc.Source; len(trimEnding(source)) < len(source) {
		endLine()
	}
	return out
}

// sourceLine returns a line of a version and the line ending that it has in the merged
// text, which is empty if the version ends without one.
func (m *VersionMerge) sourceLine(version, line int) (text, ending string) {
	d := m.versions[version].doc
	s := d.lines.span(line, line)
	source := d.Source[s.Start:s.End]
	text = string(trimEnding(source))
	ending = string(source[len(text):])
	if ending != "" {
		ending = cmp.Or(m.ending, ending)
	}
	return text, ending
}

// gap returns the number of blank lines above a piece, and the version of these lines
// if it has as many. Where the piece above is the same as in a version, so are the blank
// lines.
func (m *VersionMerge) gap(list []renderedPiece, i int) (lines, version int) {
	n, p := list[i].node, m.piece(list[i].node)
	var above *merged
	if i > 0 {
		above = list[i-1].node
	}
	for _, version := range []int{ourVersion, theirVersion} {
		at := n.at[version]
		if at == 0 && i == 0 || at > 0 && above != nil && above.at[version] == at-1 {
			return m.versions[version].pieces[at].gap, version
		}
	}
	own := m.versionOf(n)
	switch at := n.at[own]; {
	case above == nil, p.front != "":
		return p.gap, own
	case !p.item || !m.piece(above).item:
		return max(1, p.gap), own
	case at > 0 && m.versions[own].pieces[at-1].item:
		return p.gap, own
	}
	return 0, own
}

// check reports whether a text parses to the intended pieces, each in its section
// and without new readers.
func (m *VersionMerge) check(out []byte, list []renderedPiece) bool {
	next := m.layout.splitVersion(m.path, out)
	if next.doc.Unsound || !slices.EqualFunc(next.pieces, list,
		func(p piece, r renderedPiece) bool { return r.node.text == p.text }) {
		return false
	}
	for i := range list {
		if !m.sameSection(next, list, i) || !m.sameReaders(list[i].node, next.doc, &next.pieces[i]) {
			return false
		}
	}
	return true
}

// sameSection reports whether a piece is below the same heading as in a version,
// apart from headings that the other version added.
func (m *VersionMerge) sameSection(next *version, list []renderedPiece, i int) bool {
	return slices.ContainsFunc([]int{ourVersion, theirVersion}, func(version int) bool {
		k, up, at := list[i].node.at[version], next.pieces[i].parent, -1
		for k >= 0 && up >= 0 && at < 0 {
			at, up = list[up].node.at[version], next.pieces[up].parent
		}
		return k >= 0 && at == m.versions[version].pieces[k].parent
	})
}

// sameReaders reports whether a piece has no readers that it lacks in a version
// that added it or changed its text or its readers, or else in the base. Pieces
// that are not entries have the readers of the file.
func (m *VersionMerge) sameReaders(n *merged, next *Document, p *piece) bool {
	readers := func(d *Document, p *piece) Partition {
		if p.entry < 0 {
			return d.Own
		}
		return d.Entries[p.entry].Partition
	}
	to, decided := readers(next, p), false
	find := func(version int) (from Partition, text string, ok bool) {
		k := n.at[version]
		if k < 0 || (m.versions[version].pieces[k].entry < 0) != (p.entry < 0) {
			return from, "", false
		}
		q := &m.versions[version].pieces[k]
		return readers(m.versions[version].doc, q), openBoxes(q.text), true
	}
	before, base, known := find(baseVersion)
	for _, version := range []int{ourVersion, theirVersion} {
		from, text, ok := find(version)
		if !ok || known && from == before && text == base {
			continue
		}
		decided = true
		if from != to && !narrowsReaders(from, to) {
			return false
		}
	}
	return decided || !known || before == to || narrowsReaders(before, to)
}

// finish corrects the generated values of the frontmatter: the counters of tasks, and
// the summary if it is generated in both versions. An id that several entries of the
// merged text have stays at the first one.
func (m *VersionMerge) finish(out []byte) ([]byte, error) {
	parse := func(src []byte) *Document { return m.layout.Parse(m.path, src, Meta{}) }
	d := parse(out)
	r := d.Revise()
	for i := range d.Entries {
		if e := &d.Entries[i]; e.Attributes["id"] != "" && !e.Given {
			r.SetAttribute(i, "id", "")
		}
	}
	if d.Front.Tasks != "" || d.Front.FollowUps != "" {
		r.SetCounters()
	}
	if m.generated {
		r.SetField("summary", d.Titles())
	}
	return r.Apply(parse)
}

// ParseCopy parses a conflict copy: the entries that the original lacks. They are
// public only if all text of both files is public and has the same owner, because
// either version may have restricted the other. If the files have different
// owners, the copy has no readers. A nil original is missing or unreadable.
//
// An entry that one of the other copies contains, for the same readers, is left to
// that copy, so that it is counted once.
//
// A copy has neither frontmatter nor tasks: it is never changed, and its session or
// its tasks exist in the original.
func (l *Layout) ParseCopy(path string, src []byte, meta Meta, original *Document, others ...*Document) *Document {
	d := l.Parse(path, src, meta)
	public := func(d *Document) bool {
		return d.Partition.Visibility == PublicOK && d.excerpt == nil && !d.Unsound
	}
	if original == nil || !public(d) || !public(original) || d.Partition != original.Partition {
		meta.Unstable = true // makes all of it private
		d = l.Parse(path, src, meta)
	}
	copied := *d
	copied.excerpt, copied.Claim, copied.Front = nil, "", Front{Span: d.Front.Span, Present: d.Front.Present}
	copied.Problems = []Problem{{"conflict_copy", 0, "conflict copy of " + copied.Place.Copy + "; run `memwatchd conflicts merge`"}}
	if original != nil && original.privatePartition.Owner != d.privatePartition.Owner {
		copied.Partition = Partition{Owner: longtermKey("")}
		copied.Own, copied.publicPartition, copied.privatePartition = copied.Partition, copied.Partition, copied.Partition
		copied.Entries = nil
		return &copied
	}
	there := map[string]int{} // number of entries in the file that has the most
	add := func(d *Document) {
		count := map[string]int{}
		for i := range d.Entries {
			norm := d.Entries[i].Norm
			count[norm]++
			there[norm] = max(there[norm], count[norm])
		}
	}
	if original != nil {
		add(original)
	}
	for _, other := range others {
		if other.Partition == copied.Partition {
			add(other)
		}
	}
	copied.Entries = make([]Entry, 0, len(d.Entries))
	for _, e := range d.Entries {
		if there[e.Norm] > 0 {
			there[e.Norm]--
			continue
		}
		e.Tasks, e.Partition = nil, copied.Partition
		copied.Entries = append(copied.Entries, e)
	}
	return &copied
}
