package compactor

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

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
