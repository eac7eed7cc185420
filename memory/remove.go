package memory

import (
	"maps"
	"slices"
	"strings"
)

// blankLine reports whether a line is blank.
func (d *Document) blankLine(line int) bool { return strings.Trim(d.line(line), " \t") == "" }

// bodyLine returns the number of the first line of the body.
func (d *Document) bodyLine() int {
	if d.Front.Span.End > 0 {
		return d.lines.at(d.Front.Span.End-1) + 1
	}
	return 1
}

// removeEntries adds the edits that remove entries, and headings that must not
// stay without them.
func (w *passAttempt) removeEntries() {
	d := w.d
	w.droppedHeadings = w.emptiedHeadings()
	for i, c := range w.entries {
		if e := &d.Entries[i]; c.remove {
			w.removedLines = append(w.removedLines, lineRange{e.Line, e.EndLine})
		}
	}
	for h := range w.droppedHeadings {
		w.removedLines = append(w.removedLines, lineRange{d.Headings[h].Line, d.Headings[h].EndLine})
	}
	slices.SortFunc(w.removedLines, func(a, b lineRange) int { return a.from - b.from })
	for i := 0; i < len(w.removedLines); i++ {
		r := w.removedLines[i]
		for i+1 < len(w.removedLines) && d.blankBetween(r.to, w.removedLines[i+1].from) {
			i++
			r.to = w.removedLines[i].to
		}
		w.editList = append(w.editList, w.cutLines(r))
	}
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

// cutLines returns the edit that removes lines together with the blank lines on
// the side that has fewer, so that the larger gap stays. At the top of a file
// no blank line stays, and at its end none is added.
func (w *passAttempt) cutLines(r lineRange) Edit {
	d, first, n := w.d, w.d.bodyLine(), w.d.lines.count()
	above, below := 0, 0
	for r.from-above > first && d.blankLine(r.from-above-1) {
		above++
	}
	for r.to+below < n && d.blankLine(r.to+below+1) {
		below++
	}
	atEnd, atTop := r.to+below == n, r.from-above == first && first == 1
	var replacement []byte
	switch {
	case atEnd:
		r.from -= above
	case atTop:
		r.to += below
	case above == 0 && below == 0:
		if w.apart && r.from > 1 {
			replacement = d.lineEnding(r.from - 1)
		}
	case above < below:
		r.from -= above
	case above > 0:
		r.to += below
	}
	s := d.lines.span(r.from, r.to)
	s.Start = max(s.Start, bomLen(d.Source))
	return Edit{s, replacement}
}

// emptiedHeadings returns the headings to remove with the entries below them: headings
// that would otherwise become visible to more readers, and headings with the
// time of a removed note. A heading without entries is visible to every reader
// of the file.
func (w *passAttempt) emptiedHeadings() map[int]bool {
	d := w.d
	had, remains, public := make([]bool, len(d.Headings)), make([]bool, len(d.Headings)), make([]bool, len(d.Headings))
	for i := range d.Entries {
		c := w.entries[i]
		for h := d.Entries[i].Heading; h >= 0; h = d.Headings[h].Parent {
			removed := c != nil && c.remove
			had[h], remains[h] = had[h] || removed, remains[h] || !removed
			public[h] = public[h] || d.Entries[i].Partition.Visibility == PublicOK
		}
	}
	for _, i := range slices.Sorted(maps.Keys(w.below)) {
		for h := d.headingOf(i); h >= 0; h = d.Headings[h].Parent {
			remains[h] = true
		}
	}
	drop := map[int]bool{}
	for h := range d.Headings {
		exposed := d.Own.Visibility == PublicOK && !public[h] &&
			!d.privateLines.overlaps(d.Headings[h].Line, d.Headings[h].EndLine)
		if !remains[h] && (exposed || had[h] && d.isNoteHeading(h)) {
			drop[h] = true
		}
	}
	return drop
}

// isNoteHeading reports whether a heading is that of a note with a time of day, and has
// no subheadings.
func (d *Document) isNoteHeading(h int) bool {
	_, _, _, ok := headingClock(d.Headings[h].Text)
	return ok && d.Place.Day != "" && !slices.ContainsFunc(d.Headings, func(o Heading) bool { return o.Parent == h })
}

// headingOf returns the heading above an entry, or -1.
func (d *Document) headingOf(entry int) int {
	if entry < 0 {
		return -1
	}
	return d.Entries[entry].Heading
}
