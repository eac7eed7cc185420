package diff

import (
	"slices"
	"strings"
)

// A Range is a range of indexes, without To.
type Range struct{ From, To int }

// A Change is a range of a list and the range of its next version that replaces it.
type Change struct{ Old, New Range }

// Changes returns the differences between two versions of a list, in order.
func Changes(before, after []string) (list []Change) {
	i, j := 0, 0
	add := func(k, l int) {
		if k > i || l > j {
			list = append(list, Change{Range{i, k}, Range{j, l}})
		}
	}
	for k, l := range Align(before, after) {
		if l >= 0 {
			add(k, l)
			i, j = k+1, l+1
		}
	}
	add(len(before), len(after))
	return list
}

// A Hunk is a replaced run of lines. Lines include their "\n", and a "\r"
// before it; the last line of a file may have none.
type Hunk struct {
	Line int // in the old file, from 1: the first line of Old, or the line before which New was inserted

	Old []byte // the replaced bytes
	New []byte // the replacement
}

// SplitLines splits text after each newline.
func SplitLines(text []byte) []string { return slices.Collect(strings.Lines(string(text))) }

// Hunks returns the replacements that turn before into after, in the order of
// lines.
func Hunks(before, after []byte) (hunks []Hunk) {
	a, b := SplitLines(before), SplitLines(after)
	for _, c := range Changes(a, b) {
		hunks = append(hunks, Hunk{c.Old.From + 1, []byte(strings.Join(a[c.Old.From:c.Old.To], "")),
			[]byte(strings.Join(b[c.New.From:c.New.To], ""))})
	}
	return hunks
}
