package memory

import (
	"fmt"
	"slices"
)

// A file has one audience: one owner and one visibility. The place of the file and
// its frontmatter decide the visibility. A private mark anywhere in a public file
// makes all of it private; a public mark in a private file has no effect. Text for
// other readers is in a file beside it, see [BesideFile].

// marks holds the text of a file that asks for readers of its own.
type marks struct {
	tags    []privateMark
	entries map[int]Visibility // by entry: the visibility in its attributes
}

// add records the visibility in the attributes of a comment in an entry. A comment
// that does not belong to the entry as a whole can only make it private.
func (m *marks) add(entry int, attrs []attr, own bool) {
	v, ok := attrValue(attrs, "visibility")
	if !ok || !own && !setsPrivate(attrs) {
		return
	}
	if _, ok := m.entries[entry]; !ok {
		if m.entries == nil {
			m.entries = map[int]Visibility{}
		}
		m.entries[entry] = ParseVisibility(v)
	}
	m.entries[entry] = min(m.entries[entry], ParseVisibility(v))
}

// Problem codes of marks that differ from the visibility of their file.
const (
	PrivateMarked = "private_mark"
	PublicMarked  = "public_mark"
)

const splitsFiles = ", as `memwatchd check --fix` does in the memory directory"

// setReaders determines the partition of the file.
func (p *docParser) setReaders() {
	d, visibility := p.d, p.defaultVisibility
	slices.SortFunc(d.marks.tags, func(a, b privateMark) int { return a.at - b.at })
	first := map[Visibility]int{} // the line of the first mark
	for i := range d.Entries {
		v, ok := d.marks.entries[i]
		if _, earlier := first[v]; ok && !earlier {
			first[v] = d.Entries[i].Line
		}
	}
	if len(d.marks.tags) > 0 {
		line := p.ln.at(d.marks.tags[0].at)
		if at, ok := first[PrivateOnly]; !ok || line < at {
			first[PrivateOnly] = line
		}
	}
	d.doubtful = p.doubtful
	switch line, private := first[PrivateOnly]; {
	case p.doubtful:
		visibility = PrivateOnly
	case visibility == PublicOK && private:
		visibility = PrivateOnly
		p.addProblem(PrivateMarked, line, "the private text here makes the whole file private; move it to a file of its own"+
			splitsFiles)
	case visibility == PrivateOnly && first[PublicOK] > 0:
		p.addProblem(PublicMarked, first[PublicOK],
			"visibility=public_ok has no effect in a private file; move the text to a file of its own"+splitsFiles)
	}
	d.Partition, d.unmarked = p.partitionFor(visibility), p.defaultVisibility
	d.public, d.private = p.partitionFor(PublicOK), p.partitionFor(PrivateOnly)
}

// Takes reports whether a text of a visibility may be added to the file: the file has this
// visibility, and also without the marks in its text. A private text in a file that only marks
// make private would become public with the rest when they go.
func (d *Document) Takes(v Visibility) bool { return d.Partition.Visibility == v && d.unmarked == v }

// frontMayTell returns a function that reports whether generated values of the frontmatter may
// depend on an entry. If only marks make the file private, the frontmatter becomes public
// when the marked text goes, so the values do not depend on that text.
func (d *Document) frontMayTell() func(entry int) bool {
	of := d.readersOf(d.unmarked)
	return func(entry int) bool { return d.unmarked == PrivateOnly || of[entry] == PublicOK && !d.doubtful }
}

// InPrivate reports whether the document contains a <private> tag, or text whose readers
// are unclear. Such a file never leaves this machine.
func (d *Document) InPrivate() bool { return len(d.marks.tags) > 0 || d.doubtful }

// A Split is the division of a file by the marks in it.
type Split struct {
	Stay []byte // the new content of the file
	Path string // of the file beside it; empty if all text is private
	Move []byte // the text for that file
	New  []byte // the content of that file if it does not exist, without Move
}

// A splitPart is a heading, an entry, the frontmatter, or a line of other text.
type splitPart struct {
	from, to int // lines
	item     bool
	heading  int // the heading above
	in       [2]bool
}

// Split moves the text whose marks differ from the visibility of the file, with the headings
// above it, to a file beside it. Every line with text goes to one of the two files, a heading
// also to both. If all text is private, the file becomes private. For a file without such
// marks, or if its readers are unclear, Split returns nil. The function parse must parse a
// source as the file at a path.
func (d *Document) Split(parse func(path string, source []byte) *Document) (*Split, error) {
	i := slices.IndexFunc(d.Problems, func(p Problem) bool { return p.Code == PrivateMarked || p.Code == PublicMarked })
	switch {
	case i < 0:
		return nil, nil
	case d.Unsound:
		return nil, fmt.Errorf("%w: %s", ErrUnwritable, d.WhyUnsound())
	}
	stay, move, ending := PublicOK, PrivateOnly, UnseenFile
	if d.Problems[i].Code == PublicMarked {
		stay, move, ending = PrivateOnly, PublicOK, PublicFile
	}
	s := &Split{Path: BesideFile(d.Place.Path, ending)}
	fields := []fieldChange{{"visibility", move.String()}}
	if d.Front.SubjectID != "" {
		fields = append([]fieldChange{{"subject_id", d.Front.SubjectID}}, fields...)
	}
	s.New = []byte(frontText(fields, string(d.lineEnding(1))))
	parts := d.splitParts(stay)
	s.Stay, s.Move = d.join(parts, stay), d.join(parts, move)
	switch moves := func(v Visibility) bool {
		return slices.ContainsFunc(parts, func(p splitPart) bool { return p.in[v] && p.from >= d.bodyLine() })
	}; {
	case !moves(move): // the marks are in <private>
		return nil, nil
	case !moves(stay) && move == PrivateOnly:
		r := d.Revise()
		r.SetField("visibility", move.String())
		out, err := r.Apply(func(source []byte) *Document { return parse(d.Place.Path, source) })
		return &Split{Stay: out}, err
	}
	for _, text := range []struct {
		path   string
		source []byte
		of     Visibility
	}{{d.Place.Path, s.Stay, stay}, {s.Path, slices.Concat(s.New, s.Move), move}} {
		next := parse(text.path, text.source)
		norms := func(d *Document, counts func(i int) bool) (list []string) {
			for i := range d.Entries {
				if e := &d.Entries[i]; counts(i) && e.Block != EmptyHeading {
					list = append(list, e.Norm)
				}
			}
			return list
		}
		of := d.readersOf(stay)
		switch want := map[Visibility]Partition{PublicOK: d.public, PrivateOnly: d.private}[text.of]; {
		case next.Partition != want:
			return nil, fmt.Errorf("%w: a part would have other readers in %s", ErrUnwritable, text.path)
		case !slices.Equal(norms(next, func(int) bool { return true }),
			norms(d, func(i int) bool { return of[i] == text.of })):
			return nil, fmt.Errorf("%w: an entry would merge with another", ErrUnwritable)
		}
	}
	return s, nil
}

// privateLines returns the lines between <private> tags, with those of the tags. Without a closing
// tag, the lines extend to the end.
func (d *Document) privateLines() regions {
	var list []lineRange
	depth := 0
	for _, m := range d.marks.tags {
		line := d.lines.at(m.at)
		switch {
		case m.close && depth == 0:
			list = append(list, lineRange{line, line})
		case m.close:
			depth--
			if depth == 0 {
				list[len(list)-1].to = line
			}
		default:
			depth++
			if depth == 1 {
				list = append(list, lineRange{line, d.lines.count()})
			}
		}
	}
	return joinRegions(list)
}

// readersOf returns the visibility that the marks of each entry ask for, usual without one.
func (d *Document) readersOf(usual Visibility) []Visibility {
	list, private := make([]Visibility, len(d.Entries)), d.privateLines()
	for i := range d.Entries {
		list[i] = usual
		if v, ok := d.marks.entries[i]; ok {
			list[i] = v
		}
		if private.overlaps(d.Entries[i].Line, d.Entries[i].EndLine) {
			list[i] = PrivateOnly
		}
	}
	return list
}

// splitParts divides the file, and decides to which of the two files each part belongs.
func (d *Document) splitParts(usual Visibility) (list []splitPart) {
	private, of := d.privateLines(), d.readersOf(usual)
	needed := make([][2]bool, len(d.Headings))
	for i := range d.Entries {
		for h := d.Entries[i].Heading; h >= 0; h = d.Headings[h].Parent {
			needed[h][of[i]] = true
		}
	}
	only := func(v Visibility) (in [2]bool) {
		in[v] = true
		return in
	}
	if end := d.bodyLine() - 1; end > 0 {
		list = append(list, splitPart{from: 1, to: end, heading: -1, in: only(usual)})
	}
	e, h, above := 0, 0, -1
	for line := d.bodyLine(); line <= d.lines.count(); line++ {
		p := splitPart{from: line, to: line, heading: above, in: only(usual)}
		switch {
		case e < len(d.Entries) && d.Entries[e].Line == line:
			p.to, p.item, p.in = d.Entries[e].EndLine, d.Entries[e].Block == Item, only(of[e])
			e++
		case h < len(d.Headings) && d.Headings[h].Line == line:
			p.to, above = d.Headings[h].EndLine, h
			if needed[h] != [2]bool{} {
				p.in = needed[h]
			}
			h++
		case d.blankLine(line):
			continue
		}
		if private.overlaps(p.from, p.to) {
			p.in = only(PrivateOnly)
		}
		list, line = append(list, p), p.to
	}
	return list
}

// join returns the text of the parts for readers of a visibility. Where parts in between are
// missing, the text has one blank line, between items of a list none.
func (d *Document) join(parts []splitPart, v Visibility) (out []byte) {
	last, end := -1, 0
	for k, p := range parts {
		if !p.in[v] {
			continue
		}
		switch {
		case last < 0:
		case last == k-1:
			s := d.lines.span(end+1, p.from-1)
			out = append(out, d.Source[s.Start:s.End]...)
		case !p.item || !parts[last].item || p.heading != parts[last].heading:
			out = append(out, d.lineEnding(p.from)...)
		}
		s := d.lines.span(p.from, p.to)
		out = append(out, d.Source[s.Start:s.End]...)
		if !d.hasEnding(p.to) {
			out = append(out, d.lineEnding(p.to)...)
		}
		last, end = k, p.to
	}
	return out
}
