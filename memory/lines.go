package memory

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// lines is an index of the lines of a text. A line ends with LF, CR LF or a
// lone CR, as in CommonMark; the text is split in a copy with LF endings.
type lines struct {
	starts []int // of every line; the last line ends at size
	size   int
}

// splitLines indexes a text with LF line endings.
func splitLines(text []byte) lines {
	l := lines{size: len(text), starts: make([]int, 0, 1+bytes.Count(text, []byte("\n")))}
	for at := 0; at < len(text); at += lineLen(text[at:]) {
		l.starts = append(l.starts, at)
	}
	return l
}

// lineLen returns the length of the first line of b with its ending.
func lineLen(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i + 1
	}
	return len(b)
}

func (l lines) count() int { return len(l.starts) }

// start returns the offset of a 1-based line. The line after the last one
// starts at the end of the text.
func (l lines) start(line int) int {
	if line > len(l.starts) {
		return l.size
	}
	return l.starts[line-1]
}

// span returns the bytes of lines from to to, inclusive.
func (l lines) span(from, to int) Span { return Span{l.start(from), l.start(to + 1)} }

// at returns the 1-based number of the line that contains an offset.
func (l lines) at(offset int) int {
	return max(1, sort.Search(len(l.starts), func(i int) bool { return l.starts[i] > offset }))
}

// ending returns the line ending of a line of the source. If the line has none, it
// returns that of the nearest line above, or a line feed.
func (l lines) ending(source []byte, line int) []byte {
	for line = min(line, l.count()); line > 0; line-- {
		s := l.span(line, line)
		b := source[s.Start:s.End]
		if end := b[len(trimEnding(b)):]; len(end) > 0 {
			return end
		}
	}
	return []byte("\n")
}

// trimEnding removes the line ending from a line.
func trimEnding(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte("\n"))
	return bytes.TrimSuffix(b, []byte("\r"))
}

// commonEnding returns the line ending of all lines of a text, or "" if they differ
// or the text has none.
func commonEnding(text []byte) string {
	lf, cr, both := bytes.Count(text, []byte("\n")), bytes.Count(text, []byte("\r")), bytes.Count(text, []byte("\r\n"))
	switch {
	case lf > 0 && cr == 0:
		return "\n"
	case cr > 0 && lf == 0:
		return "\r"
	case both > 0 && lf == both && cr == both:
		return "\r\n"
	}
	return ""
}

// isBlankText reports whether b contains only white space.
func isBlankText(b []byte) bool { return len(bytes.TrimLeft(b, " \n\t\r")) == 0 }

// displayText returns a text of the source in its display form: LF line endings,
// and replacement characters for invalid UTF-8 and NUL.
func displayText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(unixLines(s), "\x00", "\uFFFD")
}

// unixText returns a copy of the source, of the same length, in which every
// line ends with LF. If the source has no CR, the result shares its memory. NUL
// characters stay, because they do not affect the structure.
func unixText(src []byte) []byte {
	if bytes.IndexByte(src, '\r') < 0 {
		return src[:len(src):len(src)]
	}
	out := bytes.ReplaceAll(src, []byte("\r\n"), []byte(" \n"))
	return bytes.ReplaceAll(out, []byte("\r"), []byte("\n"))
}

// spansFrom returns the spans that end behind an offset, of sorted spans without common
// bytes.
func spansFrom(spans []Span, at int) []Span {
	for len(spans) > 0 && spans[0].End <= at {
		spans = spans[1:]
	}
	return spans
}

// removeSpans appends to out a line that begins at start in the source, without the
// spans in cuts, which are sorted.
func removeSpans(out, line []byte, start int, cuts []Span) []byte {
	at := 0
	for _, c := range cuts {
		if c.Start >= start+len(line) {
			break
		}
		from, to := max(c.Start-start, at), min(c.End-start, len(line))
		if from >= to {
			continue
		}
		out, at = append(out, line[at:from]...), to
		if from > 0 && line[from-1] == ' ' && to < len(line) && line[to] == ' ' {
			at++
		}
	}
	return append(out, line[at:]...)
}

// Span is a range of bytes in a document's source, end exclusive.
type Span struct{ Start, End int }

// An Edit replaces the bytes of a span of a text. An empty span inserts.
type Edit struct {
	Span Span
	New  []byte
}

// splice returns a copy of source with edits applied. The edits may be in any
// order. Edits at the same position are applied in the given order, insertions
// first. If edits overlap or lie outside the source, splice returns an error.
func splice(source []byte, edits []Edit) ([]byte, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start),
			cmp.Compare(min(a.Span.End, a.Span.Start+1), min(b.Span.End, b.Span.Start+1)))
	})
	out, at := make([]byte, 0, len(source)), 0
	for _, e := range edits {
		if e.Span.Start < at || e.Span.End < e.Span.Start || e.Span.End > len(source) {
			return nil, fmt.Errorf("two changes overlap at byte %d", e.Span.Start)
		}
		out = append(append(out, source[at:e.Span.Start]...), e.New...)
		at = e.Span.End
	}
	return append(out, source[at:]...), nil
}

var bom = []byte("\xEF\xBB\xBF")

// bomLen returns the length of the byte order mark at the start of b, or 0.
func bomLen(b []byte) int { return len(b) - len(bytes.TrimPrefix(b, bom)) }

// trimBlank returns lines without leading and trailing blank lines.
func trimBlank(lines []string) []string {
	empty := func(s string) bool { return strings.Trim(s, " \t") == "" }
	for len(lines) > 0 && empty(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && empty(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// dedent removes the common leading white space of lines.
func dedent(lines []string) []string {
	indent := -1
	for _, l := range lines {
		if n := len(l) - len(strings.TrimLeft(l, " \t")); n < len(l) && (indent < 0 || n < indent) {
			indent = n
		}
	}
	if indent <= 0 {
		return lines
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l[min(indent, len(l)):]
	}
	return out
}

func runLen[T string | []byte](b T, c byte) int {
	n := 0
	for n < len(b) && b[n] == c {
		n++
	}
	return n
}

// unixLines returns a text with LF line endings.
var unixLines = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace
