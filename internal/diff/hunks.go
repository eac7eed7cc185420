package diff

import (
	"slices"
	"strings"
)

// contextLines is the number of context lines on each side of a hunk. Three is the
// convention of diff tools.
const contextLines = 3

// A Hunk is a replaced run of lines. Lines include their "\n", and a "\r"
// before it; the last line of a file may have none.
type Hunk struct {
	Line int // in the old file, from 1: the first line of Old, or the line before which New was inserted

	Old []byte // the replaced bytes
	New []byte // the replacement

	// Above and Below are the unchanged lines on both sides: up to three, and
	// fewer next to another hunk or at the start or end of the file.
	Above []byte
	Below []byte
}

// SplitLines splits text after each newline.
func SplitLines(text []byte) []string { return slices.Collect(strings.Lines(string(text))) }

// Hunks returns the replacements that turn before into after, in the order of
// lines.
func Hunks(before, after []byte) []Hunk {
	a, b := SplitLines(before), SplitLines(after)
	list := spans(a, b)
	hunks := make([]Hunk, len(list))
	join := func(lines []string) []byte { return []byte(strings.Join(lines, "")) }
	for i, s := range list {
		from, to := 0, len(a) // the limits of the unchanged lines around the hunk
		if i > 0 {
			from = list[i-1].base.To
		}
		if i+1 < len(list) {
			to = list[i+1].base.From
		}
		hunks[i] = Hunk{
			Line:  s.base.From + 1,
			Old:   join(a[s.base.From:s.base.To]),
			New:   join(b[s.now.From:s.now.To]),
			Above: join(a[max(from, s.base.From-contextLines):s.base.From]),
			Below: join(a[s.base.To:min(to, s.base.To+contextLines)]),
		}
	}
	return hunks
}

// A span is a range of lines of the base and the range that replaces it.
type span struct{ base, now Range }

// spans returns the differences between two lists, in order.
func spans(base, now []string) (list []span) {
	i, j := 0, 0
	add := func(k, l int) {
		if k > i || l > j {
			list = append(list, span{Range{i, k}, Range{j, l}})
		}
	}
	for k, l := range Align(base, now) {
		if l >= 0 {
			add(k, l)
			i, j = k+1, l+1
		}
	}
	add(len(base), len(now))
	return list
}
