package term

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Widths are counted in terminal columns: a Chinese character has two, a
// combining accent none.

// Fold breaks a line into parts of at most width columns. It breaks at the
// permitted positions, which in Chinese are nearly everywhere, and breaks
// longer segments between characters. It returns the start and end of each part
// as byte offsets in line, without the spaces between the parts.
func Fold(line string, width int) [][2]int {
	var parts [][2]int
	from, at, column := 0, 0, 0
	end := func(next int) {
		parts = append(parts, [2]int{from, from + len(strings.TrimRight(line[from:at], " "))})
		from, column = next, 0
	}
	for rest, state := line, -1; rest != ""; {
		var segment string
		segment, rest, _, state = uniseg.FirstLineSegmentInString(rest, state)
		if column > 0 && column+uniseg.StringWidth(strings.TrimRight(segment, " ")) > width {
			end(at)
		}
		if column == 0 && uniseg.StringWidth(strings.TrimRight(segment, " ")) > width {
			for g := uniseg.NewGraphemes(segment); g.Next(); at += len(g.Str()) {
				if column > 0 && column+g.Width() > width && g.Str() != " " {
					end(at)
				}
				column += g.Width()
			}
			continue
		}
		column += uniseg.StringWidth(segment)
		at += len(segment)
	}
	at = len(line)
	if from < at || len(parts) == 0 {
		end(at)
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
	for i, part := range Fold(line, width) {
		if i > 0 {
			b.WriteString("\n" + indent)
		}
		b.WriteString(line[part[0]:part[1]])
	}
	return b.String()
}

// cutMiddle shortens a text to width columns and marks the removed part with
// "…". It keeps both ends because they identify the text best.
func cutMiddle(s string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	head := firstColumns(s, width/2)
	reversed := uniseg.ReverseString(s)
	tail := uniseg.ReverseString(firstColumns(reversed, width-1-uniseg.StringWidth(head)))
	return strings.TrimRight(head, " ") + "…" + strings.TrimLeft(tail, " ")
}

// CutEnd shortens a text to width columns. It keeps the beginning and marks the
// removed part with "…".
func CutEnd(s string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	return strings.TrimRight(firstColumns(s, width-1), " ") + "…"
}

// firstColumns returns the longest prefix of s that fits into width columns.
func firstColumns(s string, width int) string {
	at := 0
	for g := uniseg.NewGraphemes(s); g.Next(); at += len(g.Str()) {
		width -= g.Width()
		if width < 0 {
			break
		}
	}
	return s[:at]
}

// CutPath shortens a heading path, or another path, to width columns. It
// removes inner parts first and then the first part, because the last part
// identifies the path best.
func CutPath(s, separator string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	parts := strings.Split(s, separator)
	last := len(parts) - 1
	for n := 1; n <= last; n++ { // number of removed parts
		list := append([]string{parts[0], "…"}, parts[min(1+n, last):]...)
		if n == last {
			list = list[1:]
		}
		if short := strings.Join(list, separator); uniseg.StringWidth(short) <= width {
			return short
		}
	}
	if uniseg.StringWidth(parts[last]) <= width {
		return cutMiddle("…"+parts[last], width)
	}
	return cutMiddle(parts[last], width)
}
