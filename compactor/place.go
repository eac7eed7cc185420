package compactor

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// A placing is an entry that is put at the end of a section. Its lines end with
// line feeds, and are written as they are, but for the endings.
type placing struct {
	section []string
	lines   []byte
}

// place puts entries into a file, each at the end of its section, and checks
// that they are then what they are meant to be, and that everything else says
// what it said. A section that is missing is made, at the end of what is there
// of the sections around it.
//
// Unlike [memory.Revision], which makes a text fit the list that it is put into,
// it does not touch a byte of the lines: what comes back from an archive is what
// went there.
func place(doc *memory.Document, list []placing, parse func([]byte) *memory.Document) ([]byte, error) {
	if doc.Unsound {
		return nil, errors.New("something in the file cannot be read for sure: see check")
	}
	// Lists may run into each other: then blank lines keep them apart, or, for
	// an item that is indented, a comment. Below what has no end, as a block of
	// code may, there is no place: then it is above everything.
	for _, top := range []bool{false, true} {
		for _, gap := range []spacing{{}, {comment: true}, {blank: true}, {blank: true, comment: true}} {
			gap.top = top
			source, err := placeAll(doc, list, gap)
			if err != nil {
				return nil, err
			}
			if placed(doc, parse(source), list) {
				return source, nil
			}
		}
	}
	return nil, errors.New("it would not be the same there")
}

// spacing is how entries are kept apart from each other and from the rest.
type spacing struct{ blank, comment, top bool }

// placeAll writes the entries, and the sections that are missing, into the file.
func placeAll(doc *memory.Document, list []placing, gap spacing) ([]byte, error) {
	var spots []*spot
	for _, p := range list {
		s, err := spotFor(doc, p.section, gap.top)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(spots, func(o *spot) bool { return o.at == s.at && slices.Equal(o.section, s.section) })
		if i < 0 {
			i, spots = len(spots), append(spots, s)
		}
		spots[i].add(p.section[len(s.section):], p.lines)
	}
	// Where one section ends within another, the inner one comes first.
	slices.SortStableFunc(spots, func(a, b *spot) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(len(b.section), len(a.section)))
	})
	var edits []memory.Edit
	end := ending(doc.Source)
	for n, s := range spots {
		var text []byte
		if s.under {
			text = append(text, '\n')
		}
		text = s.write(text, s.level, s.under || s.at == doc.Front.Span.End, n == 0 && s.at <= len("\ufeff"), gap)
		if rest := doc.Source[s.at:]; len(bytes.TrimLeft(rest, "\r\n")) == len(rest) && len(rest) > 0 && (gap.blank || s.under || s.at == doc.Front.Span.End || len(s.inner) > 0) {
			text = append(text, '\n')
		}
		text = bytes.ReplaceAll(text, []byte("\n"), end)
		if before := doc.Source[:s.at]; s.at > len("\ufeff") && !bytes.ContainsAny(before[len(before)-1:], "\r\n") {
			text = append(bytes.Clone(end), text...)
			if n == len(spots)-1 {
				text = bytes.TrimSuffix(text, end) // a missing last ending stays missing
			}
		}
		edits = append(edits, memory.Edit{Span: memory.Span{Start: s.at, End: s.at}, New: text})
	}
	return memory.Splice(doc.Source, edits)
}

// A spot is where entries of a section, and sections in it, are put.
type spot struct {
	at      int // offset in the source, at the start of a line or the end of the file
	section []string
	under   bool // directly below the heading
	level   int  // of the headings of sections that are made
	subsection
}

// A subsection is what a section is given.
type subsection struct {
	name  string
	lines [][]byte
	inner []*subsection
}

func (s *subsection) add(path []string, lines []byte) {
	if len(path) == 0 {
		s.lines = append(s.lines, lines)
		return
	}
	i := slices.IndexFunc(s.inner, func(o *subsection) bool { return o.name == path[0] })
	if i < 0 {
		i, s.inner = len(s.inner), append(s.inner, &subsection{name: path[0]})
	}
	s.inner[i].add(path[1:], lines)
}

// write appends the text. Apart says that nothing stands directly above, top
// that nothing does at all.
func (s *subsection) write(text []byte, level int, apart, top bool, gap spacing) []byte {
	for _, lines := range s.lines {
		switch {
		case apart:
		case gap.comment && lines[0] == ' ':
			text = append(text, "\n<!-- -->\n\n"...)
		case gap.blank:
			text = append(text, '\n')
		}
		text = append(text, lines...)
		apart, top = false, false
	}
	for _, o := range s.inner {
		if !top {
			text = append(text, '\n')
		}
		text = append(text, strings.Repeat("#", level)+" "+o.name+"\n"...)
		if len(o.lines) > 0 {
			text = append(text, '\n')
		}
		text, top = o.write(text, level+1, true, false, gap), false
	}
	return text
}

// ending is how the lines of a file end.
func ending(source []byte) []byte {
	switch i := bytes.IndexAny(source, "\r\n"); {
	case i < 0 || source[i] == '\n':
		return []byte("\n")
	case i+1 < len(source) && source[i+1] == '\n':
		return []byte("\r\n")
	}
	return []byte("\r")
}

// spotFor finds the place behind the last item of a section, else the end of
// what stands directly in it, else that of the innermost of the sections around
// it that is there. Top is the place above everything in it instead.
func spotFor(doc *memory.Document, section []string, top bool) (*spot, error) {
	if at, ok := endOf(doc, section); ok && !top {
		return &spot{at: at, section: section}, nil
	}
	if len(section) == 0 {
		at := doc.Front.Span.End
		if at == 0 && bytes.HasPrefix(doc.Source, []byte("\ufeff")) {
			at = len("\ufeff")
		}
		return &spot{at: at}, nil
	}
	if slices.ContainsFunc(section, func(name string) bool { return name == "" || strings.ContainsAny(name, "\r\n") }) {
		return nil, errors.New("its section cannot be made")
	}
	for n := len(section); n > 0; n-- {
		h := headingOf(doc, section[:n])
		switch {
		case h < 0:
			if at, ok := endOf(doc, section[:n]); ok { // it is empty
				return inner(at, section[:n], len(section)-n, levelOf(doc, at))
			}
		case n == len(section):
			return &spot{at: lineEnd(doc.Source, doc.Headings[h].EndLine), section: section, under: true}, nil
		default:
			return inner(behind(doc, h), section[:n], len(section)-n, doc.Headings[h].Level)
		}
	}
	return inner(len(doc.Source), nil, len(section), topLevel(doc)-1)
}

// inner is a spot for sections that are made in one of a level.
func inner(at int, section []string, deeper, level int) (*spot, error) {
	if level+deeper > 6 {
		return nil, errors.New("its section cannot be made")
	}
	return &spot{at: at, section: section, level: level + 1}, nil
}

// levelOf is the level of an empty heading that ends at an offset.
func levelOf(doc *memory.Document, at int) int {
	for i := range doc.Entries {
		if e := &doc.Entries[i]; e.Span.End == at && e.Block == memory.EmptyHeading {
			if n := len(e.Text) - len(strings.TrimLeft(e.Text, "#")); n > 0 {
				return n
			}
		}
	}
	return 1
}

// lineEnd is the offset behind a line.
func lineEnd(source []byte, line int) int {
	at := 0
	for ; line > 0 && at < len(source); line-- {
		i := bytes.IndexAny(source[at:], "\r\n")
		switch {
		case i < 0:
			return len(source)
		case source[at+i] == '\r' && at+i+1 < len(source) && source[at+i+1] == '\n':
			i++
		}
		at += i + 1
	}
	return at
}

// endOf is the offset behind the last item that stands directly in a section, or
// behind whatever does, or behind its heading; false if there is none. Of several
// sections of one name it is the first.
func endOf(doc *memory.Document, section []string) (int, bool) {
	at, item := -1, -1
	for i := range doc.Entries {
		e := &doc.Entries[i]
		switch {
		case e.Block != memory.EmptyHeading && slices.Equal(e.Sections, section):
			if at = e.Span.End; e.Block == memory.Item {
				item = at
			}
			continue
		case at >= 0:
		case e.Block == memory.EmptyHeading && slices.Equal(append(slices.Clone(e.Sections), headingText(e)), section):
			return e.Span.End, true
		default:
			continue
		}
		break
	}
	if item >= 0 {
		at = item
	}
	return at, at >= 0
}

// headingText is the text of a heading that has nothing below it.
func headingText(e *memory.Entry) string {
	first, _, _ := strings.Cut(e.Text, "\n")
	return strings.TrimSpace(strings.Trim(strings.TrimSpace(first), "#"))
}

// headingOf is the heading of a section; -1 if there is none.
func headingOf(doc *memory.Document, section []string) int {
	return slices.IndexFunc(doc.Headings, func(h memory.Heading) bool {
		for n := len(section) - 1; n >= 0; n-- {
			if h.Text != section[n] {
				return false
			}
			if h.Parent < 0 {
				return n == 0
			}
			h = doc.Headings[h.Parent]
		}
		return false
	})
}

// behind is the offset at which a section ends, with the sections in it.
func behind(doc *memory.Document, heading int) int {
	at := 0
	for i := range doc.Entries {
		for h := doc.Entries[i].Heading; h >= 0; h = doc.Headings[h].Parent {
			if h == heading {
				at = max(at, doc.Entries[i].Span.End)
			}
		}
	}
	return at
}

// topLevel is the level of headings that are in no other section.
func topLevel(doc *memory.Document) int {
	level := 0
	for _, h := range doc.Headings {
		if h.Parent < 0 && (level == 0 || h.Level < level) {
			level = h.Level
		}
	}
	return max(level, 1)
}

// placed reports whether a file is another with entries put into it, and nothing
// else.
func placed(old, now *memory.Document, list []placing) bool {
	if now.Unsound || now.Own != old.Own || len(now.Problems) > len(old.Problems)+len(list) {
		return false
	}
	missing := map[string]int{}
	for _, p := range list {
		missing[strings.Join(p.section, "\x1f")+"\x00"+string(p.lines)]++
	}
	left := len(list)
	i := 0
	skip := func() {
		for i < len(old.Entries) && old.Entries[i].Block == memory.EmptyHeading {
			i++
		}
	}
	for j := range now.Entries {
		e := &now.Entries[j]
		if e.Block == memory.EmptyHeading {
			continue
		}
		said := within(e) + "\x00" + string(linesOf(now, e))
		skip()
		if i < len(old.Entries) {
			o := &old.Entries[i]
			if o.Block == e.Block && o.Partition == e.Partition && o.Type == e.Type && within(o)+"\x00"+string(linesOf(old, o)) == said {
				i++
				continue
			}
		}
		if missing[said] == 0 || e.Block != memory.Item {
			return false
		}
		missing[said]--
		left--
	}
	skip()
	return i == len(old.Entries) && left == 0
}
