package memory

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
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
func (d *Document) newSection(path []string, shown bool) (insertionPoint, error) {
	head := Heading{Level: 2, Text: path[0]}
	if shown && d.underPrivateTitle() {
		head.Level = 1
	}
	return insertionPoint{line: d.lines.count(), beside: -1, path: path, headings: []Heading{head}}, checkPath(path)
}

// underPrivateTitle reports whether a section at the end of the file would be
// below a title that public readers cannot see.
func (d *Document) underPrivateTitle() bool {
	for _, p := range slices.Backward(d.outline(false)) {
		if p.level == 1 {
			return !d.isPublicNode(&p) && !d.isDayTitle(&p)
		}
	}
	return false
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

// wouldBePublic reports whether an entry that was parsed alone would be public
// inside the document.
func (d *Document) wouldBePublic(e *Entry) bool {
	return e.Partition.Visibility == PublicOK && (d.Own.Visibility == PublicOK || e.Attributes["visibility"] != "")
}

// An outlineNode is a heading or an entry, in line order. An empty heading is both: it
// is an entry, and becomes a plain heading when text is added below it.
type outlineNode struct {
	from, to int // lines
	entry    int // -1 for a heading whose section is not empty
	heading  int // index in Document.Headings, -1 for an entry
	level    int // of a heading, empty or not; 0 for other entries
	path     []string
	usable   bool // it may determine the insertion point of the text
}

// outline returns the headings and entries of a document. For public text only
// public ones are usable.
func (d *Document) outline(shown bool) []outlineNode {
	list := make([]outlineNode, 0, len(d.Entries)+len(d.Headings))
	add := func(p outlineNode) {
		p.usable = !shown || d.isPublicNode(&p)
		list = append(list, p)
	}
	h := 0
	headings := func(before int) {
		for ; h < len(d.Headings) && d.Headings[h].Line < before; h++ {
			head := &d.Headings[h]
			p := outlineNode{from: head.Line, to: head.EndLine, entry: -1, heading: h, level: head.Level,
				path: []string{head.Text}}
			for up := head.Parent; up >= 0; up = d.Headings[up].Parent {
				p.path = append(p.path, d.Headings[up].Text)
			}
			slices.Reverse(p.path)
			add(p)
		}
	}
	for i := range d.Entries {
		e := &d.Entries[i]
		headings(e.Line)
		p := outlineNode{from: e.Line, to: e.EndLine, entry: i, heading: -1}
		if e.Block == EmptyHeading {
			p.level, p.path = e.level, append(slices.Clone(e.Sections), e.heading)
		}
		add(p)
	}
	headings(d.lines.count() + 1)
	return list
}

// endOf returns the insertion point at the end of a section, or that of a
// missing section. If shown is set, the text is for every reader of the file: its section has
// a public heading, and only public entries are above it there.
func (d *Document) endOf(path []string, shown bool) (insertionPoint, error) {
	if err := checkPath(path); err != nil {
		return insertionPoint{}, err
	}
	last := d.lastLine(d.lines.count())
	if len(path) == 0 {
		return insertionPoint{line: last, beside: d.entryUpTo(last)}, nil
	}
	shown = shown && d.Partition.Visibility != PublicOK
	list := d.outline(shown)
	if i := findUsableHeading(list, path); i >= 0 {
		return d.endOfSection(list, i, path, shown), nil
	}
	line, level, missing := last, topLevel(list), path
	for n := len(path) - 1; n > 0 && !shown; n-- {
		if i := findUsableHeading(list, path[:n]); i >= 0 {
			line, level, missing = d.lastOf(list, i), list[i].level+1, path[n:]
			break
		}
	}
	if shown && d.underPrivateTitle() {
		level = 1
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
	if slices.ContainsFunc(path, func(s string) bool { return s == "" || s != OneLine(s) }) {
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
// below a heading, or of the public text there.
func (d *Document) endOfSection(list []outlineNode, at int, path []string, shown bool) insertionPoint {
	s := insertionPoint{line: list[at].to, beside: -1, heading: true, path: path}
	to, last := d.lines.count(), true
	for i := len(list) - 1; i > at; i-- {
		if list[i].level > 0 {
			to, last = list[i].from-1, last && !list[i].usable
		}
	}
	var below []outlineNode
	for _, p := range list[at+1:] {
		if p.from > to {
			break
		}
		if p.usable {
			below = append(below, p)
			s.line, s.beside, s.heading = p.to, p.entry, false
		}
	}
	if foot := d.footLine(below, list[at].to, to); last && foot > 0 && !shown {
		line := d.lastLine(foot - 1)
		return insertionPoint{line: line, beside: d.entryUpTo(line), path: path, heading: line == list[at].to}
	}
	if last := d.lastLine(to); s.beside < 0 && last > s.line && !shown {
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

// findUsableHeading returns the first usable heading with the given path, ignoring
// case and decoration; else the first whose path ends with it; else -1.
func findUsableHeading(list []outlineNode, path []string) int {
	end := -1
	for i, p := range list {
		if p.level == 0 || len(p.path) < len(path) || !p.usable ||
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
		case !p.usable:
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

// isPublicNode reports whether every reader of a document's public text sees a
// heading or an entry.
func (d *Document) isPublicNode(p *outlineNode) bool {
	if p.entry >= 0 {
		return d.Entries[p.entry].Partition.Visibility == PublicOK
	}
	return d.publicBelow[p.heading] && !d.privateLines.overlaps(p.from, p.to)
}

// isDayTitle reports whether a heading is the title of a day's file. Such a title
// contains no more than the file's path.
func (d *Document) isDayTitle(p *outlineNode) bool {
	day, title := d.Place.Day, p.path[len(p.path)-1]
	return day != "" && p.level == 1 && (title == day || title == day+shortTermTitle)
}

// shortTermTitle follows the day in the title of a session's file.
const shortTermTitle = " Short-Term Memory"
