package memory

import (
	"bytes"
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
func isBlankText(b []byte) bool {
	for _, c := range b {
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// LineStart returns the offset of a line, from 1, or the end of the file.
func (d *Document) LineStart(line int) int { return d.lines.start(line) }

// LineEnding returns the line ending of the first line, or a line feed.
func (d *Document) LineEnding() []byte { return d.lineEnding(1) }

// displayText returns a text of the source in its display form: LF line endings,
// and replacement characters for invalid UTF-8 and NUL.
func displayText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}
