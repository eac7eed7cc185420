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

	layout    *Layout
	path      string
	sources   [3][]byte   // base, ours, theirs
	versions  [3]*version // likewise, without byte order marks
	parts     []mergePart // of the merged text, in order
	generated bool        // the summary of both versions is generated
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
	pieces []*piece
	tail   string // blank lines at the end
}

// A piece is a key of the frontmatter, a heading, an entry, or text between them.
type piece struct {
	raw    string // its lines
	above  string // blank lines above it
	key    string // key of the frontmatter or given id, or else the text with open boxes
	front  string // key of the frontmatter
	index  int    // in its version
	level  int    // of a heading, else 0
	entry  int    // index in Document.Entries, -1 for none
	item   bool
	time   time.Time
	parent *piece // with the heading above it
	prev   *piece
}

// A merged is a piece in the versions that contain it.
type merged struct {
	in   [3]*piece // by version, nil if missing
	raw  string    // merged lines
	slot int       // of a piece that a version added: index in the base
}

// piece returns the piece in our version or else in theirs.
func (n *merged) piece() *piece { return cmp.Or(n.in[ourVersion], n.in[theirVersion]) }

// text returns the lines in a version, empty if the version lacks the piece.
func (n *merged) text(version int) string {
	if n.in[version] == nil {
		return ""
	}
	return lineFeeds(n.in[version].raw)
}

// added reports whether only one version has the piece.
func (n *merged) added(version int) bool {
	return n.in[version] != nil && n.in[(version+1)%3] == nil && n.in[(version+2)%3] == nil
}

// name returns the id of a piece, or its text with its section.
func (n *merged) name() string {
	p := n.piece()
	name := p.key
	for up := p.parent; up != nil && !strings.Contains(p.key, "\x00"); up = up.parent {
		name += "\x00" + lineFeeds(up.raw)
	}
	return name
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
	owner := make([]*piece, d.lines.count()+2) // by line
	cover := func(from, to int, p piece) {
		for line := from; line <= to; line++ {
			owner[line] = cmp.Or(owner[line], &p)
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
	raw := func(from, to int) string {
		s := d.lines.span(from, to)
		return string(d.Source[s.Start:s.End])
	}
	var last *piece
	var headings []*piece
	end := 0 // last line of a piece
	for line := 1; line <= d.lines.count(); line++ {
		p := owner[line]
		done := p != nil && p.raw != ""
		if d.blankLine(line) && (p == nil || done) {
			continue
		}
		above := raw(end+1, line-1)
		for end = line; p != nil && owner[end+1] == p; end++ {
		}
		for ; end > line && d.blankLine(end); end-- {
		}
		if p == nil || done {
			p = &piece{entry: -1} // a second part of a divided piece is plain text
		}
		p.raw, p.above, p.index, p.prev = raw(line, end), above, len(v.pieces), last
		p.key = cmp.Or(p.key, openBoxes(lineFeeds(p.raw)))
		line, last = end, p
		for p.level > 0 && len(headings) > 0 && headings[len(headings)-1].level >= p.level {
			headings = headings[:len(headings)-1]
		}
		if len(headings) > 0 {
			p.parent = headings[len(headings)-1]
		}
		if p.level > 0 {
			headings = append(headings, p)
		}
		v.pieces = append(v.pieces, p)
	}
	v.tail = raw(end+1, d.lines.count())
	return v
}

// lineFeeds returns lines with LF endings, without the last one.
func lineFeeds(raw string) string {
	return strings.TrimSuffix(unixLines(raw), "\n")
}

// boxRE matches the box of a task at the start of a line.
var boxRE = lazyregexp.New(`((?:^|[\r\n])[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[)[ xX]\]`)

func openBoxes(text string) string { return boxRE().ReplaceAllString(text, "${1} ]") }

// mergeBoxes merges lines that differ in their boxes and endings only. A box that one of
// them has ticked is ticked: a task that one machine has done is done.
func mergeBoxes(ours, theirs string) string {
	out, boxes := []byte(ours), boxRE().FindAllStringIndex(theirs, -1)
	for i, at := range boxRE().FindAllStringIndex(ours, -1) {
		if state := &out[at[1]-len(" ]")]; *state == ' ' {
			*state = theirs[boxes[i][1]-len(" ]")]
		}
	}
	return string(out)
}

// mergePieces aligns the pieces of the versions and sets those of the merged text.
//
// A piece of the base stays if both versions contain it, apart from ticks. All pieces
// that a version added stay. A changed piece is one removed and one added. Where both
// versions changed a piece, the pieces of both are a conflict.
func (m *VersionMerge) mergePieces() {
	var of [3][]*merged
	var keys [3][]string
	for version, v := range m.versions {
		for _, p := range v.pieces {
			n := &merged{raw: p.raw}
			n.in[version] = p
			of[version], keys[version] = append(of[version], n), append(keys[version], p.key)
		}
	}
	aligned := diff.Align3(keys[baseVersion], keys[ourVersion], keys[theirVersion])
	for i, n := range of[baseVersion] {
		for version, j := range map[int]int{ourVersion: aligned.Ours[i], theirVersion: aligned.Theirs[i]} {
			if j >= 0 {
				n.in[version], of[version][j] = of[version][j].in[version], n
			}
		}
	}
	for _, r := range aligned.Regions {
		if base := of[baseVersion][r.Base.From:r.Base.To]; r.Stable {
			m.parts = append(m.parts, m.mergeNode(base[0]))
		} else {
			m.parts = append(m.parts, m.mergeRegion(r.Base.From, base, of[ourVersion][r.Ours.From:r.Ours.To],
				of[theirVersion][r.Theirs.From:r.Theirs.To])...)
		}
	}
	m.foldCopies()
	for _, p := range m.parts {
		if p.conflict {
			m.Conflicts = append(m.Conflicts, VersionConflict{p.base, textOf(p.sides[KeepOurs], ourVersion),
				textOf(p.sides[KeepTheirs], theirVersion)})
		}
	}
	m.count(of)
}

// count counts the entries, headings and other pieces below the frontmatter in which the
// merged text differs from our version, and sets Additions.
func (m *VersionMerge) count(of [3][]*merged) {
	for _, n := range of[ourVersion] {
		if n.piece().front == "" {
			m.Removed++
		}
	}
	for _, r := range m.render(KeepOurs) {
		switch n := r.node; {
		case n.piece().front != "":
		case n.in[ourVersion] == nil:
			m.Added++
		default:
			m.Removed--
			if lineFeeds(n.raw) != n.text(ourVersion) {
				m.Changed++
			}
		}
	}
	m.Additions = !slices.ContainsFunc(of[baseVersion], func(n *merged) bool {
		return n.in[baseVersion].front == "" && (n.in[ourVersion] == nil || n.in[theirVersion] == nil ||
			openBoxes(lineFeeds(n.raw)) != openBoxes(n.text(baseVersion)))
	})
}

// mergeNode returns the part with a piece that both versions contain.
func (m *VersionMerge) mergeNode(n *merged) mergePart {
	base, ours, theirs := n.text(baseVersion), n.text(ourVersion), n.text(theirVersion)
	front := n.piece().front
	switch {
	case openBoxes(ours) == openBoxes(theirs):
		n.raw = mergeBoxes(n.in[ourVersion].raw, n.in[theirVersion].raw)
	case theirs == base, m.prefers(front, ours, theirs):
		n.raw = n.in[ourVersion].raw
	case ours == base, m.prefers(front, theirs, ours):
		n.raw = n.in[theirVersion].raw
	default:
		x, y := *n, *n
		x.raw, x.in[theirVersion] = n.in[ourVersion].raw, nil
		y.raw, y.in[ourVersion] = n.in[theirVersion].raw, nil
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

// textOf returns the text of pieces in a version.
func textOf(nodes []*merged, version int) string {
	texts := make([]string, len(nodes))
	for i, n := range nodes {
		texts[i] = n.text(version)
	}
	return strings.Join(texts, "\n")
}

// mergeRegion merges a region that at least one version changed and that begins at a piece
// of the base. None of its pieces are in all three versions.
func (m *VersionMerge) mergeRegion(from int, base, ours, theirs []*merged) []mergePart {
	clash := false // one version removed a piece that the other one ticked
	kept := func(version int, in []*merged) (list []*merged) {
		slot := from
		for _, n := range in {
			n.raw = n.in[version].raw
			old := n.in[baseVersion]
			if old != nil {
				slot = old.index + 1
			}
			n.slot = slot
			ticked := old != nil && n.text(version) != n.text(baseVersion)
			clash = clash || ticked
			if ticked || old == nil {
				list = append(list, n)
			}
		}
		return list
	}
	list := m.mergeRuns(kept(ourVersion, ours), kept(theirVersion, theirs))
	var all []*merged
	for _, p := range list {
		all = append(all, p.sides[KeepBoth]...)
	}
	adds := func(version int) bool {
		return slices.ContainsFunc(all, func(n *merged) bool { return n.added(version) })
	}
	bothRemoved := slices.ContainsFunc(base, func(n *merged) bool { return n.added(baseVersion) })
	if !clash && !(bothRemoved && adds(ourVersion) && adds(theirVersion)) {
		return list
	}
	return []mergePart{{base: textOf(base, baseVersion), conflict: true, sides: [KeepMarked][]*merged{ours, theirs, all}}}
}

// mergeRuns merges two lists of pieces that were written at the same place. Equal
// pieces become one.
func (m *VersionMerge) mergeRuns(x, y []*merged) (list []mergePart) {
	names := func(list []*merged) (names []string) {
		for _, n := range list {
			names = append(names, n.name())
		}
		return names
	}
	i, j := 0, 0
	for k, l := range diff.Align(names(x), names(y)) {
		if l < 0 {
			continue
		}
		list = append(list, mergeSegments(x[i:k], y[j:l])...)
		x[k].in[theirVersion] = y[l].in[theirVersion]
		list = append(list, m.mergeNode(x[k]))
		i, j = k+1, l+1
	}
	return append(list, mergeSegments(x[i:], y[j:])...)
}

// mergeSegments merges two lists without equal pieces. Text that belongs to the
// section above comes first, then the sections, deeper ones first, so that each
// piece stays in its section. Sections of one level are in the order of their
// times, or else of their places in the base; of equal ones, ours come first.
func mergeSegments(x, y []*merged) (list []mergePart) {
	for len(x)+len(y) > 0 {
		from := &x
		if len(x) == 0 || len(y) > 0 && comesFirst(y, x) {
			from = &y
		}
		n := 1
		for n < len(*from) && (*from)[0].piece().level > 0 && (*from)[n].piece().level == 0 {
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
func comesFirst(y, x []*merged) bool {
	depth := func(list []*merged) int { return cmp.Or(list[0].piece().level, 7) }
	ours, theirs := firstTime(x), firstTime(y)
	switch {
	case depth(x) != depth(y):
		return depth(y) > depth(x)
	case ours.IsZero() || theirs.IsZero() || ours.Equal(theirs):
		return y[0].slot < x[0].slot
	}
	return theirs.Before(ours)
}

// firstTime returns the first time in the section or piece at the start of a list, zero
// if there is none.
func firstTime(list []*merged) time.Time {
	for i, n := range list {
		p := n.piece()
		if !p.time.IsZero() || i > 0 && p.level > 0 || list[0].piece().level == 0 {
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
		return !p.conflict && n[0].added(version) && n[0].piece().entry >= 0 && n[0].piece().level == 0
	}
	ours := map[string][]*merged{}
	for _, p := range m.parts {
		if isNew(p, ourVersion) {
			n := p.sides[0][0]
			ours[n.name()] = append(ours[n.name()], n)
		}
	}
	m.parts = slices.DeleteFunc(m.parts, func(p mergePart) bool {
		if !isNew(p, theirVersion) {
			return false
		}
		n := p.sides[0][0]
		name := n.name()
		same := ours[name]
		if len(same) == 0 || openBoxes(same[0].text(ourVersion)) != openBoxes(n.text(theirVersion)) {
			return false
		}
		ours[name] = same[1:]
		same[0].in[theirVersion], same[0].raw = n.in[theirVersion], mergeBoxes(same[0].raw, n.raw)
		return true
	})
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
	common, newline := commonEnding(ours.doc.Source), string(ours.doc.LineEnding())
	endLine := func() {
		if len(out) > 0 && len(trimEnding(out)) == len(out) {
			out = append(out, newline...) // the last line of a version may have no ending
		}
	}
	write := func(raw string) {
		if common != "" {
			raw = strings.ReplaceAll(unixLines(raw), "\n", common)
		}
		if raw != "" {
			endLine()
		}
		if strings.HasPrefix(raw, "\n") && bytes.HasSuffix(out, []byte("\r")) {
			raw = "\r" + raw[1:] // CR LF would be the ending of one line
		}
		out = append(out, raw...)
	}
	for i, r := range list {
		switch {
		case r.marker == markOurs && list[i+1].node != nil && list[i+1].node.piece().above != "":
			write(newline + r.marker + newline)
		case r.marker != "":
			write(r.marker + newline)
		case i > 0 && list[i-1].marker != "" && list[i-1].marker != markTheirs:
			write(r.node.raw)
		default:
			var above *merged
			if i > 0 {
				above = list[i-1].node
			}
			write(r.node.gap(above, newline))
			write(r.node.raw)
		}
	}
	write(ours.tail)
	if source := ours.doc.Source; len(trimEnding(source)) < len(source) {
		endLine()
	}
	return out
}

// gap returns the blank lines above a piece. Where the piece above is the same as in a
// version, so are the blank lines.
func (n *merged) gap(above *merged, newline string) string {
	for _, version := range []int{ourVersion, theirVersion} {
		p := n.in[version]
		if p != nil && (above == nil && p.prev == nil || above != nil && p.prev != nil && above.in[version] == p.prev) {
			return p.above
		}
	}
	switch p := n.piece(); {
	case above == nil, p.front != "":
		return p.above
	case !p.item || !above.piece().item:
		return cmp.Or(p.above, newline)
	case p.prev != nil && p.prev.item:
		return p.above
	}
	return ""
}

// check reports whether a text parses to the intended pieces, each in its section
// and without new readers.
func (m *VersionMerge) check(out []byte, list []renderedPiece) bool {
	next := m.layout.splitVersion(m.path, out)
	if next.doc.Unsound || !slices.EqualFunc(next.pieces, list,
		func(p *piece, r renderedPiece) bool { return lineFeeds(r.node.raw) == lineFeeds(p.raw) }) {
		return false
	}
	for i, p := range next.pieces {
		if !sameSection(list, p) || !m.sameReaders(list[i].node, next.doc, p) {
			return false
		}
	}
	return true
}

// sameSection reports whether a piece of the merged text is below the same heading as in a
// version, apart from headings that the other version added.
func sameSection(list []renderedPiece, p *piece) bool {
	return slices.ContainsFunc([]int{ourVersion, theirVersion}, func(version int) bool {
		var heading *piece
		for up := p.parent; up != nil && heading == nil; up = up.parent {
			heading = list[up.index].node.in[version]
		}
		was := list[p.index].node.in[version]
		return was != nil && heading == was.parent
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
		q := n.in[version]
		if q == nil || (q.entry < 0) != (p.entry < 0) {
			return from, "", false
		}
		return readers(m.versions[version].doc, q), openBoxes(n.text(version)), true
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
