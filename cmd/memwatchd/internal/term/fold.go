package term

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Widths are counted in columns of a terminal: a Chinese character has two, an
// accent that is put on another character has none.

// Fold breaks a line that is wider than so many columns, where lines may be
// broken, which in Chinese is nearly anywhere; what cannot be broken, and is
// wider all the same, is broken between characters. It returns where the parts
// lie in the line, without the spaces between them.
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
	if at = len(line); from < at || len(parts) == 0 {
		end(at)
	}
	return parts
}

// Wrap folds a line for a terminal of so many columns and begins the lines that
// this makes with an indent, as the first one has it already. A width of zero is
// that of a file: nothing is broken.
func Wrap(line string, width int, indent string) string {
	if width -= len(indent); width < 16 {
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

// cutMiddle shortens a text to so many columns, with a mark where something of
// it is left out: both ends of it tell most.
func cutMiddle(s string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	head := firstColumns(s, width/2)
	back := uniseg.ReverseString(s)
	tail := uniseg.ReverseString(firstColumns(back, width-1-uniseg.StringWidth(head)))
	return strings.TrimRight(head, " ") + "…" + strings.TrimLeft(tail, " ")
}

// CutEnd is the beginning of a text that has so many columns.
func CutEnd(s string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	return strings.TrimRight(firstColumns(s, width-1), " ") + "…"
}

// firstColumns are the characters of a text that fit into so many columns.
func firstColumns(s string, width int) string {
	at := 0
	for g := uniseg.NewGraphemes(s); g.Next(); at += len(g.Str()) {
		if width -= g.Width(); width < 0 {
			break
		}
	}
	return s[:at]
}

// CutPath shortens a list of headings, or another path, to so many columns: the
// first and the last tell most, and the last one more than the first.
func CutPath(s, separator string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	parts := strings.Split(s, separator)
	last := len(parts) - 1
	for n := 1; n <= last; n++ { // how many are left out
		kept := append([]string{parts[0], "…"}, parts[min(1+n, last):]...)
		if n == last {
			kept = kept[1:]
		}
		if short := strings.Join(kept, separator); uniseg.StringWidth(short) <= width {
			return short
		}
	}
	if uniseg.StringWidth(parts[last]) <= width {
		return cutMiddle("…"+parts[last], width)
	}
	return cutMiddle(parts[last], width)
}
