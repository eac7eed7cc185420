package memory

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

func (w *passAttempt) computeEdits() error {
	w.replacements = map[int]*Document{}
	for _, i := range slices.Sorted(maps.Keys(w.entries)) {
		c, e := w.entries[i], &w.d.Entries[i]
		switch {
		case c.remove:
			continue // removeEntries handles all of them together
		case c.cut != nil:
			if err := w.cutFromEntry(i, c); err != nil {
				return err
			}
			continue
		case c.replace != "":
			if err := w.replaceEntry(i, c); err != nil {
				return err
			}
			continue
		}
		for _, task := range slices.Sorted(maps.Keys(c.tasks)) {
			if err := w.setTask(&e.Tasks[task], c.tasks[task]); err != nil {
				return err
			}
		}
		w.setAttributes(e, c.attributes)
	}
	edits, err := w.d.setFields(w.fields)
	if err != nil {
		return err
	}
	w.editList = append(w.editList, edits...)
	w.removeEntries()
	return w.insertTexts()
}

// setTask adds the edit for a box, or for a check mark if the task has no box.
func (w *passAttempt) setTask(t *Task, s TaskState) error {
	switch at := t.Box.Start; {
	case t.State == s:
	case t.Box.End > at:
		w.editList = append(w.editList, Edit{t.Box, []byte{" x"[s]}})
	case s == Done:
		w.editList = append(w.editList, Edit{t.Box, []byte(checkMark + " ")})
	default:
		rest, ok := bytes.CutPrefix(w.d.Source[at:], []byte(checkMark))
		if !ok {
			return fmt.Errorf("line %d: the check mark is not at the start of the text", t.Line)
		}
		rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte(emojiStyle)), " \t")
		w.editList = append(w.editList, Edit{Span{at, len(w.d.Source) - len(rest)}, nil})
	}
	return nil
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
		for i+1 < len(w.removedLines) && d.emptyBetween(r.to, w.removedLines[i+1].from, true) {
			i++
			r.to = w.removedLines[i].to
		}
		w.editList = append(w.editList, w.cutLines(r))
	}
}

// gaps returns the numbers of blank lines above and below a range of lines.
func (d *Document) gaps(r lineRange) (above, below int) {
	for r.from-above > d.bodyLine() && d.blankLine(r.from-above-1) {
		above++
	}
	for r.to+below < d.lines.count() && d.blankLine(r.to+below+1) {
		below++
	}
	return above, below
}

// withSeparator extends the lines of removed entries to the separator that they leave: one of
// two around them, or the only one if the other side is a heading or an end of the file.
func (d *Document) withSeparator(r lineRange) lineRange {
	if len(d.separators) == 0 {
		return r
	}
	above, below := d.gaps(r)
	from, to := r.from-above-1, r.to+below+1
	isEnd := func(line int) bool {
		emptyHeading := func(e Entry) bool { return e.Line == line && e.Block == EmptyHeading }
		return line < d.bodyLine() || line > d.lines.count() || d.headingAt(line) ||
			slices.ContainsFunc(d.Entries, emptyHeading)
	}
	switch up, down := d.isSeparator(from), d.isSeparator(to); {
	case down && (up || isEnd(from)):
		r.to = to
	case up && isEnd(to):
		r.from = from
	}
	return r
}

// cutLines returns the edit that removes lines together with the blank lines on
// the side that has fewer, so that the larger gap stays. At the top of a file
// no blank line stays, and at its end none is added.
func (w *passAttempt) cutLines(r lineRange) Edit {
	d, first, n := w.d, w.d.bodyLine(), w.d.lines.count()
	r = d.withSeparator(r)
	above, below := d.gaps(r)
	atEnd, atTop := r.to+below == n, r.from-above == first && first == 1
	var replacement []byte
	switch {
	case atEnd:
		r.from -= above
	case atTop:
		r.to += below
	case above == 0 && below == 0:
		if w.minGap > 0 && r.from > 1 {
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
	for _, in := range w.inserts {
		if in.below < 0 {
			continue
		}
		for h := d.Entries[in.below].Heading; h >= 0; h = d.Headings[h].Parent {
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

// setAttributes adds the edits that set the attributes of an entry. It changes
// the entry's comment, adds a new one, or removes an empty one.
func (w *passAttempt) setAttributes(e *Entry, attrs []Attribute) {
	if len(attrs) == 0 {
		return
	}
	d := w.d
	if e.Comment.End == 0 {
		if comment := newComment(attrs); comment != "" {
			w.editList = append(w.editList, d.addComment(e, comment))
		}
		return
	}
	old := d.Source[e.Comment.Start:e.Comment.End]
	switch comment := editComment(old, attrs); {
	case bytes.Equal(comment, old):
	case len(comment) > 0:
		w.editList = append(w.editList, Edit{e.Comment, comment})
	default:
		w.editList = append(w.editList, Edit{d.commentSpan(e.Comment), nil})
	}
}

// addComment returns the edit that gives an entry without a comment its comment, on a line
// of its own below the entry if its first block has no text that a comment could follow.
func (d *Document) addComment(e *Entry, comment string) Edit {
	if e.lead > 0 {
		return Edit{Span{e.lead, e.lead}, []byte(" " + comment)}
	}
	indent := ""
	if e.Block == Item {
		line := d.line(e.Line)
		text := strings.TrimLeft(line, " ")
		indent = strings.Repeat(" ", len(line)-len(text)+min(listMarkerLen(text), 4))
	}
	end, at := string(d.lineEnding(e.EndLine)), Span{e.Span.End, e.Span.End}
	if !d.hasEnding(e.EndLine) {
		return Edit{at, []byte(end + indent + comment)}
	}
	return Edit{at, []byte(indent + comment + end)}
}

// commentSpan returns the span of a comment with the white space in front of
// it, or the whole line if the line contains nothing else.
func (d *Document) commentSpan(s Span) Span {
	line := d.lines.span(d.lines.at(s.Start), d.lines.at(s.End-1))
	if isBlankText(d.Source[line.Start:s.Start]) && isBlankText(d.Source[s.End:line.End]) {
		return line
	}
	for s.Start > line.Start && (d.Source[s.Start-1] == ' ' || d.Source[s.Start-1] == '\t') {
		s.Start--
	}
	return s
}

// parseSingle parses a text that must be exactly one entry. The returned
// document has LF line endings and no blank lines around the entry.
func (w *passAttempt) parseSingle(text string) (*Document, error) {
	text = unixLines(text)
	lines := trimBlank(strings.Split(text, "\n"))
	one := w.parse([]byte(strings.Join(lines, "\n")))
	switch {
	case one == nil:
		return nil, ErrStopped
	case one.Unsound:
		return nil, fmt.Errorf("invalid text for a file: %s", one.WhyUnsound())
	case one.Front.Present || len(one.Entries) != 1 || len(one.Headings) > 0 || len(one.Hidden) > 0 ||
		one.Entries[0].EndLine != len(lines):
		return nil, errors.New("text is not exactly one paragraph, list item or other block")
	}
	return one, nil
}

// insertTexts parses each text alone, finds the insertion points, and adds their edits.
func (w *passAttempt) insertTexts() error {
	for i := range w.inserts {
		in := &w.inserts[i]
		var texts []*Document
		shown := false // one of the texts would be public
		for _, text := range in.texts {
			one, err := w.parseSingle(text)
			if err != nil {
				return err
			}
			texts, shown = append(texts, one), shown || w.d.wouldBePublic(&one.Entries[0])
		}
		s, err := w.insertionPoint(in, shown)
		if err != nil {
			return err
		}
		s.texts, s.verbatim = texts, in.verbatim
		w.insertPoints = append(w.insertPoints, s)
		w.editList = append(w.editList, w.insertionEdit(&s))
	}
	return nil
}

func (w *passAttempt) insertionPoint(in *insertion, shown bool) (insertionPoint, error) {
	d := w.d
	switch {
	case in.atEnd:
		return d.newSection(in.section, shown)
	case in.below == endOfSection && in.verbatim && len(in.section) == 0:
		return d.endOfTop(), nil
	case in.below == endOfSection:
		return d.endOf(in.section, shown)
	case in.below == topOfFile:
		return insertionPoint{line: d.bodyLine() - 1, beside: -1}, nil
	}
	if c := w.entries[in.below]; c != nil && c.remove {
		return insertionPoint{}, errors.New("cannot insert below a removed entry; replace the entry")
	}
	e := &d.Entries[in.below]
	return insertionPoint{line: e.EndLine, beside: in.below, path: e.Sections, heading: e.Block == EmptyHeading}, nil
}

// insertionEdit returns the edit for an insertion point. It adds as many blank
// lines around the text as the file has at similar places.
func (w *passAttempt) insertionEdit(s *insertionPoint) Edit {
	d := w.d
	end := d.lineEnding(max(s.line, 1))
	at := max(d.lines.start(s.line+1), bomLen(d.Source))
	var b bytes.Buffer
	unended := s.line > 0 && s.line == d.lines.count() && !d.hasEnding(s.line)
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
	before := -1 // the entry above, or -1
	var above *Entry
	if s.beside >= 0 {
		before, above = s.beside, &d.Entries[s.beside]
	}
	heading, indent := s.heading, 0
	if above != nil {
		indent = indentation(d.line(above.Line))
	}
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
			blankLines(max(d.headingGap(), w.minGap))
		case i == 0 && s.line == 0 && len(s.headings) == 0:
		case above != nil && above.Block == Item && e.Block == Item:
			blankLines(max(d.listGap(before), w.minGap))
		default:
			blankLines(1)
		}
		text := string(one.Source)
		if !s.verbatim {
			like := before
			if like >= 0 && d.wouldBePublic(e) && d.Entries[like].Partition.Visibility != PublicOK {
				like = -1 // a number would reveal those of private items
			}
			text = d.adaptItem(text, like, i)
		} else if above != nil && above.Block == Item && indentation(text) > indent {
			lines(emptyComment + "\n") // otherwise the item would belong to the one above
		}
		lines(text)
		heading, above, indent = false, e, indentation(text)
	}
	if next := s.line + 1; next <= d.lines.count() && !d.blankLine(next) {
		follows := d.entryAt(next)
		switch {
		case above.Block == Item && follows >= 0 && d.Entries[follows].Block == Item:
			blankLines(max(d.listGap(s.beside), w.minGap))
		case above.Block == Item && follows < 0 && d.headingAt(next) && w.minGap == 0 && len(s.headings) == 0:
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

// replaceEntry adds the edit that replaces an entry with a text. If the text
// has no attribute comment, replaceEntry keeps the one of the entry.
func (w *passAttempt) replaceEntry(i int, c *entryChange) error {
	d, e := w.d, &w.d.Entries[i]
	if len(c.tasks)+len(c.attributes) > 0 {
		return fmt.Errorf("line %d: a replaced entry cannot have other changes", e.Line)
	}
	one, err := w.parseSingle(c.replace)
	if err != nil {
		return err
	}
	if inserted := &one.Entries[0]; inserted.Comment.End == 0 && e.Comment.End > 0 {
		text, err := splice(one.Source, []Edit{one.addComment(inserted, string(d.comment(e)))})
		if err == nil {
			one, err = w.parseSingle(string(text))
		}
		if err != nil {
			return err
		}
	}
	w.replacements[i] = one
	text := string(one.Source)
	if e.Block == Item {
		text = d.adaptItem(text, i, -1)
	}
	text = strings.ReplaceAll(text, "\n", string(d.lineEnding(e.Line)))
	start := max(e.Span.Start, bomLen(d.Source))
	end := start + len(trimEnding(d.Source[start:e.Span.End]))
	w.editList = append(w.editList, Edit{Span{start, end}, []byte(text)})
	return nil
}
