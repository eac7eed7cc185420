package memory

import (
	"bytes"
	"sort"
	"strings"
)

// lines knows where the lines of a text begin. A line ends with LF, CR LF or a
// lone CR, as CommonMark says; it is split in a copy where all are LF.
type lines struct {
	starts []int // of every line; the last one's end is size
	size   int
}

// splitLines finds the lines of a text that ends them all with LF.
func splitLines(text []byte) lines {
	l := lines{size: len(text), starts: make([]int, 0, 1+bytes.Count(text, []byte("\n")))}
	for at := 0; at < len(text); at += lineLen(text[at:]) {
		l.starts = append(l.starts, at)
	}
	return l
}

// lineLen is the length of the first line of b with its ending.
func lineLen(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i + 1
	}
	return len(b)
}

// count is the number of lines.
func (l lines) count() int { return len(l.starts) }

// start is the offset of a 1-based line; the line after the last one starts at
// the end.
func (l lines) start(line int) int {
	if line > len(l.starts) {
		return l.size
	}
	return l.starts[line-1]
}

// span is the bytes of lines from to to, inclusive.
func (l lines) span(from, to int) Span { return Span{l.start(from), l.start(to + 1)} }

// at is the 1-based line that holds an offset.
func (l lines) at(offset int) int {
	return max(1, sort.Search(len(l.starts), func(i int) bool { return l.starts[i] > offset }))
}

// trimEnding cuts the line ending off a line.
func trimEnding(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte("\n"))
	return bytes.TrimSuffix(b, []byte("\r"))
}

// blank reports whether a line has nothing but spaces.
func blank(b []byte) bool {
	for _, c := range b {
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// display is a piece of source as it is shown: line endings are LF, and what
// is not text is a replacement character.
func display(b []byte, plain bool) string {
	if plain {
		return string(b)
	}
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}
