package compactor

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// An insertionPoint is an insertion point for the entries and subsections of a section.
type insertionPoint struct {
	at           int // offset in the source, at the start of a line or the end of the file
	section      []string
	belowHeading bool // directly below the heading
	level        int  // of the headings to create
	subsection
}

// A subsection holds the lines and subsections to insert into a section.
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

// appendText appends the inserted text. The flag apart means that no content is
// directly above, and top that nothing at all precedes the text.
func (s *subsection) appendText(text []byte, level int, apart, top bool, gap spacing) []byte {
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
		text, top = o.appendText(text, level+1, true, false, gap), false
	}
	return text
}

// findInsertionPoint returns the insertion point after the last item of a section. Without
// an item, it is the end of the section's own content, or else the end of the
// innermost existing parent section. If top is set, it is the start of the
// section instead.
func findInsertionPoint(doc *memory.Document, section []string, top bool) (*insertionPoint, error) {
	if at, ok := endOf(doc, section); ok && !top {
		return &insertionPoint{at: at, section: section}, nil
	}
	if len(section) == 0 {
		at := doc.Front.Span.End
		if at == 0 && bytes.HasPrefix(doc.Source, []byte("\ufeff")) {
			at = len("\ufeff")
		}
		return &insertionPoint{at: at}, nil
	}
	if slices.ContainsFunc(section, func(name string) bool { return name == "" || strings.ContainsAny(name, "\r\n") }) {
		return nil, errors.New("the section cannot be created")
	}
	for n := len(section); n > 0; n-- {
		h := headingOf(doc, section[:n])
		switch {
		case h < 0:
			if at, ok := endOf(doc, section[:n]); ok { // the section is empty
				return nestedPoint(at, section[:n], len(section)-n, levelOf(doc, at))
			}
		case n == len(section):
			return &insertionPoint{at: lineEnd(doc.Source, doc.Headings[h].EndLine), section: section, belowHeading: true}, nil
		default:
			return nestedPoint(sectionEnd(doc, h), section[:n], len(section)-n, doc.Headings[h].Level)
		}
	}
	return nestedPoint(len(doc.Source), nil, len(section), topLevel(doc)-1)
}

// nestedPoint returns an insertion point for new sections below a section of the given level.
func nestedPoint(at int, section []string, deeper, level int) (*insertionPoint, error) {
	if level+deeper > 6 {
		return nil, errors.New("the section cannot be created")
	}
	return &insertionPoint{at: at, section: section, level: level + 1}, nil
}

// levelOf returns the level of an empty heading that ends at an offset.
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

// lineEnd returns the offset after a line.
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

// endOf returns the offset after the last item directly in a section, or else
// after its last content, or else after its heading. It reports false if there
// is no such section. Of several sections with one name it uses the first.
func endOf(doc *memory.Document, section []string) (int, bool) {
	at, item := -1, -1
	for i := range doc.Entries {
		e := &doc.Entries[i]
		switch {
		case e.Block != memory.EmptyHeading && slices.Equal(e.Sections, section):
			at = e.Span.End
			if e.Block == memory.Item {
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

// headingText returns the text of an empty heading.
func headingText(e *memory.Entry) string {
	first, _, _ := strings.Cut(e.Text, "\n")
	return strings.TrimSpace(strings.Trim(strings.TrimSpace(first), "#"))
}

// headingOf returns the index of the heading of a section, or -1.
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

// sectionEnd returns the offset of the end of a section, including its subsections.
func sectionEnd(doc *memory.Document, heading int) int {
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

// topLevel returns the lowest level of headings outside any section.
func topLevel(doc *memory.Document) int {
	level := 0
	for _, h := range doc.Headings {
		if h.Parent < 0 && (level == 0 || h.Level < level) {
			level = h.Level
		}
	}
	return max(level, 1)
}
