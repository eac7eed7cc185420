package memory

import (
	"errors"
	"fmt"
	"slices"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A placement is a Document searched for insertion points: where an item of a
// section goes, and what separates it from its neighbors.
type placement struct{ *Document }

func (d *Document) placement() placement { return placement{d} }

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
func (d placement) outline(shown bool) []outlineNode {
	list := make([]outlineNode, 0, len(d.Entries)+len(d.Headings))
	add := func(p outlineNode) {
		p.usable = !shown || d.isPublicNode(&p)
		list = append(list, p)
	}
	h := 0
	headings := func(before int) {
		for ; h < len(d.Headings) && d.Headings[h].Line < before; h++ {
			head := &d.Headings[h]
			p := outlineNode{from: head.Line, to: head.EndLine, entry: -1, heading: h, level: head.Level, path: []string{head.Text}}
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
func (d placement) endOf(path []string, shown bool) (insertionPoint, error) {
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
	if slices.ContainsFunc(path, func(s string) bool { return s == "" || s != oneLine(s) }) {
		return fmt.Errorf("%q cannot be the path of a section", path)
	}
	return nil
}

// lastOf returns the last line of a section, including its subsections.
func (d placement) lastOf(list []outlineNode, at int) int {
	for _, p := range list[at+1:] {
		if p.level > 0 && p.level <= list[at].level {
			return d.lastLine(p.from - 1)
		}
	}
	return d.lastLine(d.lines.count())
}

// endOfSection returns the insertion point at the end of the text directly
// below a heading, or of the public text there.
func (d placement) endOfSection(list []outlineNode, at int, path []string, shown bool) insertionPoint {
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
func (d placement) footLine(below []outlineNode, from, to int) int {
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
func (d placement) lastLine(line int) int {
	for line >= d.bodyLine() && d.blankLine(line) {
		line--
	}
	return line
}

// entryUpTo returns the entry that ends on a line, or -1.
func (d placement) entryUpTo(line int) int {
	return slices.IndexFunc(d.Entries, func(e Entry) bool { return e.EndLine == line })
}
