package memory

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/letters"
)

type insertionPoint struct {
	line     int       // 0 means above the first line
	beside   int       // the entry that ends there, -1 for none
	heading  bool      // the line is a heading's
	headings []Heading // headings to insert first
	path     []string  // suffix of the section path of the inserted entries
	texts    []*Document
	verbatim bool // the texts keep their markers and indentations
}

// newSection returns the insertion point at the end of the file, with the
// heading of the new section.
func (d *Document) newSection(path []string) (insertionPoint, error) {
	head := Heading{Level: 2, Text: path[0]}
	return insertionPoint{line: d.lines.count(), beside: -1, path: path, headings: []Heading{head}}, checkPath(path)
}

// emptyComment separates two lists.
const emptyComment = "<!-- -->"

// indentation returns the number of spaces at the start of a line.
func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// endOfTop returns the insertion point below the last entry above all headings.
func (d *Document) endOfTop() insertionPoint {
	s := insertionPoint{line: d.bodyLine() - 1, beside: -1}
	for i := range d.Entries {
		if e := &d.Entries[i]; len(e.Sections) == 0 && e.Block != EmptyHeading {
			s.line, s.beside = e.EndLine, i
		}
	}
	return s
}

func (d *Document) hasEnding(line int) bool {
	s := d.lines.span(line, line)
	return len(trimEnding(d.Source[s.Start:s.End])) < s.End-s.Start
}

// entryAt returns the entry that begins on a line, or -1.
func (d *Document) entryAt(line int) int {
	if i := d.entryFrom(line); i < len(d.Entries) && d.Entries[i].Line == line {
		return i
	}
	return -1
}

// entryFrom returns the first entry that begins on a line or below it, or the
// number of entries.
func (d *Document) entryFrom(line int) int {
	i, _ := slices.BinarySearchFunc(d.Entries, line, func(e Entry, line int) int { return e.Line - line })
	return i
}

func (d *Document) headingAt(line int) bool {
	return slices.ContainsFunc(d.Headings, func(h Heading) bool { return h.Line == line })
}

// headingGap returns the number of blank lines between headings and the text
// directly below them. It uses the last such heading in the file. If there is
// none, it returns 0, as in the templates.
func (d *Document) headingGap() int {
	for _, h := range slices.Backward(d.Headings) {
		i := d.entryFrom(h.EndLine + 1)
		if i < len(d.Entries) && d.emptyBetween(h.EndLine, d.Entries[i].Line, false) {
			return min(1, d.Entries[i].Line-h.EndLine-1)
		}
	}
	return 0
}

// listGap returns the number of blank lines between an item and its neighbors.
func (d *Document) listGap(i int) int {
	for k := max(i, 1); k > 0 && k <= min(i+1, len(d.Entries)-1); k++ {
		a, b := &d.Entries[k-1], &d.Entries[k]
		if a.Block == Item && b.Block == Item && b.Line > a.EndLine+1 && d.emptyBetween(a.EndLine, b.Line, false) {
			return 1
		}
	}
	return 0
}

// adaptItem gives an item the marker and indentation of the list that it joins.
// The text becomes the nth item, from 0, after the item beside it, which
// determines the number of a numbered item.
func (d *Document) adaptItem(text string, beside, nth int) string {
	if beside < 0 || d.Entries[beside].Block != Item {
		return text
	}
	like := d.line(d.Entries[beside].Line)
	indent := like[:len(like)-len(strings.TrimLeft(like, " "))]
	like = like[len(indent):]
	marker, textMarker := listMarker(like), listMarker(text)
	if textMarker == "" || marker == "" || strings.HasPrefix(text, " ") {
		return text
	}
	if number, err := strconv.Atoi(marker[:len(marker)-1]); err == nil && len(textMarker) == 1 {
		marker = strconv.Itoa(number+1+nth) + marker[len(marker)-1:]
	} else if len(textMarker) > 1 {
		marker = textMarker
	}
	shift := indent + strings.Repeat(" ", max(0, len(marker)-len(textMarker)))
	return indent + indentBelow(marker+text[len(textMarker):], shift)
}

// An outlineNode is a heading or an entry, in line order. An empty heading is both: it
// is an entry, and becomes a plain heading when text is added below it.
type outlineNode struct {
	from, to int // lines
	entry    int // -1 for a heading whose section is not empty
	heading  int // index in Document.Headings, -1 for an entry
	level    int // of a heading, empty or not; 0 for other entries
	path     []string
}

// outline returns the headings and entries of a document.
func (d *Document) outline() []outlineNode {
	list := make([]outlineNode, 0, len(d.Entries)+len(d.Headings))
	h := 0
	headings := func(before int) {
		for ; h < len(d.Headings) && d.Headings[h].Line < before; h++ {
			head := &d.Headings[h]
			list = append(list,
				outlineNode{from: head.Line, to: head.EndLine, entry: -1, heading: h, level: head.Level, path: head.path})
		}
	}
	for i := range d.Entries {
		e := &d.Entries[i]
		headings(e.Line)
		p := outlineNode{from: e.Line, to: e.EndLine, entry: i, heading: -1}
		if e.Block == EmptyHeading {
			p.level, p.path = e.level, append(slices.Clone(e.Sections), e.heading)
		}
		list = append(list, p)
	}
	headings(d.lines.count() + 1)
	return list
}

// endOf returns the insertion point at the end of a section, or that of a
// missing section.
func (d *Document) endOf(path []string) (insertionPoint, error) {
	if err := checkPath(path); err != nil {
		return insertionPoint{}, err
	}
	last := d.lastLine(d.lines.count())
	if len(path) == 0 {
		return insertionPoint{line: last, beside: d.entryUpTo(last)}, nil
	}
	list := d.outline()
	if i := findHeading(list, path); i >= 0 {
		return d.endOfSection(list, i, path), nil
	}
	line, level, missing := last, topLevel(list), path
	for n := len(path) - 1; n > 0; n-- {
		if i := findHeading(list, path[:n]); i >= 0 {
			line, level, missing = d.lastOf(list, i), list[i].level+1, path[n:]
			break
		}
	}
	s := insertionPoint{line: line, beside: d.entryUpTo(line), path: path}
	for i, name := range missing {
		if level+i > 6 {
			return insertionPoint{}, errors.New("a section would be nested more than six levels deep")
		}
		s.headings = append(s.headings, Heading{Level: level + i, Text: name})
	}
	return s, nil
}

func checkPath(path []string) error {
	if slices.ContainsFunc(path, func(s string) bool { return s == "" || s != letters.OneLine(s) }) {
		return fmt.Errorf("%q cannot be the path of a section", path)
	}
	return nil
}

// lastOf returns the last line of a section, including its subsections.
func (d *Document) lastOf(list []outlineNode, at int) int {
	for _, p := range list[at+1:] {
		if p.level > 0 && p.level <= list[at].level {
			return d.lastLine(p.from - 1)
		}
	}
	return d.lastLine(d.lines.count())
}

// endOfSection returns the insertion point at the end of the text directly
// below a heading.
func (d *Document) endOfSection(list []outlineNode, at int, path []string) insertionPoint {
	s := insertionPoint{line: list[at].to, beside: -1, heading: true, path: path}
	to, last := d.lines.count(), true
	for i := len(list) - 1; i > at; i-- {
		if list[i].level > 0 {
			to, last = list[i].from-1, false
		}
	}
	var below []outlineNode
	for _, p := range list[at+1:] {
		if p.from > to {
			break
		}
		below = append(below, p)
		s.line, s.beside, s.heading = p.to, p.entry, false
	}
	if foot := d.footLine(below, list[at].to, to); last && foot > 0 {
		line := d.lastLine(foot - 1)
		return insertionPoint{line: line, beside: d.entryUpTo(line), path: path, heading: line == list[at].to}
	}
	if last := d.lastLine(to); s.beside < 0 && last > s.line {
		s.line, s.heading = last, false // below comments that describe the section
	}
	return s
}

// footLine returns the line of the rule that separates the foot of a file from the
// text directly below its last heading, or 0 if there is none. A foot contains
// no list items. The lines from and to are the end of the heading and of the
// text.
func (d *Document) footLine(below []outlineNode, from, to int) int {
	for line := to; line > from; line-- {
		for len(below) > 0 && below[len(below)-1].from > line {
			below = below[:len(below)-1]
		}
		switch {
		case len(below) > 0 && below[len(below)-1].to >= line:
			if d.Entries[below[len(below)-1].entry].Block == Item {
				return 0
			}
		case ruleRE().MatchString(d.line(line)) &&
			!slices.ContainsFunc(d.Entries, func(e Entry) bool { return e.Line <= line && line <= e.EndLine }):
			return line
		}
	}
	return 0
}

var ruleRE = lazyregexp.New(`^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$`)

// findHeading returns the first heading with the given path, ignoring
// case and decoration; else the first whose path ends with it; else -1.
func findHeading(list []outlineNode, path []string) int {
	end := -1
	for i, p := range list {
		if p.level == 0 || len(p.path) < len(path) ||
			!slices.EqualFunc(p.path[len(p.path)-len(path):], path, SameSection) {
			continue
		}
		if len(p.path) == len(path) {
			return i
		}
		if end < 0 {
			end = i
		}
	}
	return end
}

// topLevel returns the level of a new top-level section: the level of the
// existing ones, or 2. A single heading of the first level is the title of the
// file, not a section.
func topLevel(list []outlineNode) int {
	titles, level := 0, 0
	for _, p := range list {
		switch {
		case p.level == 1:
			titles++
		case p.level > 0 && (level == 0 || p.level < level):
			level = p.level
		}
	}
	switch {
	case titles > 1:
		return 1
	case level > 0:
		return level
	}
	return 2
}

// lastLine returns the last line up to line that is not blank, and at least the
// line above the body.
func (d *Document) lastLine(line int) int {
	for line >= d.bodyLine() && d.blankLine(line) {
		line--
	}
	return line
}

// entryUpTo returns the entry that ends on a line, or -1.
func (d *Document) entryUpTo(line int) int {
	return slices.IndexFunc(d.Entries, func(e Entry) bool { return e.EndLine == line })
}

// isTitleOfDay reports whether a heading is the title of a day's file. Such a title
// contains no more than the file's path.
func (d *Document) isTitleOfDay(title string) bool {
	day := d.Place.Day
	return day != "" && (title == day || title == day+shortTermTitle)
}

// shortTermTitle follows the day in the title of a session's file.
const shortTermTitle = " Short-Term Memory"

// computeEdits computes the edits of this pass: those of entries, then of fields, then
// insertions.
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
		case c.replace != nil:
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
		w.editList = append(w.editList, textEdit{t.Box, []byte{" x"[s]}})
	case s == Done:
		w.editList = append(w.editList, textEdit{t.Box, []byte(checkMark + " ")})
	default:
		rest, ok := bytes.CutPrefix(w.d.Source[at:], []byte(checkMark))
		if !ok {
			return fmt.Errorf("line %d: the check mark is not at the start of the text", t.Line)
		}
		rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte(emojiStyle)), " \t")
		w.editList = append(w.editList, textEdit{Span{at, len(w.d.Source) - len(rest)}, nil})
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

// cutLines returns the edit that removes lines together with as many blank lines as the side
// that has fewer, so that the larger gap stays. At the top of a file
// no blank line stays, and at its end none is added.
func (w *passAttempt) cutLines(r lineRange) textEdit {
	d, first, n := w.d, w.d.bodyLine(), w.d.lines.count()
	r = d.withSeparator(r)
	above, below := d.gaps(r)
	var replacement []byte
	switch {
	case r.to+below == n:
		r.from -= above
	case r.from-above == first && first == 1:
		r.to += below
	case above+below == 0 && w.minGap > 0 && r.from > 1:
		replacement = d.lineEnding(r.from - 1)
	default:
		r.to += min(above, below)
	}
	s := d.lines.span(r.from, r.to)
	s.Start = max(s.Start, bomLen(d.Source))
	return textEdit{s, replacement}
}

// emptiedHeadings returns the headings to remove with the entries below them: those with
// the time of a removed note.
func (w *passAttempt) emptiedHeadings() map[int]bool {
	d := w.d
	had, remains := make([]bool, len(d.Headings)), make([]bool, len(d.Headings))
	for i := range d.Entries {
		c := w.entries[i]
		for h := d.Entries[i].Heading; h >= 0; h = d.Headings[h].Parent {
			removed := c != nil && c.remove
			had[h], remains[h] = had[h] || removed, remains[h] || !removed
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
		if !remains[h] && had[h] && d.isNoteHeading(h) {
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
func (w *passAttempt) setAttributes(e *Entry, attrs []attribute) {
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
		w.editList = append(w.editList, textEdit{e.Comment, comment})
	default:
		w.editList = append(w.editList, textEdit{d.commentSpan(e.Comment), nil})
	}
}

// addComment returns the edit that gives an entry without a comment its comment, on a line
// of its own below the entry if its first block has no text that a comment could follow.
func (d *Document) addComment(e *Entry, comment string) textEdit {
	if e.lead > 0 {
		return textEdit{Span{e.lead, e.lead}, []byte(" " + comment)}
	}
	indent := ""
	if e.Block == Item {
		line := d.line(e.Line)
		text := strings.TrimLeft(line, " ")
		indent = strings.Repeat(" ", len(line)-len(text)+min(listMarkerLen(text), 4))
	}
	end, at := string(d.lineEnding(e.EndLine)), Span{e.Span.End, e.Span.End}
	if !d.hasEnding(e.EndLine) {
		return textEdit{at, []byte(end + indent + comment)}
	}
	return textEdit{at, []byte(indent + comment + end)}
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

// insertTexts finds the insertion points, and adds their edits.
func (w *passAttempt) insertTexts() error {
	for i := range w.inserts {
		in := &w.inserts[i]
		s, err := w.insertionPoint(in)
		if err != nil {
			return err
		}
		for _, p := range in.puts {
			one, err := p.fit(w.parse)
			if err != nil {
				return err
			}
			s.texts = append(s.texts, one)
		}
		s.verbatim = in.verbatim
		w.insertPoints = append(w.insertPoints, s)
		w.editList = append(w.editList, w.insertionEdit(&s))
	}
	return nil
}

// insertionPoint determines where an insertion goes in the document.
func (w *passAttempt) insertionPoint(in *insertion) (insertionPoint, error) {
	d := w.d
	switch {
	case in.atEnd:
		return d.newSection(in.section)
	case in.below == endOfSection && in.verbatim && len(in.section) == 0:
		return d.endOfTop(), nil
	case in.below == endOfSection:
		return d.endOf(in.section)
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
func (w *passAttempt) insertionEdit(s *insertionPoint) textEdit {
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
			text = d.adaptItem(text, before, i)
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
	return textEdit{Span{at, at}, text}
}

// replaceEntry adds the edit that replaces an entry with a requested one.
func (w *passAttempt) replaceEntry(i int, c *entryChange) error {
	d, e := w.d, &w.d.Entries[i]
	if len(c.tasks)+len(c.attributes) > 0 {
		return fmt.Errorf("line %d: a replaced entry cannot have other changes", e.Line)
	}
	one, err := c.replace.fit(w.parse)
	if err != nil {
		return err
	}
	w.replacements[i] = one
	text := string(one.Source)
	if e.Block == Item {
		text = d.adaptItem(text, i, -1)
	}
	text = strings.ReplaceAll(text, "\n", string(d.lineEnding(e.Line)))
	start := max(e.Span.Start, bomLen(d.Source))
	end := start + len(trimEnding(d.Source[start:e.Span.End]))
	w.editList = append(w.editList, textEdit{Span{start, end}, []byte(text)})
	return nil
}
