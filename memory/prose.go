package memory

import (
	"bytes"
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A ProseLine is a line of a file's body for a human reader.
type ProseLine struct {
	Text      string
	Entry     int  // index in Document.Entries; -1 for a heading, a comment, a rule or a blank line
	Untrusted bool // its source is not the subject
}

// Prose returns the lines of the body that a view may read, without text for
// programs: frontmatter, attributes of entries, generated text, and blocks
// injected into a prompt. Other comments stay. A heading with only untrusted
// entries below it is untrusted too, because it was written with them. The
// result neither begins nor ends with a blank line, and omitted text does not
// leave two blank lines in a row.
func (d *Document) Prose(v View) []ProseLine {
	shown := d.Shown(v)
	entry, untrusted := d.proseEntries(shown, v)
	comments := make([]Span, 0, len(d.Entries))
	for i := range d.Entries {
		if c := d.Entries[i].Comment; c.End > c.Start {
			comments = append(comments, c)
		}
	}
	hidden := privateRanges{regions: d.hidden}
	out := make([]ProseLine, 0, len(shown.Lines))
	dropped := true // also suppresses blank lines at the top
	for i, text := range shown.Lines {
		line := shown.Source(i + 1)
		if line < d.bodyLine() || hidden.overlaps(line, line) {
			dropped = true
			continue
		}
		span := d.lines.span(line, line)
		comments = spansFrom(comments, span.Start)
		if len(comments) > 0 && comments[0].Start < span.End {
			text = d.lineWithout(line, comments)
			if strings.Trim(text, " \t>") == "" {
				dropped = true
				continue
			}
			text = strings.TrimRight(text, " \t")
		}
		if blank := strings.TrimLeft(text, " \t") == ""; blank && dropped &&
			(len(out) == 0 || out[len(out)-1].Text == "") {
			continue
		} else if blank {
			text = ""
		} else {
			dropped = false
		}
		out = append(out, ProseLine{text, entry[line], untrusted[line]})
	}
	for n := len(out); n > 0 && out[n-1].Text == ""; n-- {
		out = out[:n-1]
	}
	return out
}

// UntrustedLines returns the ranges of visible lines that others than the subject
// wrote: the lines of their entries, headings with only such entries, and
// the frontmatter with their summary.
func (d *Document) UntrustedLines(shown Shown, v View) (ranges [][2]int) {
	_, untrusted := d.proseEntries(shown, v)
	front := d.Front.Author().Untrusted(v)
	for i := range shown.Lines {
		line := shown.Source(i + 1)
		if line < d.bodyLine() {
			untrusted[line] = front && strings.Trim(shown.Lines[i], "-. ") != ""
		}
		if !untrusted[line] {
			continue
		}
		if n := len(ranges); n > 0 && ranges[n-1][1] == i {
			ranges[n-1][1] = i + 1
			continue
		}
		ranges = append(ranges, [2]int{i + 1, i + 1})
	}
	return ranges
}

// OwnView returns a view that reads all of the document.
func (d *Document) OwnView() View {
	v := View{owners: map[string]string{}, private: true}
	add := func(p Partition) { v.owners[p.Owner] = p.Owner }
	add(d.Own)
	add(d.privatePartition)
	for i := range d.Entries {
		add(d.Entries[i].Partition)
	}
	return v
}

// proseEntries returns, by line, the index of its entry or -1, and whether the
// line is untrusted.
func (d *Document) proseEntries(shown Shown, v View) (entry []int, untrusted []bool) {
	n := d.lines.count() + 2
	entry, untrusted = make([]int, n), make([]bool, n)
	for i := range entry {
		entry[i] = -1
	}
	trusted, below := make([]bool, len(d.Headings)), make([]bool, len(d.Headings))
	for i := range d.Entries {
		e := &d.Entries[i]
		if shown.Line(e.Line) == 0 {
			continue
		}
		outside := e.Author().Untrusted(v)
		for line := e.Line; line <= e.EndLine; line++ {
			entry[line], untrusted[line] = i, outside
		}
		for h := e.Heading; h >= 0; h = d.Headings[h].Parent {
			below[h], trusted[h] = true, trusted[h] || !outside
		}
	}
	for i, h := range d.Headings {
		for line := h.Line; line <= h.EndLine; line++ {
			untrusted[line] = below[i] && !trusted[i]
		}
	}
	return entry, untrusted
}

// commentRE matches a comment at any position; the empty comment has two shorter
// forms.
var commentRE = lazyregexp.New(`(?s)<!-->|<!--->|<!--.*?-->`)

// InnerComments returns the comments inside a list item that are not its attributes,
// as lines for the end of the text that replaces it. This keeps notes of a user
// that are never displayed. In an item with code it finds no comments, because
// they may be part of the code.
func (d *Document) InnerComments(e *Entry) string {
	src := d.Source[e.Span.Start:e.Span.End]
	if bytes.Contains(src, []byte("`")) || bytes.Contains(src, []byte("~~~")) {
		return ""
	}
	var lines strings.Builder
	for _, at := range commentRE().FindAllIndex(src, -1) {
		text := oneLine(string(src[at[0]:at[1]]))
		if from := e.Span.Start + at[0]; (from < e.Comment.Start || from >= e.Comment.End) &&
			len(text) > len("<!--->") {
			lines.WriteString("\n  " + text)
		}
	}
	return lines.String()
}
