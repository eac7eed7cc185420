package memory

import (
	"bytes"
	"slices"
	"strings"
)

// Shown is what of a file a view may see. It is the same as if the rest did not
// exist.
type Shown struct {
	Lines []string // without line endings
	Whole bool     // all of the file, with its own line numbers
	Total int      // the number of lines

	source []int // the lines of the file that are shown, when not all are
	found  bool  // there is something; who may read all of it sees an empty file too
}

// Text is the lines joined, each ended by a line feed.
func (s Shown) Text() string {
	if len(s.Lines) == 0 {
		return ""
	}
	return strings.Join(s.Lines, "\n") + "\n"
}

// Line is the number under which a line of the file is shown, 0 if it is not.
func (s Shown) Line(source int) int {
	if s.Whole {
		if source < 1 || source > len(s.Lines) {
			return 0
		}
		return source
	}
	lo, hi := 0, len(s.source)
	for lo < hi {
		if mid := (lo + hi) / 2; s.source[mid] < source {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(s.source) && s.source[lo] == source {
		return lo + 1
	}
	return 0
}

// Source is the line of the file that is shown under a number, 0 if there is
// none.
func (s Shown) Source(line int) int {
	switch {
	case line < 1 || line > len(s.Lines):
		return 0
	case s.Whole:
		return line
	}
	return s.source[line-1]
}

// Readable reports whether a view may see the entry.
func (e *Entry) Readable(v View) bool { return v.Readable(e.Partition) }

// whole reports whether a view may see all of a file: every entry, its
// frontmatter, and whatever stands in private stretches between entries.
func (d *Document) whole(v View) bool {
	if !v.Readable(d.Own) {
		return false
	}
	if (d.private.from > 0 || d.private.regions != nil) && !v.Readable(d.closed) {
		return false
	}
	for i := range d.Entries {
		if !v.Readable(d.Entries[i].Partition) {
			return false
		}
	}
	return true
}

// Empty reports whether there is nothing to see, which is the same as no file.
func (s Shown) Empty() bool { return !s.found }

// Shown is what a view may see of the file: the one function that decides it.
//
// Where not everything is readable, a heading is shown if an entry below it is,
// frontmatter, comments and rules if the file's own partition is, and no more
// blank lines are left around what is missing than there would be without it.
func (d *Document) Shown(v View) Shown {
	if d.whole(v) {
		s := Shown{Lines: make([]string, d.lines.count()), Whole: true, Total: d.lines.count(), found: v.Readable(d.closed)}
		for i := range s.Lines {
			s.Lines[i] = d.line(i + 1)
			s.found = s.found || strings.TrimLeft(s.Lines[i], " \t") != ""
		}
		return s
	}
	lines := d.readableLines(v)
	if !slices.Contains(lines, lineKept) {
		return Shown{}
	}
	var s Shown
	dropped, lastBlank := false, true
	for line := 1; line <= d.lines.count(); line++ {
		switch {
		case lines[line] == lineDropped:
			dropped = true
			continue
		case lines[line] == lineBlank && dropped && lastBlank:
			continue
		}
		text := d.line(line)
		lastBlank = strings.TrimLeft(text, " \t") == ""
		dropped = dropped && lastBlank
		s.Lines = append(s.Lines, text)
		s.source = append(s.source, line)
	}
	for n := len(s.Lines); dropped && n > 0 && strings.TrimLeft(s.Lines[n-1], " \t") == ""; n-- {
		s.Lines, s.source = s.Lines[:n-1], s.source[:n-1]
	}
	s.Total, s.found = len(s.Lines), true
	return s
}

// lineState is what becomes of a line that not everybody may read.
type lineState uint8

const (
	lineBlank   lineState = iota // nobody's, between entries
	lineKept                     // shown
	lineDropped                  // not shown
)

// readableLines says of each line what becomes of it for a view.
func (d *Document) readableLines(v View) []lineState {
	n := d.lines.count()
	lines := make([]lineState, n+2)
	mark := func(from, to int, readable bool) {
		state := lineDropped
		if readable {
			state = lineKept
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
		mark(h.Line, h.EndLine, below[i] && !d.private.closes(h.Line, h.EndLine))
	}
	file := v.Readable(d.Own)
	front := 0
	if d.Front.Span.End > 0 {
		front = d.lines.at(d.Front.Span.End - 1)
	}
	for line := 1; line <= n; line++ {
		if lines[line] == lineBlank && (line <= front || strings.TrimLeft(d.line(line), " \t") != "") {
			mark(line, line, file && !d.private.closes(line, line))
		}
	}
	return lines
}

// line is a line as it is shown, without its ending and a byte order mark.
func (d *Document) line(line int) string { return d.lineWithout(line, nil) }

// lineWithout is a line as it is shown, without what of the spans is in it.
func (d *Document) lineWithout(line int, spans []Span) string {
	s := d.lines.span(line, line)
	text := d.masked[s.Start:s.End]
	if spans != nil {
		text = cut(nil, text, s.Start, spans)
	}
	text = trimEnding(text)
	if line == 1 {
		text = bytes.TrimPrefix(text, bom)
	}
	return display(text, false)
}

// Said is lines of the document as they stand in it, masked or not, each but the
// last ended by a line feed: for comparing, never for showing.
func (d *Document) Said(from, to int) string {
	if from < 1 || to < from || to > d.lines.count() {
		return ""
	}
	s := d.lines.span(from, to)
	text := bytes.TrimPrefix(d.Source[s.Start:s.End], bom)
	return string(trimEnding(unixText(text)))
}

// Masked reports whether something in the document is not shown as it is: then
// what is shown must not be taken for what it says, and its hash tells nothing.
func (d *Document) Masked() bool { return d.differs(Span{0, len(d.Source)}) }

// MaskedLine reports whether something in a line is not shown as it is.
func (d *Document) MaskedLine(line int) bool { return d.differs(d.lines.span(line, line)) }

// differs reports whether something in a span is not shown as it is.
func (d *Document) differs(s Span) bool {
	return len(d.Source) > 0 && &d.Source[0] != &d.masked[0] && !bytes.Equal(d.Source[s.Start:s.End], d.masked[s.Start:s.End])
}

// Summary is the summary of the file, if a view may see it.
func (d *Document) Summary(v View) string {
	if !v.Readable(d.Own) {
		return ""
	}
	return d.Front.Summary
}

// Progress counts the boxes in the sections of tasks and of follow-ups that a
// view may see.
func (d *Document) Progress(v View) (tasks, followUps Progress) {
	for i := range d.Entries {
		e := &d.Entries[i]
		if v.Readable(e.Partition) {
			e.count(&tasks, &followUps)
		}
	}
	return tasks, followUps
}

// counters are what the counters in the frontmatter should say: the boxes that
// all may see who may see the frontmatter, so that it tells them of no others.
func (d *Document) counters() (tasks, followUps Progress) {
	for i := range d.Entries {
		if e := &d.Entries[i]; e.Partition.Visibility == PublicOK || d.Own.Visibility != PublicOK {
			e.count(&tasks, &followUps)
		}
	}
	return tasks, followUps
}

// count adds an entry's boxes.
func (e *Entry) count(tasks, followUps *Progress) {
	for _, t := range e.Tasks {
		switch {
		case t.InTasks:
			tasks.add(t.State)
		case t.FollowUp:
			followUps.add(t.State)
		}
	}
}

func (p *Progress) add(s TaskState) {
	p.Total++
	if s == Done {
		p.Done++
	}
}

// Owned reports whether a view would be shown what is private in the file, too,
// if there is anything. What happens to text that a view would not be shown must
// make no difference to it, so it is not told why a file cannot be changed.
func (d *Document) Owned(v View) bool { return v.Readable(d.closed) }
