package memory

import (
	"bytes"
	"slices"
	"strings"
)

// Shown is the part of a file that a view may read. It does not depend on the
// rest of the file.
type Shown struct {
	Lines    []string // without line endings
	Complete bool     // the view may read the whole file; line numbers are those of the file

	source []int // line numbers in the file
	found  bool  // there is text; a view that may read everything sees an empty file too
}

// Text returns the lines, each ended by a line feed.
func (s Shown) Text() string {
	if len(s.Lines) == 0 {
		return ""
	}
	return strings.Join(s.Lines, "\n") + "\n"
}

// Front returns the frontmatter of the document without the keys of its import. The
// view must be able to read the frontmatter.
func (s Shown) Front(d *Document) string {
	n := bytes.Count(d.Source[:d.Front.Span.End], []byte("\n"))
	if d.Front.Broken || n == 0 || n > len(s.Lines) || s.Source(n) != n {
		return ""
	}
	return CutImport(strings.Join(s.Lines[:n], "\n") + "\n")
}

// Line returns the visible number of a line of the file, or 0 if it is not
// visible.
func (s Shown) Line(source int) int {
	i, ok := slices.BinarySearch(s.source, source)
	if !ok {
		return 0
	}
	return i + 1
}

// Source returns the line of the file for a visible line number, or 0 if there
// is none.
func (s Shown) Source(line int) int {
	if line < 1 || line > len(s.Lines) {
		return 0
	}
	return s.source[line-1]
}

// Readable reports whether a view may read the entry.
func (e *Entry) Readable(v View) bool { return v.Readable(e.Partition) }

// InPrivate reports whether an entry of the document is in a <private> block, or
// below one that is not closed, or one of its headings is.
func (d *Document) InPrivate(e *Entry) bool {
	for h := e.Heading; h >= 0; h = d.Headings[h].Parent {
		if d.privateLines.overlaps(d.Headings[h].Line, d.Headings[h].EndLine) {
			return true
		}
	}
	return d.privateLines.overlaps(e.Line, e.EndLine)
}

// fullyReadable reports whether a view may read all of a file: every entry, the
// frontmatter, and the private ranges between entries.
func (d *Document) fullyReadable(v View) bool {
	if !v.Readable(d.Own) {
		return false
	}
	if (d.privateLines.from > 0 || d.privateLines.regions != nil) && !v.Readable(d.privatePartition) {
		return false
	}
	for i := range d.Entries {
		if !v.Readable(d.Entries[i].Partition) {
			return false
		}
	}
	return true
}

// Empty reports whether nothing is visible. Callers treat this like a missing
// file.
func (s Shown) Empty() bool { return !s.found }

// Shown returns the part of the file that a view may read. No other function
// decides this.
//
// If the view may read only a part of the file, a heading is visible if an
// entry below it is, and frontmatter, comments and rules are visible if the
// file's own partition is readable. Around omitted lines, only as many blank
// lines and separators stay as there would be without those lines.
func (d *Document) Shown(v View) Shown {
	if d.fullyReadable(v) {
		n := d.lines.count()
		s := Shown{make([]string, n), true, make([]int, n), v.Readable(d.privatePartition)}
		for i := range n {
			s.Lines[i], s.source[i] = d.line(i+1), i+1
			s.found = s.found || strings.TrimLeft(s.Lines[i], " \t") != ""
		}
		return s
	}
	lines := d.readableLines(v)
	if !slices.Contains(lines, lineVisible) {
		return Shown{}
	}
	var s Shown
	dropped, lastBlank, separated := false, true, true
	for line := 1; line <= d.lines.count(); line++ {
		switch {
		case lines[line] == lineHidden:
			dropped = true
			continue
		case lines[line] == lineBlank && dropped && lastBlank, d.isSeparator(line) && dropped && separated:
			continue
		}
		text := d.line(line)
		lastBlank = strings.TrimLeft(text, " \t") == ""
		separated = d.isSeparator(line) || lastBlank && separated
		dropped = dropped && lastBlank
		s.Lines = append(s.Lines, text)
		s.source = append(s.source, line)
	}
	for n := len(s.Lines); dropped && n > 0; n-- {
		if strings.TrimLeft(s.Lines[n-1], " \t") != "" && !d.isSeparator(s.source[n-1]) {
			break
		}
		s.Lines, s.source = s.Lines[:n-1], s.source[:n-1]
	}
	if len(s.Lines) == 0 {
		return Shown{}
	}
	s.found = true
	return s
}

// ShownLines returns the visible numbers of two lines of entries that the view may
// read. It is [Shown.Line], without the text of a file that the view may read all of.
func (d *Document) ShownLines(v View, from, to int) (first, last int) {
	if d.fullyReadable(v) {
		return from, to
	}
	s := d.Shown(v)
	return s.Line(from), s.Line(to)
}

// lineState is the visibility of a line in a partly readable file.
type lineState uint8

const (
	lineBlank   lineState = iota // between entries
	lineVisible                  // visible
	lineHidden                   // not visible
)

func (d *Document) readableLines(v View) []lineState {
	n := d.lines.count()
	lines := make([]lineState, n+2)
	mark := func(from, to int, readable bool) {
		state := lineHidden
		if readable {
			state = lineVisible
		}
		for line := from; line <= to; line++ {
			lines[line] = state
		}
	}
	below := make([]bool, len(d.Headings))
	for i := range d.Entries {
		e := &d.Entries[i]
		readable := v.Readable(e.Partition)
		mark(e.Line, e.EndLine, readable)
		for h := e.Heading; readable && h >= 0 && !below[h]; h = d.Headings[h].Parent {
			below[h] = true
		}
	}
	for i, h := range d.Headings {
		mark(h.Line, h.EndLine, below[i] && !d.privateLines.overlaps(h.Line, h.EndLine))
	}
	file := v.Readable(d.Own)
	for line := 1; line <= n; line++ {
		if lines[line] == lineBlank && (line < d.bodyLine() || !d.blankLine(line)) {
			mark(line, line, file && !d.privateLines.overlaps(line, line))
		}
	}
	return lines
}

// line returns a line in its display form, without its ending and a byte order
// mark.
func (d *Document) line(line int) string { return d.lineWithout(line, nil) }

// lineWithout returns a line in its display form, without the text in the
// spans.
func (d *Document) lineWithout(line int, spans []Span) string {
	s := d.lines.span(line, line)
	text := d.masked[s.Start:s.End]
	if spans != nil {
		text = removeSpans(nil, text, s.Start, spans)
	}
	text = trimEnding(text)
	if line == 1 {
		text = bytes.TrimPrefix(text, bom)
	}
	return displayText(string(text))
}

// SourceLines returns unmasked lines of the document, each but the last ended by a
// line feed. Use the result for comparisons only and never display it.
func (d *Document) SourceLines(from, to int) string {
	if from < 1 || to < from || to > d.lines.count() {
		return ""
	}
	s := d.lines.span(from, to)
	text := bytes.TrimPrefix(d.Source[s.Start:s.End], bom)
	return string(trimEnding(unixText(text)))
}

// Masked reports whether the document contains masked text. In that case its
// visible text differs from its content, and a hash of the visible text does
// not identify the content.
func (d *Document) Masked() bool { return d.hasMaskedText(Span{0, len(d.Source)}) }

// MaskedLine reports whether a line contains masked text.
func (d *Document) MaskedLine(line int) bool { return d.hasMaskedText(d.lines.span(line, line)) }

func (d *Document) hasMaskedText(s Span) bool {
	return !bytes.Equal(d.Source[s.Start:s.End], d.masked[s.Start:s.End])
}

// A ProseLine is a line of a file's body for a human reader.
type ProseLine struct {
	Text      string
	Entry     int  // index in Document.Entries; -1 for a heading, a comment, a rule or a blank line
	Untrusted bool // its source is not the subject
}

// Prose returns the lines of the body that a view may read, without text for
// programs: frontmatter, attributes of entries, generated text, and blocks
// injected into a prompt. Other comments stay. A heading with only untrusted
// entries below it is untrusted too, because it was written with them. The
// result neither begins nor ends with a blank line, and omitted text does not
// leave two blank lines in a row.
func (d *Document) Prose(v View) []ProseLine {
	shown := d.Shown(v)
	entry, untrusted := d.proseEntries(shown, v)
	comments := make([]Span, 0, len(d.Entries))
	for i := range d.Entries {
		if c := d.Entries[i].Comment; c.End > c.Start {
			comments = append(comments, c)
		}
	}
	hidden := privateRanges{regions: d.hidden}
	out := make([]ProseLine, 0, len(shown.Lines))
	dropped := true // also suppresses blank lines at the top
	for i, text := range shown.Lines {
		line := shown.Source(i + 1)
		if line < d.bodyLine() || hidden.overlaps(line, line) {
			dropped = true
			continue
		}
		span := d.lines.span(line, line)
		comments = spansFrom(comments, span.Start)
		if len(comments) > 0 && comments[0].Start < span.End {
			text = d.lineWithout(line, comments)
			if strings.Trim(text, " \t>") == "" {
				dropped = true
				continue
			}
			text = strings.TrimRight(text, " \t")
		}
		if blank := strings.TrimLeft(text, " \t") == ""; blank && dropped &&
			(len(out) == 0 || out[len(out)-1].Text == "") {
			continue
		} else if blank {
			text = ""
		} else {
			dropped = false
		}
		out = append(out, ProseLine{text, entry[line], untrusted[line]})
	}
	for n := len(out); n > 0 && out[n-1].Text == ""; n-- {
		out = out[:n-1]
	}
	return out
}

// UntrustedLines returns the ranges of visible lines that others than the subject
// wrote: the lines of their entries, headings with only such entries, and
// the frontmatter with their summary.
func (d *Document) UntrustedLines(shown Shown, v View) (ranges [][2]int) {
	_, untrusted := d.proseEntries(shown, v)
	front := d.Front.Author().Untrusted(v)
	for i := range shown.Lines {
		line := shown.Source(i + 1)
		if line < d.bodyLine() {
			untrusted[line] = front && strings.Trim(shown.Lines[i], "-. ") != ""
		}
		if !untrusted[line] {
			continue
		}
		if n := len(ranges); n > 0 && ranges[n-1][1] == i {
			ranges[n-1][1] = i + 1
			continue
		}
		ranges = append(ranges, [2]int{i + 1, i + 1})
	}
	return ranges
}

// OwnView returns a view that reads all of the document.
func (d *Document) OwnView() View {
	v := View{owners: map[string]string{}, private: true}
	add := func(p Partition) { v.owners[p.Owner] = p.Owner }
	add(d.Own)
	add(d.privatePartition)
	for i := range d.Entries {
		add(d.Entries[i].Partition)
	}
	return v
}

// proseEntries returns, by line, the index of its entry or -1, and whether the
// line is untrusted.
func (d *Document) proseEntries(shown Shown, v View) (entry []int, untrusted []bool) {
	n := d.lines.count() + 2
	entry, untrusted = make([]int, n), make([]bool, n)
	for i := range entry {
		entry[i] = -1
	}
	trusted, below := make([]bool, len(d.Headings)), make([]bool, len(d.Headings))
	for i := range d.Entries {
		e := &d.Entries[i]
		if shown.Line(e.Line) == 0 {
			continue
		}
		outside := e.Author().Untrusted(v)
		for line := e.Line; line <= e.EndLine; line++ {
			entry[line], untrusted[line] = i, outside
		}
		for h := e.Heading; h >= 0; h = d.Headings[h].Parent {
			below[h], trusted[h] = true, trusted[h] || !outside
		}
	}
	for i, h := range d.Headings {
		for line := h.Line; line <= h.EndLine; line++ {
			untrusted[line] = below[i] && !trusted[i]
		}
	}
	return entry, untrusted
}

func (d *Document) blankLine(line int) bool { return strings.Trim(d.line(line), " \t") == "" }

// bodyLine returns the number of the first line of the body.
func (d *Document) bodyLine() int {
	if d.Front.Span.End > 0 {
		return d.lines.at(d.Front.Span.End-1) + 1
	}
	return 1
}

// blankBetween reports whether only blank lines are between two lines.
func (d *Document) blankBetween(from, to int) bool {
	for line := from + 1; line < to; line++ {
		if !d.blankLine(line) {
			return false
		}
	}
	return true
}

func (d *Document) isSeparator(line int) bool {
	_, is := slices.BinarySearch(d.separators, line)
	return is
}

// LineStart returns the offset of a line, from 1, or the end of the file.
func (d *Document) LineStart(line int) int { return d.lines.start(line) }

// LineEnding returns the line ending of the first line, or a line feed.
func (d *Document) LineEnding() []byte { return d.lineEnding(1) }

// lineEnding returns the line ending of a line, see [lines.ending].
func (d *Document) lineEnding(line int) []byte { return d.lines.ending(d.Source, line) }
