package memory

import (
	"maps"
	"slices"
	"strings"
)

// blankLine reports whether nothing stands on a line.
func (d *Document) blankLine(line int) bool { return strings.Trim(d.line(line), " \t") == "" }

// bodyLine is the first line of the body.
func (d *Document) bodyLine() int {
	if d.Front.Span.End > 0 {
		return d.lines.at(d.Front.Span.End-1) + 1
	}
	return 1
}

// removeEntries finds the bytes of the entries that go.
func (w *work) removeEntries() {
	d := w.d
	w.drop = w.emptied()
	for i, c := range w.entries {
		if e := &d.Entries[i]; c.remove {
			w.gone = append(w.gone, lineRange{e.Line, e.EndLine})
		}
	}
	for h := range w.drop {
		w.gone = append(w.gone, lineRange{d.Headings[h].Line, d.Headings[h].EndLine})
	}
	slices.SortFunc(w.gone, func(a, b lineRange) int { return a.from - b.from })
	for i := 0; i < len(w.gone); i++ {
		r := w.gone[i]
		for i+1 < len(w.gone) && d.blankBetween(r.to, w.gone[i+1].from) {
			i++
			r.to = w.gone[i].to
		}
		w.list = append(w.list, w.cutLines(r))
	}
}

// blankBetween reports whether nothing but blank lines is between two lines.
func (d *Document) blankBetween(from, to int) bool {
	for line := from + 1; line < to; line++ {
		if !d.blankLine(line) {
			return false
		}
	}
	return true
}

// cutLines removes lines, with the blank ones on that side where there are
// fewer: as many stay as there were at most between two neighbours. None stays
// at the top of a file, and none that was not there at its end.
func (w *work) cutLines(r lineRange) Edit {
	d, first, n := w.d, w.d.bodyLine(), w.d.lines.count()
	above, below := 0, 0
	for r.from-above > first && d.blankLine(r.from-above-1) {
		above++
	}
	for r.to+below < n && d.blankLine(r.to+below+1) {
		below++
	}
	atEnd, atTop := r.to+below == n, r.from-above == first && first == 1
	var left []byte
	switch {
	case atEnd:
		r.from -= above
	case atTop:
		r.to += below
	case above == 0 && below == 0:
		if w.apart && r.from > 1 {
			left = d.ending(r.from - 1)
		}
	case above < below:
		r.from -= above
	case above > 0:
		r.to += below
	}
	s := d.lines.span(r.from, r.to)
	if s.Start == 0 && len(d.Source) >= len(bom) && string(d.Source[:len(bom)]) == string(bom) {
		s.Start = len(bom)
	}
	return Edit{s, left}
}

// emptied are the headings that go with what was below them: those that would be
// shown to more people than before if they stayed, and those that say when it was
// noted, which belong to it. A heading is shown with what is below it: alone, it is
// shown to whoever may read the file.
func (w *work) emptied() map[int]bool {
	d := w.d
	had, left, public := make([]bool, len(d.Headings)), make([]bool, len(d.Headings)), make([]bool, len(d.Headings))
	for i := range d.Entries {
		c := w.entries[i]
		for h := d.Entries[i].Heading; h >= 0; h = d.Headings[h].Parent {
			gone := c != nil && c.remove
			had[h], left[h] = had[h] || gone, left[h] || !gone
			public[h] = public[h] || d.Entries[i].Partition.Visibility == PublicOK
		}
	}
	for _, i := range slices.Sorted(maps.Keys(w.below)) {
		for h := d.headingOf(i); h >= 0; h = d.Headings[h].Parent {
			left[h] = true
		}
	}
	drop := map[int]bool{}
	for h := range d.Headings {
		exposed := d.Own.Visibility == PublicOK && !public[h] && !d.private.closes(d.Headings[h].Line, d.Headings[h].EndLine)
		if !left[h] && (exposed || had[h] && d.noted(h)) {
			drop[h] = true
		}
	}
	return drop
}

// noted reports whether a heading is that of a note, which says when it was, and
// has no heading below it.
func (d *Document) noted(h int) bool {
	_, _, _, ok := headingClock(d.Headings[h].Text)
	return ok && d.Place.Day != "" && !slices.ContainsFunc(d.Headings, func(o Heading) bool { return o.Parent == h })
}

// headingOf is the heading above an entry, -1 for none.
func (d *Document) headingOf(entry int) int {
	if entry < 0 {
		return -1
	}
	return d.Entries[entry].Heading
}
