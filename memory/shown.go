package memory

import (
	"bytes"
	"slices"
	"strings"
)

// Shown is the text of a file that a view may read.
type Shown struct {
	Lines []string // without line endings

	found bool // the view may read something, and be it an empty file
}

// Text returns the lines, each ended by a line feed.
func (s Shown) Text() string {
	if len(s.Lines) == 0 {
		return ""
	}
	return strings.Join(s.Lines, "\n") + "\n"
}

// FrontText returns the frontmatter of the document without the keys of its import. The
// reader must be able to read the frontmatter.
func (d *Document) FrontText() string {
	if d.Front.Broken || d.Front.Span.End == 0 {
		return ""
	}
	text := displayText(string(d.masked[bomLen(d.masked):d.Front.Span.End]))
	return CutImport(strings.TrimSuffix(text, "\n") + "\n")
}

// Empty reports whether nothing is visible. Callers treat this like a missing
// file.
func (s Shown) Empty() bool { return !s.found }

// Shown returns the text of the document, or of its excerpt, that a view may read. Lines
// of the result have the numbers of the lines in [Document.For].
func (d *Document) Shown(v View) Shown {
	d = d.For(v)
	if d == nil {
		return Shown{}
	}
	s := Shown{make([]string, d.lines.count()), true}
	for i := range s.Lines {
		s.Lines[i] = d.line(i + 1)
	}
	return s
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

// allPublic reports whether every entry, the frontmatter and the text between entries are
// public.
func (d *Document) allPublic() bool {
	return d.Own.Visibility == PublicOK && d.privateLines.from == 0 && d.privateLines.regions == nil &&
		!slices.ContainsFunc(d.Entries, func(e Entry) bool { return e.Partition.Visibility != PublicOK })
}

// publicLines returns the numbers of the lines that readers of public text may read. No
// other function decides this.
//
// A heading is visible if a public entry is below it, and frontmatter, comments and rules
// are visible if the file itself is public. Around omitted lines, only as many blank lines
// and separators stay as there would be without those lines.
func (d *Document) publicLines() (lines []int) {
	const hidden, visible = 1, 2 // 0 is a blank line between entries
	n := d.lines.count()
	states := make([]int, n+2)
	mark := func(from, to int, public bool) {
		for line := from; line <= to; line++ {
			states[line] = hidden
			if public {
				states[line] = visible
			}
		}
	}
	for i := range d.Entries {
		mark(d.Entries[i].Line, d.Entries[i].EndLine, d.Entries[i].Partition.Visibility == PublicOK)
	}
	for i, h := range d.Headings {
		mark(h.Line, h.EndLine, d.publicBelow[i] && !d.privateLines.overlaps(h.Line, h.EndLine))
	}
	for line := 1; line <= n; line++ {
		if states[line] == 0 && (line < d.bodyLine() || !d.blankLine(line)) {
			mark(line, line, d.Own.Visibility == PublicOK && !d.privateLines.overlaps(line, line))
		}
	}
	if !slices.Contains(states, visible) {
		return nil
	}
	dropped, lastBlank, separated := false, true, true
	for line := 1; line <= n; line++ {
		blank, separator := d.blankLine(line), d.isSeparator(line)
		switch {
		case states[line] == hidden:
			dropped = true
			continue
		case states[line] == 0 && dropped && lastBlank, separator && dropped && separated:
			continue
		}
		lastBlank, separated = blank, separator || blank && separated
		dropped = dropped && blank
		lines = append(lines, line)
	}
	for k := len(lines); dropped && k > 0 && (d.blankLine(lines[k-1]) || d.isSeparator(lines[k-1])); k-- {
		lines = lines[:k-1]
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

// Prose returns the lines of the body if the view may read the document, without text for
// programs: frontmatter, attributes of entries, generated text, and blocks
// injected into a prompt. Other comments stay. A heading with only untrusted
// entries below it is untrusted too, because it was written with them. The
// result neither begins nor ends with a blank line, and omitted text does not
// leave two blank lines in a row.
func (d *Document) Prose(v View) []ProseLine {
	if !v.Readable(d.Partition) {
		return nil
	}
	entry, untrusted := d.proseEntries(v)
	comments := make([]Span, 0, len(d.Entries))
	for i := range d.Entries {
		if c := d.Entries[i].Comment; c.End > c.Start {
			comments = append(comments, c)
		}
	}
	hidden := privateRanges{regions: d.hidden}
	out := make([]ProseLine, 0, d.lines.count())
	dropped := true // also suppresses blank lines at the top
	for line := d.bodyLine(); line <= d.lines.count(); line++ {
		if hidden.overlaps(line, line) {
			dropped = true
			continue
		}
		text, span := d.line(line), d.lines.span(line, line)
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

// UntrustedLines returns the ranges of lines that others than the subject
// wrote: the lines of their entries, headings with only such entries, and
// the frontmatter with their summary.
func (d *Document) UntrustedLines(v View) (ranges [][2]int) {
	_, untrusted := d.proseEntries(v)
	front := d.Front.Author().Untrusted(v)
	for line := 1; line <= d.lines.count(); line++ {
		if line < d.bodyLine() {
			untrusted[line] = front && strings.Trim(d.line(line), "-. ") != ""
		}
		switch n := len(ranges); {
		case !untrusted[line]:
		case n > 0 && ranges[n-1][1] == line-1:
			ranges[n-1][1] = line
		default:
			ranges = append(ranges, [2]int{line, line})
		}
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
func (d *Document) proseEntries(v View) (entry []int, untrusted []bool) {
	n := d.lines.count() + 2
	entry, untrusted = make([]int, n), make([]bool, n)
	for i := range entry {
		entry[i] = -1
	}
	trusted, below := make([]bool, len(d.Headings)), make([]bool, len(d.Headings))
	for i := range d.Entries {
		e := &d.Entries[i]
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
