package compactor

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// An insertionPoint is the place of new entries in a file.
type insertionPoint struct {
	at           int      // offset in the source, at the start of a line or the end of the file
	belowHeading bool     // directly below the heading of the section
	headings     []string // to create, outermost first
	level        int      // of the first of them
}

// insert returns a file with entries and the missing headings of their section
// inserted.
func (p *insertionPoint) insert(doc *memory.Document, list []insertion, gap spacing) []byte {
	before, after := doc.Source[:p.at], doc.Source[p.at:]
	apart := p.belowHeading || p.at == doc.Front.Span.End // no content is directly above
	spaced := gap.blank || apart || len(p.headings) > 0
	var text []byte
	if p.belowHeading {
		text = append(text, '\n')
	}
	for i, name := range p.headings {
		if i > 0 || p.at > len("\ufeff") {
			text = append(text, '\n')
		}
		text = append(text, strings.Repeat("#", p.level+i)+" "+name+"\n"...)
	}
	if len(p.headings) > 0 {
		text, apart = append(text, '\n'), true
	}
	for _, e := range list {
		switch {
		case apart:
		case gap.comment && e.lines[0] == ' ':
			text = append(text, "\n<!-- -->\n\n"...)
		case gap.blank:
			text = append(text, '\n')
		}
		text, apart = append(text, e.lines...), false
	}
	if spaced && len(after) > 0 && !bytes.ContainsAny(after[:1], "\r\n") {
		text = append(text, '\n')
	}
	end := doc.LineEnding()
	text = bytes.ReplaceAll(text, []byte("\n"), end)
	if p.at > len("\ufeff") && !bytes.ContainsAny(before[len(before)-1:], "\r\n") {
		text = slices.Concat(end, bytes.TrimSuffix(text, end)) // keep a missing final line ending
	}
	return slices.Concat(before, text, after)
}

// findInsertionPoint returns the insertion point after the last item of a section. Without
// an item, it is the end of the section's own content, or else the end of the
// innermost existing parent section. If top is set, it is the start of the
// section instead.
func findInsertionPoint(doc *memory.Document, section []string, top bool) (*insertionPoint, error) {
	if at, ok := endOf(doc, section); ok && !top {
		return &insertionPoint{at: at}, nil
	}
	if len(section) == 0 {
		at := doc.Front.Span.End
		if at == 0 && bytes.HasPrefix(doc.Source, []byte("\ufeff")) {
			at = len("\ufeff")
		}
		return &insertionPoint{at: at}, nil
	}
	errImpossible := errors.New("the section cannot be created")
	if slices.ContainsFunc(section, func(name string) bool { return name == "" || strings.ContainsAny(name, "\r\n") }) {
		return nil, errImpossible
	}
	p := &insertionPoint{at: len(doc.Source), headings: section, level: topLevel(doc)}
	for n := len(section); n > 0; n-- {
		h := headingOf(doc, section[:n])
		if h >= 0 && n == len(section) {
			return &insertionPoint{at: doc.LineStart(doc.Headings[h].EndLine + 1), belowHeading: true}, nil
		}
		if h >= 0 {
			p = &insertionPoint{at: sectionEnd(doc, h), headings: section[n:], level: doc.Headings[h].Level + 1}
			break
		}
		if at, ok := endOf(doc, section[:n]); ok { // the section is empty
			p = &insertionPoint{at: at, headings: section[n:], level: levelOf(doc, at) + 1}
			break
		}
	}
	if p.level+len(p.headings)-1 > 6 {
		return nil, errImpossible
	}
	return p, nil
}

// levelOf returns the level of an empty heading that ends at an offset.
func levelOf(doc *memory.Document, at int) int {
	for i := range doc.Entries {
		if e := &doc.Entries[i]; e.Span.End == at && e.Block == memory.EmptyHeading {
			if n := len(e.Text) - len(strings.TrimLeft(e.Text, "#")); n > 0 {
				return n
			}
			if strings.HasSuffix(strings.TrimRight(e.Text, " \t"), "-") { // underlined
				return 2
			}
		}
	}
	return 1
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
