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

// A VersionMerge is the merge of two versions of a file, entry by entry:
//
//   - What one version added stays, at its place and in its section. Equal
//     additions of both become one. Additions at one place are in the order of
//     their times.
//   - What one version changed, moved or removed is changed, moved or removed.
//   - A box that one version ticked is ticked.
//   - What both versions changed differently is a conflict, and so is what one
//     version removed and the other one ticked, or changed under the same id.
//   - Generated values of the frontmatter are computed again.
//   - Lines that no version changed keep their bytes.
//   - No text gets readers that one of the two versions lacks.
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
	sources  [3][]byte   // base, ours, theirs
	versions [3]*version // likewise, without byte order marks
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
	raw, above string // its lines, and the blank lines above it
	text, open string // the lines with LF endings, and with open boxes
	key        string // key of the frontmatter or given id, or else the text with open boxes
	name       string // the key, with that of the section unless it is unique
	front      string // key of the frontmatter
	index      int    // in its version
	level      int    // of a heading, else textLevel
	entry      int    // index in Document.Entries, -1 for none
	item       bool
	afterItem  bool      // the piece above is a list item
	time       time.Time // of a heading: that of the first entry below it
	parent     *piece    // with the heading above it
}

// textLevel is the level of text, which is deeper than those of headings.
const textLevel = 7

// A merged is a piece of the merged text.
type merged struct {
	in   [3]*piece // by version, nil if missing
	raw  string    // merged lines
	slot int       // of a piece that a version added: index in the base
}

// piece returns the piece in our version or else in theirs.
func (n *merged) piece() *piece { return cmp.Or(n.in[ourVersion], n.in[theirVersion]) }

// only reports whether only one version has the piece.
func (n *merged) only(version int) bool {
	return n.in[version] != nil && n.in[(version+1)%3] == nil && n.in[(version+2)%3] == nil
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
		m.count()
		_, err := m.Text(KeepOurs)
		m.Whole = err != nil
	}
	if m.Whole {
		m.Conflicts, m.Additions = []VersionConflict{{string(base), string(ours), string(theirs)}}, false
	}
	return m
}

// count sets the results of the merge. It counts entries, headings and other pieces below
// the frontmatter.
func (m *VersionMerge) count() {
	p := m.mergePieces(KeepOurs)
	m.Conflicts, m.Additions = p.conflicts, p.additions && len(p.conflicts) == 0
	for _, q := range m.versions[ourVersion].pieces {
		if q.front == "" {
			m.Removed++
		}
	}
	for _, n := range p.list {
		switch ours := n.in[ourVersion]; {
		case n.piece().front != "": // frontmatter, which is not counted
		case ours == nil:
			m.Added++
		default:
			m.Removed--
			if lineFeeds(n.raw) != ours.text {
				m.Changed++
			}
		}
	}
}

// splitVersion parses a version and splits it into pieces.
func (l *Layout) splitVersion(path string, src []byte) *version {
	d := l.Parse(path, src[bomLen(src):], Meta{})
	v, plain := &version{doc: d}, piece{level: textLevel, entry: -1}
	owner := make([]*piece, d.lines.count()+2) // by line
	cover := func(s Span, p piece) {
		for line, last := d.lines.at(s.Start), d.lines.at(max(s.Start, s.End-1)); line <= last && s.End > 0; line++ {
			owner[line] = cmp.Or(owner[line], &p)
		}
	}
	for _, f := range d.Front.Fields {
		p := plain
		p.key, p.front = "key\x00"+f.Key, f.Key
		cover(f.Span, p)
	}
	for _, o := range d.outline() {
		p := piece{level: cmp.Or(o.level, textLevel), entry: o.entry}
		if o.entry >= 0 {
			e := &d.Entries[o.entry]
			p.item, p.time = e.Block == Item, e.Time
			if e.Given {
				p.key = "id\x00" + e.ID
			}
		}
		cover(d.lines.span(o.from, o.to), p)
	}
	for _, s := range d.Hidden {
		cover(s, plain)
	}
	raw := func(from, to int) string {
		s := d.lines.span(from, to)
		return string(d.Source[s.Start:s.End])
	}
	var heading *piece // the last one
	end := 0           // last line of a piece
	for line := 1; line <= d.lines.count(); line++ {
		p, from := owner[line], line
		switch {
		case p != nil && p.raw == "":
			for owner[line+1] == p {
				line++
			}
			for line > from && d.blankLine(line) {
				line--
			}
		case d.blankLine(line):
			continue
		default: // text, or the second part of a divided piece
			p = new(plain)
		}
		p.raw, p.above, p.index = raw(from, line), raw(end+1, from-1), len(v.pieces)
		end = line
		if !strings.HasSuffix(p.raw, "\n") {
			p.raw += string(d.lineEnding(1)) // of the last line
		}
		p.text = lineFeeds(p.raw)
		p.open = openBoxes(p.text)
		for p.parent = heading; p.parent != nil && p.parent.level >= p.level; {
			p.parent = p.parent.parent
		}
		p.name = p.key
		if p.key == "" {
			p.key, p.name = p.open, p.open
			if p.parent != nil {
				p.name += "\x00" + p.parent.name
			}
		}
		if p.level < textLevel {
			heading = p
		}
		for up := p.parent; up != nil && up.time.IsZero(); up = up.parent {
			up.time = p.time
		}
		p.afterItem = p.index > 0 && v.pieces[p.index-1].item
		v.pieces = append(v.pieces, p)
	}
	v.tail = raw(end+1, d.lines.count())
	return v
}

// lineFeeds returns lines with LF endings, without the last one.
func lineFeeds(raw string) string { return strings.TrimSuffix(unixLines(raw), "\n") }

// boxRE matches the box of a task at the start of a line.
var boxRE = lazyregexp.New(`((?:^|\n)[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[)[ xX]\]`)

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

// A mergePass merges the pieces of versions with one treatment of conflicts.
type mergePass struct {
	*VersionMerge
	keep      Keep
	list      []*merged // the merged text
	conflicts []VersionConflict
	additions bool // all pieces of the base stay, apart from the frontmatter
}

// mergePieces aligns the pieces of the versions and merges them.
//
// A piece of the base stays if both versions contain it, apart from ticks. All pieces
// that a version added stay. A changed piece is one removed and one added. Where both
// versions changed a piece, the pieces of both are a conflict.
func (m *VersionMerge) mergePieces(keep Keep) *mergePass {
	p := &mergePass{VersionMerge: m, keep: keep, additions: true}
	var of [3][]*merged
	var keys [3][]string
	for version, v := range m.versions {
		for _, p := range v.pieces {
			n := &merged{raw: p.raw}
			n.in[version] = p
			of[version], keys[version] = append(of[version], n), append(keys[version], p.key)
		}
	}
	for _, version := range []int{ourVersion, theirVersion} {
		for i, j := range diff.Align(keys[baseVersion], keys[version]) {
			n := of[baseVersion][i]
			base := n.in[baseVersion]
			if j >= 0 {
				n.in[version], of[version][j] = m.versions[version].pieces[j], n
			}
			p.additions = p.additions && (base.front != "" || j >= 0 && n.in[version].open == base.open)
		}
	}
	var at [3]int // the first pieces that are not merged yet
	mergeUpTo := func(base, ours, theirs int) {
		if to := [3]int{base, ours, theirs}; at != to {
			p.list = append(p.list, p.mergeRegion(at[baseVersion], of[baseVersion][at[baseVersion]:base],
				of[ourVersion][at[ourVersion]:ours], of[theirVersion][at[theirVersion]:theirs])...)
		}
	}
	for i, n := range of[baseVersion] {
		if ours, theirs := n.in[ourVersion], n.in[theirVersion]; ours != nil && theirs != nil {
			mergeUpTo(i, ours.index, theirs.index)
			p.list = append(p.list, p.mergeNode(n)...)
			at = [3]int{i + 1, ours.index + 1, theirs.index + 1}
		}
	}
	mergeUpTo(len(of[baseVersion]), len(of[ourVersion]), len(of[theirVersion]))
	p.foldCopies()
	return p
}

// mergeNode returns the pieces that stay of a piece of either version.
func (p *mergePass) mergeNode(n *merged) []*merged {
	base, ours, theirs := n.in[baseVersion], n.in[ourVersion], n.in[theirVersion]
	switch {
	case ours == nil && base == nil, theirs == nil && base == nil:
	case ours == nil:
		return p.conflict(base.text, nil, []*merged{n}, []*merged{n})
	case theirs == nil:
		return p.conflict(base.text, []*merged{n}, nil, []*merged{n})
	case ours.open == theirs.open:
		n.raw = mergeBoxes(ours.raw, theirs.raw)
	case base != nil && theirs.text == base.text, p.prefers(ours, theirs):
		n.raw = ours.raw
	case base != nil && ours.text == base.text, p.prefers(theirs, ours):
		n.raw = theirs.raw
	default:
		x, y, text := *n, *n, ""
		x.raw, x.in[theirVersion], y.raw, y.in[ourVersion] = ours.raw, nil, theirs.raw, nil
		if base != nil {
			text = base.text
		}
		return p.conflict(text, []*merged{&x}, []*merged{&y}, []*merged{&x, &y})
	}
	return []*merged{n}
}

// prefers reports whether the line of a key of the frontmatter that both versions changed
// wins over another one: the later time of the last change, the earlier one of the
// creation, or a value that is computed again.
func (m *VersionMerge) prefers(line, other *piece) bool {
	switch line.front {
	case "updated_at":
		return line.text > other.text
	case "created_at":
		return line.text < other.text
	}
	return line.front == "tasks" || line.front == "follow_ups" || line.front == "summary" &&
		m.versions[ourVersion].doc.HasGeneratedSummary() && m.versions[theirVersion].doc.HasGeneratedSummary()
}

// conflict records a conflict and returns the pieces that stay of it. Between markers
// they are one piece.
func (p *mergePass) conflict(base string, ours, theirs, both []*merged) []*merged {
	p.conflicts = append(p.conflicts, VersionConflict{base, lineFeeds(blockOf(ours)), lineFeeds(blockOf(theirs))})
	switch p.keep {
	case KeepTheirs:
		return theirs
	case KeepBoth:
		return both
	case KeepMarked:
		marked := MarkVersions([]byte(blockOf(ours)), []byte(blockOf(theirs)))
		return []*merged{{in: slices.Concat(ours, theirs)[0].in, raw: string(marked)}}
	}
	return ours
}

// blockOf returns the lines of pieces, with the blank lines between them.
func blockOf(nodes []*merged) string {
	var text []string
	for _, n := range nodes {
		text = append(text, n.piece().above, n.raw)
	}
	return strings.Join(text[min(len(text), 1):], "")
}

// MarkVersions returns both versions of a text between conflict markers, as git and diff3
// write them. A file with markers is private.
func MarkVersions(ours, theirs []byte) (out []byte) {
	for _, part := range [][]byte{[]byte("<<<<<<< ours"), ours, []byte("======="), theirs, []byte(">>>>>>> theirs")} {
		out = append(out, part...)
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
	}
	return out
}

// mergeRegion merges a region that at least one version changed. None of its pieces are in
// all three versions. Equal pieces of both versions become one, and between these both
// versions may have changed the same pieces of the base.
func (p *mergePass) mergeRegion(slot int, base, ours, theirs []*merged) (list []*merged) {
	kept := func(version int, in []*merged) (list []*merged, names []string) {
		slot := slot
		for _, n := range in {
			n.raw = n.in[version].raw
			old := n.in[baseVersion]
			if old != nil {
				slot = old.index + 1
			}
			n.slot = slot
			if old == nil || old.text != n.in[version].text {
				list, names = append(list, n), append(names, n.in[version].name)
			}
		}
		return list, names
	}
	x, xNames := kept(ourVersion, ours)
	y, yNames := kept(theirVersion, theirs)
	var removed []string // by both
	for _, n := range base {
		if n.only(baseVersion) {
			removed = append(removed, n.in[baseVersion].text)
		}
	}
	addRun := func(x, y []*merged) {
		both := mergeSegments(x, y)
		if len(removed) > 0 && len(x) > 0 && len(y) > 0 {
			list = append(list, p.conflict(strings.Join(removed, "\n"), x, y, both)...)
			return
		}
		for _, n := range both {
			list = append(list, p.mergeNode(n)...)
		}
	}
	i, j := 0, 0
	for k, l := range diff.Align(xNames, yNames) {
		if l >= 0 {
			addRun(x[i:k], y[j:l])
			x[k].in[theirVersion] = y[l].in[theirVersion]
			list = append(list, p.mergeNode(x[k])...)
			i, j = k+1, l+1
		}
	}
	addRun(x[i:], y[j:])
	return list
}

// mergeSegments merges two lists without equal pieces. Text that belongs to the
// section above comes first, then the sections, deeper ones first, so that each
// piece stays in its section. Sections of one level are in the order of their
// times, or else of their places in the base; of equal ones, ours come first.
func mergeSegments(x, y []*merged) (list []*merged) {
	for len(x) > 0 && len(y) > 0 {
		from, a, b := &x, x[0].piece(), y[0].piece()
		order := cmp.Compare(b.level, a.level)
		if order == 0 && !a.time.IsZero() && !b.time.IsZero() {
			order = a.time.Compare(b.time)
		}
		if cmp.Or(order, cmp.Compare(x[0].slot, y[0].slot)) > 0 {
			from = &y
		}
		n := 1
		for n < len(*from) && (*from)[0].piece().level < textLevel && (*from)[n].piece().level == textLevel {
			n++
		}
		list, *from = append(list, (*from)[:n]...), (*from)[n:]
	}
	return slices.Concat(list, x, y)
}

// foldCopies removes their new entries that our version added at another place of the
// same section.
func (p *mergePass) foldCopies() {
	isNew := func(n *merged, version int) bool {
		return n.only(version) && n.in[version].entry >= 0 && n.in[version].level == textLevel
	}
	ours := map[[2]string][]*merged{}
	name := func(n *merged) [2]string { return [2]string{n.piece().name, openBoxes(lineFeeds(n.raw))} }
	for _, n := range p.list {
		if isNew(n, ourVersion) {
			ours[name(n)] = append(ours[name(n)], n)
		}
	}
	p.list = slices.DeleteFunc(p.list, func(n *merged) bool {
		if !isNew(n, theirVersion) || len(ours[name(n)]) == 0 {
			return false
		}
		same := ours[name(n)][0]
		ours[name(n)] = ours[name(n)][1:]
		same.in[theirVersion], same.raw = n.in[theirVersion], mergeBoxes(same.raw, n.raw)
		return true
	})
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
	list := m.mergePieces(keep).list
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

// join writes the pieces with blank lines between them. A line has the ending that all
// lines of our version have, or else the one that it has in its own version.
func (m *VersionMerge) join(list []*merged) (out []byte) {
	ours := m.versions[ourVersion]
	common, newline := commonEnding(ours.doc.Source), string(ours.doc.lineEnding(1))
	write := func(raw string) {
		if common != "" {
			raw = strings.ReplaceAll(unixLines(raw), "\n", common)
		}
		out = append(out, raw...)
	}
	var above *merged
	for _, n := range list {
		write(n.gap(above, newline))
		write(n.raw)
		above = n
	}
	write(ours.tail)
	if source := ours.doc.Source; len(source) > 0 && len(trimEnding(source)) == len(source) {
		return trimEnding(out)
	}
	return out
}

// gap returns the blank lines above a piece. Where the piece above is the same as in a
// version, so are the blank lines.
func (n *merged) gap(above *merged, newline string) string {
	for _, version := range []int{ourVersion, theirVersion} {
		p := n.in[version]
		if p != nil && (above == nil && p.index == 0 ||
			above != nil && above.in[version] != nil && above.in[version].index == p.index-1) {
			return p.above
		}
	}
	switch p := n.piece(); {
	case above == nil, p.front != "":
		return p.above
	case !p.item || !above.piece().item:
		return cmp.Or(p.above, newline)
	case p.afterItem:
		return p.above
	}
	return ""
}

// check reports whether a text parses to the intended pieces, each below the same heading
// as in a version, apart from headings that the other one added, and without new readers.
func (m *VersionMerge) check(out []byte, list []*merged) bool {
	next := m.layout.splitVersion(m.path, out)
	if next.doc.Unsound ||
		m.widens(next.doc.Partition) ||
		!slices.EqualFunc(next.pieces, list, func(p *piece, n *merged) bool { return lineFeeds(n.raw) == p.text }) {
		return false
	}
	for i, p := range next.pieces {
		inSection := false
		for _, version := range []int{ourVersion, theirVersion} {
			was := list[i].in[version]
			if was == nil {
				continue
			}
			var heading *piece
			for up := p.parent; up != nil && heading == nil; up = up.parent {
				heading = list[up.index].in[version]
			}
			inSection = inSection || heading == was.parent
		}
		if !inSection {
			return false
		}
	}
	return true
}

// widens reports whether the merged text has a reader that one of the two versions lacks.
func (m *VersionMerge) widens(to Partition) bool {
	return slices.ContainsFunc(m.versions[ourVersion:], func(v *version) bool {
		from := v.doc.Partition
		return from != to && !narrowsReaders(from, to)
	})
}

// finish corrects the generated values of the frontmatter: the counters of tasks, and
// a generated summary. An id that several entries of the
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
	r.SetCounters()
	if d.HasGeneratedSummary() {
		r.SetField("summary", d.titles())
	}
	return r.Apply(parse)
}
