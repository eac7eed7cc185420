package memory

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

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
