package memory

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A spot is where texts are put: below a line.
type spot struct {
	line     int       // 0 is above the first one
	beside   int       // the entry that ends there, -1 for none
	heading  bool      // the line is a heading's
	headings []Heading // that are made there first
	gap      int       // blank lines below those
	path     []string  // how the section path of what is put there ends
	texts    []*Document
}

// alone reads a text that is to become one entry. Its line endings are LF, and
// there are no blank lines around it.
func (w *work) alone(text string) (*Document, error) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := trimBlank(strings.Split(text, "\n"))
	one := w.parse([]byte(strings.Join(lines, "\n")))
	switch {
	case one.Unsound:
		return nil, fmt.Errorf("the text cannot be put into a file: %s", one.WhyUnsound())
	case one.Front.Present || len(one.Entries) != 1 || len(one.Headings) > 0 || len(one.Hidden) > 0 || one.Entries[0].EndLine != len(lines):
		return nil, errors.New("the text is not one paragraph, list item or other block")
	}
	return one, nil
}

// insertTexts finds the places of the texts, and puts them there.
func (w *work) insertTexts() error {
	for _, i := range slices.Sorted(maps.Keys(w.below)) {
		s := spot{line: w.d.bodyLine() - 1, beside: i, gap: w.d.headingGap()}
		if i >= 0 {
			if c := w.entries[i]; c != nil && c.remove {
				return fmt.Errorf("nothing can be put below an entry that goes; replace it")
			}
			e := &w.d.Entries[i]
			s.line, s.path, s.heading = e.EndLine, e.Sections, e.Block == EmptyHeading
		}
		if err := w.put(s, w.below[i]); err != nil {
			return err
		}
	}
	if w.section == nil {
		return nil
	}
	if w.section.fresh {
		s, err := w.newSection()
		if err != nil {
			return err
		}
		return w.put(s, w.section.texts)
	}
	var texts []*Document
	want := wanted{path: w.section.path, order: w.section.order}
	for _, text := range w.section.texts {
		one, err := w.alone(text)
		if err != nil {
			return err
		}
		texts = append(texts, one)
		want.shown = want.shown || w.d.shows(&one.Entries[0])
	}
	s, err := w.d.endOf(want)
	if err != nil {
		return err
	}
	s.texts, s.gap = texts, w.d.gapOf(want.shown)
	w.insert(s)
	return nil
}

// gapOf is how many blank lines come below a heading. What everybody will see
// looks like what everybody sees.
func (d *Document) gapOf(shown bool) int {
	switch {
	case !shown || d.Partition.Visibility == PublicOK:
		return d.headingGap()
	case d.excerpt != nil:
		return d.excerpt.headingGap()
	}
	return 0
}

// newSection is the end of the file, with the heading of the section that is
// made there.
func (w *work) newSection() (spot, error) {
	d := w.d
	head := Heading{Level: 2, Text: w.section.path[0]}
	s := spot{line: d.lines.count(), beside: -1, path: w.section.path, gap: d.headingGap()}
	if err := checkPath(w.section.path); err != nil {
		return s, err
	}
	for _, text := range w.section.texts {
		one, err := w.alone(text)
		switch {
		case err != nil:
			return s, err
		case !d.shows(&one.Entries[0]):
			continue
		case d.underSecret():
			head.Level = 1
		}
		s.gap = d.gapOf(true)
	}
	s.headings = []Heading{head}
	return s, nil
}

// underSecret reports whether a section at the end of the file would stand below
// a title that not everybody may see.
func (d *Document) underSecret() bool {
	for _, p := range slices.Backward(d.outline()) {
		if p.level == 1 {
			return !d.announces(&p) && !d.dates(&p)
		}
	}
	return false
}

// put notes that texts are put at a spot.
func (w *work) put(s spot, texts []string) error {
	for _, text := range texts {
		one, err := w.alone(text)
		if err != nil {
			return err
		}
		s.texts = append(s.texts, one)
	}
	w.insert(s)
	return nil
}

func (w *work) insert(s spot) {
	w.spots = append(w.spots, s)
	w.list = append(w.list, w.insertion(&s))
}

// insertion is the bytes of what is put at a spot, with as many blank lines
// around as the file has in such places.
func (w *work) insertion(s *spot) Edit {
	d := w.d
	end := d.ending(max(s.line, 1))
	at := d.lines.start(s.line + 1)
	if at == 0 && bytes.HasPrefix(d.Source, bom) {
		at = len(bom)
	}
	var b bytes.Buffer
	unended := s.line > 0 && s.line == d.lines.count() && !d.ended(s.line)
	if unended {
		b.Write(end)
	}
	blankLines := func(n int) { b.Write(bytes.Repeat(end, n)) }
	lines := func(text string) {
		for line := range strings.SplitSeq(text, "\n") {
			b.WriteString(line)
			b.Write(end)
		}
	}
	before := -1 // what stands above: an entry, or -1
	var above *Entry
	if s.beside >= 0 {
		before, above = s.beside, &d.Entries[s.beside]
	}
	heading := s.heading
	for i, h := range s.headings {
		if i > 0 || s.line > 0 && !d.blankLine(s.line) {
			blankLines(1)
		}
		lines(strings.Repeat("#", h.Level) + " " + h.Text)
		heading, before, above = true, -1, nil
	}
	for i, one := range s.texts {
		e := &one.Entries[0]
		switch {
		case heading:
			blankLines(max(s.gap, w.atLeast()))
		case i == 0 && s.line == 0 && len(s.headings) == 0:
		case above != nil && above.Block == Item && e.Block == Item:
			blankLines(max(d.listGap(before, d.shows(e)), w.atLeast()))
		default:
			blankLines(1)
		}
		lines(d.adapt(string(one.Source), d.alike(before, d.shows(e)), i))
		heading, above = false, e
	}
	if next := s.line + 1; next <= d.lines.count() && !d.blankLine(next) {
		follows := d.entryAt(next)
		switch {
		case above.Block == Item && follows >= 0 && d.Entries[follows].Block == Item:
			blankLines(max(d.listGap(s.beside, d.shows(above)), w.atLeast()))
		case above.Block == Item && follows < 0 && d.headingAt(next) && !w.apart && len(s.headings) == 0:
		default:
			blankLines(1)
		}
	}
	text := b.Bytes()
	if unended {
		text = bytes.TrimSuffix(text, end)
	}
	return Edit{Span{at, at}, text}
}

// atLeast is how many blank lines there are at least between blocks.
func (w *work) atLeast() int {
	if w.apart {
		return 1
	}
	return 0
}

// ended reports whether a line has an ending.
func (d *Document) ended(line int) bool {
	s := d.lines.span(line, line)
	return len(trimEnding(d.Source[s.Start:s.End])) < s.End-s.Start
}

// entryAt is the entry that begins on a line, -1 if none does.
func (d *Document) entryAt(line int) int {
	i, ok := slices.BinarySearchFunc(d.Entries, line, func(e Entry, line int) int { return e.Line - line })
	if !ok {
		return -1
	}
	return i
}

func (d *Document) headingAt(line int) bool {
	return slices.ContainsFunc(d.Headings, func(h Heading) bool { return h.Line == line })
}

// headingGap is how many blank lines the file has between its headings and text
// directly below them, as the last such heading shows; none, as in the templates,
// if there is no such heading.
func (d *Document) headingGap() int {
	for i := len(d.Headings) - 1; i >= 0; i-- {
		end := d.Headings[i].EndLine
		switch {
		case d.entryAt(end+1) >= 0:
			return 0
		case end < d.lines.count() && d.blankLine(end+1) && d.entryAt(d.nextLine(end+1)) >= 0:
			return 1
		}
	}
	return 0
}

// nextLine is the first line from one on that is not blank.
func (d *Document) nextLine(line int) int {
	for line <= d.lines.count() && d.blankLine(line) {
		line++
	}
	return line
}

// listGap is how many blank lines are between the items of an entry's list: for one
// that everybody will see, between those that everybody sees.
func (d *Document) listGap(i int, shown bool) int {
	if !shown || d.Partition.Visibility == PublicOK {
		return d.gapIn(i)
	}
	if like := d.alike(i, true); like >= 0 && d.excerpt != nil {
		id := d.Entries[like].ID // it has the same there
		return d.excerpt.gapIn(slices.IndexFunc(d.excerpt.Entries, func(e Entry) bool { return e.ID == id }))
	}
	return 0
}

func (d *Document) gapIn(i int) int {
	for _, pair := range [][2]int{{i - 1, i}, {i, i + 1}} {
		if pair[0] < 0 || pair[1] >= len(d.Entries) {
			continue
		}
		a, b := &d.Entries[pair[0]], &d.Entries[pair[1]]
		if a.Block == Item && b.Block == Item && b.Line > a.EndLine+1 && d.blankBetween(a.EndLine, b.Line) {
			return 1
		}
	}
	return 0
}

// adapt gives an item the marker and the indentation of the list that it joins,
// as the item that comes so many after the one beside it.
func (d *Document) adapt(text string, beside, nth int) string {
	if beside < 0 || d.Entries[beside].Block != Item {
		return text
	}
	like := d.line(d.Entries[beside].Line)
	indent := like[:len(like)-len(strings.TrimLeft(like, " "))]
	like = like[len(indent):]
	marker, own := listMarker(like), listMarker(text)
	if own == "" || marker == "" || strings.HasPrefix(text, " ") {
		return text
	}
	if number, err := strconv.Atoi(marker[:len(marker)-1]); err == nil && len(own) == 1 {
		marker = strconv.Itoa(number+1+nth) + marker[len(marker)-1:]
	} else if len(own) > 1 {
		marker = own
	}
	lines := strings.Split(marker+text[len(own):], "\n")
	shift := indent + strings.Repeat(" ", max(0, len(marker)-len(own)))
	lines[0] = indent + lines[0]
	for i, line := range lines[1:] {
		if line != "" {
			lines[i+1] = shift + line
		}
	}
	return strings.Join(lines, "\n")
}

// shows reports whether everybody may read an entry, which was read alone, when it
// stands in the document.
func (d *Document) shows(e *Entry) bool {
	return e.Partition.Visibility == PublicOK && (d.Own.Visibility == PublicOK || e.Attributes["visibility"] != "")
}

// alike is the item that one which is put below an entry is to look like, -1 if
// there is none: one that everybody may read takes the marker of one that
// everybody may read, or it would tell of a list that not everybody sees.
func (d *Document) alike(beside int, shown bool) int {
	for i := beside; i >= 0 && d.Entries[i].Block == Item && d.Entries[i].Heading == d.Entries[beside].Heading; i-- {
		if !shown || d.Entries[i].Partition.Visibility == PublicOK {
			return i
		}
	}
	return -1
}

// listMarker is the marker that a list item begins with, empty if there is none.
func listMarker(s string) string { return strings.TrimRight(s[:listMarkerLen(s)], " \t") }

// replaceEntry puts a text in the place of an entry.
func (w *work) replaceEntry(i int, c *entryChange) error {
	d, e := w.d, &w.d.Entries[i]
	if len(c.tasks)+len(c.attributes) > 0 {
		return fmt.Errorf("line %d: an entry that is replaced cannot change in other ways as well", e.Line)
	}
	one, err := w.alone(c.replace)
	if err != nil {
		return err
	}
	if fresh := &one.Entries[0]; fresh.Comment.End == 0 && e.Comment.End > 0 {
		comment := strings.Join(strings.Fields(string(d.Source[e.Comment.Start:e.Comment.End])), " ")
		text := string(one.Source)
		if at := fresh.lead; at > 0 {
			text = text[:at] + " " + comment + text[at:]
		} else {
			edit := one.commentBelow(fresh, comment)
			text = text[:edit.Span.Start] + string(edit.New) + text[edit.Span.End:]
		}
		if one, err = w.alone(text); err != nil {
			return err
		}
	}
	w.fresh[i] = one
	text := string(one.Source)
	if e.Block == Item {
		text = d.adapt(text, i, -1)
	}
	text = strings.ReplaceAll(text, "\n", string(d.ending(e.Line)))
	span := e.Span
	if span.Start == 0 && bytes.HasPrefix(d.Source, bom) {
		span.Start = len(bom)
	}
	span.End -= span.End - span.Start - len(trimEnding(d.Source[span.Start:span.End]))
	w.list = append(w.list, Edit{span, []byte(text)})
	return nil
}

// AttributeComment is the comment that the entry has when it is given attributes;
// those with an empty value are taken away. It is empty if none is left.
func (d *Document) AttributeComment(e *Entry, list ...Attribute) string {
	attrs := make([]attr, len(list))
	for i, a := range list {
		attrs[i] = attr{key: a.Key, value: a.Value}
	}
	if e == nil || e.Comment.End == 0 {
		return newComment(attrs)
	}
	return strings.Join(strings.Fields(string(editComment(d.Source[e.Comment.Start:e.Comment.End], attrs))), " ")
}

// TitledItem is a title and a text from outside as one item of a list: the title
// in bold, and the text behind it. What is behind the text, such as a comment,
// ends its last line. Without a title it is [ListItem].
func TitledItem(title, text, behind string) string {
	item := ListItem(text)
	if title = strings.Join(strings.Fields(title), " "); title != "" {
		item = "- **" + title + "**: " + strings.TrimPrefix(item, "- ")
	}
	if behind != "" {
		item += " " + behind
	}
	return item
}
