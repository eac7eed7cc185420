package memory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/letters"
)

var remarksRE = lazyregexp.New(`^(?:<!--.*?-->\s*)*$`)

// MatchingParts returns the ranges of lines, from 1 to the last line inclusive, to which the
// matches in an entry can be limited, because these lines do not depend on the others: rows
// of a table, and nested items. It returns none if only the whole entry will do.
func (d *Document) MatchingParts(e *Entry, match func(text string) bool) (list [][2]int) {
	parts := d.parts(e)
	texts := make([]strings.Builder, 1+len(parts.list)) // the first is that of the entry itself
	for line := e.Line; line <= e.EndLine; line++ {
		texts[1+parts.at[line-e.Line]].WriteString(d.SourceLines(line, line) + "\n")
	}
	texts[0].Write(d.Source[e.Comment.Start:e.Comment.End]) // belongs to the entry, wherever it is
	if len(parts.list) == 0 || match(texts[0].String()) {
		return nil
	}
	for i, p := range parts.list {
		if n := len(list); match(texts[1+i].String()) && (n == 0 || p.from > list[n-1][1]) {
			list = append(list, [2]int{p.from, p.to})
		}
	}
	return list
}

// entryParts are the parts of an entry that do not depend on each other.
type entryParts struct {
	list []lineRange // with the parts below them, in the order of their first lines
	at   []int       // by line of the entry: the innermost part, or -1
}

// parts returns the parts of an entry.
func (d *Document) parts(e *Entry) entryParts {
	p := entryParts{at: slices.Repeat([]int{-1}, e.EndLine-e.Line+1)}
	var open, indents []int // the parts around the line, and their indents
	for line := e.Line; line <= e.EndLine; line++ {
		text := d.line(line)
		bare := strings.TrimLeft(text, " \t")
		indent := len(text) - len(bare)
		if remarksRE().MatchString(strings.TrimRight(bare, " \t")) {
			continue
		}
		if strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~") {
			return entryParts{at: slices.Repeat([]int{-1}, len(p.at))}
		}
		for n := len(open); n > 0 && indents[n-1] >= indent; n-- {
			open, indents = open[:n-1], indents[:n-1]
		}
		if e.Block == tableBlock && line > e.Line+1 || e.Block == Item && line > e.Line && listMarkerLen(bare) > 0 {
			open, indents = append(open, len(p.list)), append(indents, indent)
			p.list = append(p.list, lineRange{line, line})
		}
		for i, part := range open {
			p.list[part].to = line
			p.at[line-e.Line] = open[i]
		}
	}
	return p
}

// RemoveLines removes ranges of lines of an entry, such as those of [Document.MatchingParts],
// and the entry if no text remains. The attributes of the entry stay.
func (r *Revision) RemoveLines(entry int, ranges [][2]int) {
	if len(ranges) == 0 {
		return
	}
	c := r.changeFor(entry)
	d, e := r.doc, &r.doc.Entries[entry]
	gone := make([]bool, e.EndLine-e.Line+1)
	for _, p := range ranges {
		for line := p[0]; line <= p[1]; line++ {
			gone[line-e.Line] = true
		}
	}
	// A blank line between two others goes with the lines above it.
	for i := 1; i < len(gone)-1; i++ {
		gone[i] = gone[i] || gone[i-1] && d.blankLine(e.Line+i)
	}
	for i := len(gone) - 2; i > 0 && gone[len(gone)-1] && (gone[i] || d.blankLine(e.Line+i)); i-- {
		gone[i] = true
	}
	for i := range gone {
		text := strings.TrimSpace(d.line(e.Line + i))
		if !gone[i] && !remarksRE().MatchString(text) {
			c.lastLine = e.Line + i
		}
	}
	c.remove, c.cut = c.lastLine == 0, gone
}

// cutFromEntry adds the edits that remove lines from an entry.
func (w *passAttempt) cutFromEntry(i int, c *entryChange) error {
	d, e := w.d, &w.d.Entries[i]
	if len(c.tasks)+len(c.attributes) > 0 {
		return fmt.Errorf("line %d: an entry that loses lines cannot have other changes", e.Line)
	}
	var edits []textEdit
	for k, gone := range c.cut {
		if gone {
			s := d.lines.span(e.Line+k, e.Line+k)
			edits = append(edits, textEdit{Span{max(s.Start, bomLen(d.Source)), s.End}, nil})
		}
	}
	left, err := splice(d.Source[:e.Span.End], edits)
	if err == nil {
		w.replacements[i], err = verbatim(string(left[max(e.Span.Start, bomLen(d.Source)):])).fit(w.parse)
	}
	w.editList = append(w.editList, edits...)
	return err
}

// commentRE matches a comment at any position; the empty comment has two shorter
// forms.
var commentRE = lazyregexp.New(`(?s)<!-->|<!--->|<!--.*?-->`)

// innerComments returns the comments inside an entry that are not its attributes,
// as lines for the end of the list item that replaces it. This keeps notes of a user
// that are never displayed. A comment in code is text.
func (d *Document) innerComments(e *Entry) string {
	src := d.Source[e.Span.Start:e.Span.End]
	var lines strings.Builder
	for _, at := range commentRE().FindAllIndex(src, -1) {
		text := string(src[at[0]:at[1]])
		text = text[strings.LastIndex(text, "<!"):] // the rest is text
		if from := e.Span.Start + at[0]; (from < e.Comment.Start || from >= e.Comment.End) &&
			len(text) > len("<!--->") && !strings.Contains(e.Text, unixLines(text)) {
			lines.WriteString("\n  " + letters.OneLine(text))
		}
	}
	return lines.String()
}
