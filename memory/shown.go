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

// Summary returns the summary of the file, or "" if it has none or the view may
// not read it.
func (d *Document) Summary(v View) string {
	if !v.Readable(d.Own) {
		return ""
	}
	return d.Front.Summary
}

// Progress counts the boxes in sections of tasks and follow-ups that a view may
// read.
func (d *Document) Progress(v View) (tasks, followUps Progress) {
	return d.countTasks(func(e *Entry) bool { return e.Readable(v) })
}

// frontCounters returns the correct counters for the frontmatter. It counts only
// boxes that every reader of the frontmatter may read, so that the counters do
// not reveal others.
func (d *Document) frontCounters() (tasks, followUps Progress) {
	return d.countTasks(func(e *Entry) bool {
		return e.Partition.Visibility == PublicOK || d.Own.Visibility != PublicOK
	})
}

// countTasks counts the boxes of the entries for which counts returns true.
func (d *Document) countTasks(counts func(*Entry) bool) (tasks, followUps Progress) {
	for i := range d.Entries {
		if !counts(&d.Entries[i]) {
			continue
		}
		for _, t := range d.Entries[i].Tasks {
			switch {
			case t.InTasks:
				tasks.add(t.State)
			case t.FollowUp:
				followUps.add(t.State)
			}
		}
	}
	return tasks, followUps
}

func (p *Progress) add(s TaskState) {
	p.Total++
	if s == Done {
		p.Done++
	}
}

// PrivateReadable reports whether a view may read private text in the file,
// whether or not there is any. Errors for other views must not depend on text
// that they cannot read, so they omit the reason why a file cannot be changed.
func (d *Document) PrivateReadable(v View) bool { return v.Readable(d.privatePartition) }
