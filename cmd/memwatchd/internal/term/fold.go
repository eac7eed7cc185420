package term

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Widths are counted in terminal columns: a Chinese character has two, a
// combining accent none.

// Fold breaks a line into parts of at most width columns, at spaces and between wide
// characters. It leaves longer words whole, because a broken path or address cannot be
// copied, and does not break the first bytes of the line. It returns the start and end of each
// part as byte offsets in line, without the spaces between the parts.
func Fold(line string, first, width int) [][2]int {
	var parts [][2]int
	from, at := 0, 0 // start of the part, and its last permitted break
	column, word := 0, 0
	end := func(next int) {
		parts = append(parts, [2]int{from, from + len(strings.TrimRight(line[from:next], " "))})
		from = next
	}
	for rest, state := line, -1; rest != ""; {
		var segment string
		segment, rest, _, state = uniseg.FirstLineSegmentInString(rest, state)
		next := len(line) - len(rest)
		column += uniseg.StringWidth(segment)
		word += uniseg.StringWidth(segment)
		if visible := column - (len(segment) - len(strings.TrimRight(segment, " "))); visible > width && at > from {
			end(at)
			column = word
		}
		last, _ := utf8.DecodeLastRuneInString(segment)
		following, _ := utf8.DecodeRuneInString(rest)
		if next >= first && (last == ' ' || uniseg.StringWidth(string(last)) == 2 || uniseg.StringWidth(string(following)) == 2) {
			at, word = next, 0
		}
	}
	if from < len(line) || len(parts) == 0 {
		end(len(line))
	}
	return parts
}

// Wrap folds a line for a terminal of the given width. It writes indent before
// each continuation line; the first line already contains its indent. A width
// of zero, as for files, returns the line unchanged.
func Wrap(line string, width int, indent string) string {
	width -= len(indent)
	if width < 16 {
		return line
	}
	var b strings.Builder
	for i, part := range Fold(line, 0, width) {
		if i > 0 {
			b.WriteString("\n" + indent)
		}
		b.WriteString(line[part[0]:part[1]])
	}
	return b.String()
}
