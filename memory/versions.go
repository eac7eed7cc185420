package memory

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
	versions [3]*version     // base, ours, theirs
	of       [3][]*mergeNode // by version and piece
	nodes    []*mergeNode    // of the merged text, in order
	twoWay   bool
	bom      []byte // byte order mark of our version, if any
	ending   string // of every line of our version, empty if they differ

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

// A version is one version of a file as pieces, which contain every line of its
// body that is not blank.
type version struct {
	doc    *Document
	pieces []piece
	tail   int // blank lines at the end
}

// A piece is a heading, an entry, or text between entries.
type piece struct {
	text   string // its lines with LF endings, without the last one
	key    string // given id, or else the text with open boxes
	line   int    // its first line
	gap    int    // blank lines above it
	level  int    // of a heading, else 0
	entry  int    // index in Document.Entries, -1 for none
	parent int    // index of the piece with the heading above it, -1 for none
	item   bool
	time   time.Time
}

// A mergeNode is a piece in the versions that contain it, or a conflict: the different
// pieces of both versions at one place.
type mergeNode struct {
	at   [3]int // index in the pieces of each version, -1 if missing
	text string // merged text
	slot int    // of a piece that a version added: index in the base

	conflict bool
	sides    [KeepMarked][]*mergeNode // pieces of a conflict, by the versions that are kept
}

// MergeVersions merges two versions of the file at path. A nil base means that
// the common base is unknown: the merge then keeps the pieces of both versions,
// in the order of their times where they have times.
func (l *Layout) MergeVersions(path string, base, ours, theirs []byte) *VersionMerge {
	m := &VersionMerge{layout: l, path: path, twoWay: base == nil, bom: ours[:bomLen(ours)], Additions: true}
	for i, src := range [][]byte{base, ours, theirs} {
		m.versions[i] = l.splitVersion(path, src)
		m.Whole = m.Whole || m.versions[i].doc.Unsound && (i > 0 || !m.twoWay)
	}
	if !m.Whole {
		m.ending = commonEnding(m.versions[ourVersion].doc.Source)
		m.generated = m.versions[ourVersion].doc.HasGeneratedSummary() && m.versions[theirVersion].doc.HasGeneratedSummary()
		_, conflicts, err := m.mergeFront(KeepOurs)
		m.Conflicts = conflicts
		m.mergePieces()
		if err == nil {
			_, err = m.Text(KeepOurs)
		}
		m.Whole = err != nil
	}
	if m.Whole {
		m.Conflicts = []VersionConflict{{string(base), string(ours), string(theirs)}}
	}
	m.Additions = m.Additions && len(m.Conflicts) == 0
	return m
}

// splitVersion parses a version and splits its body into pieces.
func (l *Layout) splitVersion(path string, src []byte) *version {
	src = src[bomLen(src):]
	d := l.Parse(path, src, Meta{})
	v := &version{doc: d}
	owner := make([]int, d.lines.count()+2) // by line: number of its piece, 0 for none
	pieces := []piece{{}}                   // pieces[0] is unused
	cover := func(from, to int, p piece) {
		pieces = append(pieces, p)
		for line := from; line <= to; line++ {
			if owner[line] == 0 {
				owner[line] = len(pieces) - 1
			}
		}
	}
	for _, o := range d.placement().outline(false) {
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
	for line := d.bodyLine(); line <= d.lines.count(); {
		if owner[line] == 0 && d.blankLine(line) {
			gap, line = gap+1, line+1
			continue
		}
		from, id := line, owner[line]
		for line++; id > 0 && line <= d.lines.count() && owner[line] == id; line++ {
		}
		p := piece{entry: -1}
		if id > 0 {
			p = pieces[id]
			pieces[id].level, pieces[id].entry, pieces[id].key = 0, -1, "" // a second part of a divided piece is plain text
		}
		for to := line - 1; to > from && d.blankLine(to); to-- {
			line = to // blank lines at the end belong to the gap
		}
		p.text = strings.TrimSuffix(d.unixSource(d.lines.span(from, line-1)), "\n")
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

// unixSource returns a part of the source with LF line endings.
func (d *Document) unixSource(s Span) string {
	text := strings.ReplaceAll(string(d.Source[s.Start:s.End]), "\r\n", "\n")
	return strings.ReplaceAll(text, "\r", "\n")
}

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

// textIn returns the text of a piece in a version, empty if the version lacks it.
func (m *VersionMerge) textIn(n *mergeNode, version int) string {
	if n.at[version] < 0 {
		return ""
	}
	return m.versions[version].pieces[n.at[version]].text
}

// piece returns the piece of a node in our version or else in theirs.
func (m *VersionMerge) piece(n *mergeNode) *piece {
	version := m.versionOf(n)
	return &m.versions[version].pieces[n.at[version]]
}

// versionOf returns the version whose line endings and blank lines a piece has.
func (m *VersionMerge) versionOf(n *mergeNode) int {
	if n.at[ourVersion] < 0 {
		return theirVersion
	}
	return ourVersion
}

// A renderedPiece is a piece of the merged text, or a conflict marker.
type renderedPiece struct {
	node   *mergeNode // of a marker, the first one between the markers
	marker string
}

// Text returns the merged text. Every piece of it has the same section and no
// more readers than in the versions; if that is impossible, or if keep requires both
// values of a key of the frontmatter, the error is [ErrWhole].
func (m *VersionMerge) Text(keep Keep) ([]byte, error) {
	if m.Whole {
		return nil, ErrWhole
	}
	base, ours, theirs := m.versions[baseVersion].doc.Source, m.versions[ourVersion].doc.Source,
		m.versions[theirVersion].doc.Source
	switch {
	case bytes.Equal(ours, theirs), !m.twoWay && bytes.Equal(theirs, base):
		return slices.Concat(m.bom, ours), nil
	case !m.twoWay && bytes.Equal(ours, base):
		return slices.Concat(m.bom, theirs), nil
	}
	front, _, err := m.mergeFront(keep)
	if err != nil {
		return nil, err
	}
	list := m.render(m.nodes, keep)
	for _, loose := range []bool{false, true} {
		out := m.join(front, list, loose)
		if !m.check(out, list) {
			continue
		}
		if keep != KeepMarked {
			out, err = m.finish(out)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrWhole, err)
		}
		return slices.Concat(m.bom, out), nil
	}
	return nil, ErrWhole
}

// render returns the pieces of a merged text in order.
func (m *VersionMerge) render(nodes []*mergeNode, keep Keep) (list []renderedPiece) {
	for _, n := range nodes {
		switch {
		case !n.conflict:
			list = append(list, renderedPiece{node: n})
		case keep != KeepMarked:
			list = append(list, m.render(n.sides[keep], keep)...)
		default:
			ours, theirs := m.render(n.sides[KeepOurs], KeepOurs), m.render(n.sides[KeepTheirs], KeepTheirs)
			first := slices.Concat(ours, theirs)[0].node
			list = append(append(list, renderedPiece{first, markOurs}), ours...)
			list = append(append(list, renderedPiece{first, markMiddle}), theirs...)
			list = append(list, renderedPiece{first, markTheirs})
		}
	}
	return list
}

// join writes the pieces with blank lines between them. Where the neighbors are
// the same as in a version, so are the blank lines. A line has the ending that all
// lines of our version have, or else the one that it has in its own version.
func (m *VersionMerge) join(front string, list []renderedPiece, loose bool) []byte {
	out, ours := []byte(front), m.versions[ourVersion]
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
		if r.marker == markMiddle || r.marker == markTheirs {
			write(r.marker, newline)
			continue
		}
		n, version := m.gap(list, i, loose)
		p := &m.versions[version].pieces[r.node.at[version]]
		for k := range n {
			if p.gap == n {
				write(m.sourceLine(version, p.line-n+k))
			} else {
				write("", newline)
			}
		}
		if r.marker == markOurs {
			write(r.marker, newline)
			continue
		}
		version, p = m.versionOf(r.node), m.piece(r.node)
		for k, line := range strings.Split(r.node.text, "\n") {
			_, ending := m.sourceLine(version, p.line+k)
			write(line, ending)
		}
	}
	if len(list) > 0 || len(ours.pieces) == 0 {
		for k := range ours.tail {
			write(m.sourceLine(ourVersion, ours.doc.lines.count()-ours.tail+1+k))
		}
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
// if it has as many. Below a conflict marker there are none.
func (m *VersionMerge) gap(list []renderedPiece, i int, loose bool) (lines, version int) {
	n := list[i].node
	own := m.versionOf(n)
	p := m.piece(n)
	switch {
	case list[i].marker == markOurs || i > 0 && list[i-1].marker == markTheirs:
		return p.gap, own
	case i > 0 && list[i-1].marker != "":
		return 0, own
	}
	next := func(version int) bool { // the neighbor is the same as in the version
		at := n.at[version]
		return at == 0 && i == 0 || at > 0 && i > 0 && list[i-1].node.at[version] == at-1
	}
	switch ours, theirs := next(ourVersion), next(theirVersion); {
	case ours && theirs && next(baseVersion) && p.gap == m.versions[baseVersion].pieces[n.at[baseVersion]].gap:
		return m.versions[theirVersion].pieces[n.at[theirVersion]].gap, theirVersion
	case ours:
		return p.gap, ourVersion
	case theirs:
		return m.versions[theirVersion].pieces[n.at[theirVersion]].gap, theirVersion
	case i == 0:
		return p.gap, own
	case !loose && p.item && m.piece(list[i-1].node).item:
		if at := n.at[own]; at > 0 && m.versions[own].pieces[at-1].item {
			return p.gap, own
		}
		return 0, own
	}
	return max(1, p.gap), own
}

// check reports whether a text parses to the intended pieces, each in its section
// and without new readers.
func (m *VersionMerge) check(out []byte, list []renderedPiece) bool {
	next := m.layout.splitVersion(m.path, out)
	if next.doc.Unsound || !m.sameFrontReaders(next.doc) {
		return false
	}
	same := func(p piece, r renderedPiece) bool {
		return r.marker == p.text || r.marker == "" && r.node.text == p.text
	}
	if !slices.EqualFunc(next.pieces, list, same) {
		return false
	}
	for i := range list {
		if list[i].marker == "" && !(m.sameSection(next, list, i) && m.sameReaders(&list[i], next.doc, &next.pieces[i])) {
			return false
		}
	}
	return true
}

// sameSection reports whether a piece is below the same heading as in a version,
// apart from headings that the other version added.
func (m *VersionMerge) sameSection(next *version, list []renderedPiece, i int) bool {
	for _, version := range []int{ourVersion, theirVersion} {
		k := list[i].node.at[version]
		if k < 0 {
			continue
		}
		up := next.pieces[i].parent
		for up >= 0 && (list[up].marker != "" || list[up].node.at[version] < 0) {
			up = next.pieces[up].parent
		}
		at := -1
		if up >= 0 {
			at = list[up].node.at[version]
		}
		if at == m.versions[version].pieces[k].parent {
			return true
		}
	}
	return false
}

// sameReaders reports whether a piece has no readers that it lacks in a version
// that added it or changed its text or its readers, or else in the base. Pieces
// that are not entries have the readers of the file.
func (m *VersionMerge) sameReaders(r *renderedPiece, next *Document, p *piece) bool {
	readers := func(d *Document, p *piece) Partition {
		if p.entry < 0 {
			return d.Own
		}
		return d.Entries[p.entry].Partition
	}
	to := readers(next, p)
	find := func(version int) (from Partition, key string, ok bool) {
		k := r.node.at[version]
		if k < 0 || (m.versions[version].pieces[k].entry < 0) != (p.entry < 0) {
			return from, "", false
		}
		p := &m.versions[version].pieces[k]
		return readers(m.versions[version].doc, p), p.key, true
	}
	before, base, known := find(baseVersion)
	decided := false
	for _, version := range []int{ourVersion, theirVersion} {
		from, key, ok := find(version)
		if !ok || known && from == before && key == base {
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
