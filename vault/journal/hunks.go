package journal

import (
	"bytes"
	"slices"

	"github.com/memwatchd/memwatchd/internal/diff"
)

// contextLines is the number of context lines stored on each side of a hunk.
// Three is the convention of diff tools.
const contextLines = 3

// maxDepth bounds the recursion of diff. It exceeds the depth that notes need,
// and is small enough to keep the worst case fast.
const maxDepth = 16

// A Hunk is a replaced run of lines. Lines include their "\n", and a "\r"
// before it; the last line of a file may have none.
type Hunk struct {
	Line int `json:"line"` // in the old file, from 1: the first line of Old, or the line before which New was inserted

	Old []byte `json:"old"` // the replaced bytes
	New []byte `json:"new"` // the replacement

	// Above and Below are the unchanged lines on both sides: up to three, and
	// fewer next to another hunk or at the start or end of the file.
	Above []byte `json:"before"`
	Below []byte `json:"behind"`
}

// Hunks returns the replacements that turn before into after, in the order of
// lines. It uses Bram Cohen's patience diff, which aligns the common prefix and
// suffix and the lines that occur once on each side, as a human reader does.
func Hunks(before, after []byte) []Hunk {
	d := &differ{old: SplitLines(before), new: SplitLines(after)}
	d.diffRange(0, len(d.old), 0, len(d.new), maxDepth)
	hunks := make([]Hunk, len(d.spans))
	for i, s := range d.spans {
		from, to := 0, len(d.old) // the limits of the unchanged lines around the hunk
		if i > 0 {
			from = d.spans[i-1].oldEnd
		}
		if i+1 < len(d.spans) {
			to = d.spans[i+1].old
		}
		hunks[i] = Hunk{
			Line:  s.old + 1,
			Old:   bytes.Join(d.old[s.old:s.oldEnd], nil),
			New:   bytes.Join(d.new[s.new:s.newEnd], nil),
			Above: bytes.Join(d.old[max(from, s.old-contextLines):s.old], nil),
			Below: bytes.Join(d.old[s.oldEnd:min(to, s.oldEnd+contextLines)], nil),
		}
	}
	return hunks
}

// SplitLines splits text after each newline.
func SplitLines(text []byte) [][]byte { return slices.Collect(bytes.Lines(text)) }

// A lineSpan is a range of old lines and the range of new lines that replaces
// it.
type lineSpan struct{ old, oldEnd, new, newEnd int }

// A differ compares two files and collects their differences in order.
type differ struct {
	old, new [][]byte
	spans    []lineSpan
}

// diffRange compares a range of old lines with a range of new lines. It divides the
// ranges at their anchors, recursively, at most depth times.
func (d *differ) diffRange(a, aEnd, b, bEnd, depth int) {
	for a < aEnd && b < bEnd && bytes.Equal(d.old[a], d.new[b]) {
		a, b = a+1, b+1
	}
	for a < aEnd && b < bEnd && bytes.Equal(d.old[aEnd-1], d.new[bEnd-1]) {
		aEnd, bEnd = aEnd-1, bEnd-1
	}
	if a == aEnd && b == bEnd {
		return
	}
	var anchors [][2]int
	if depth > 0 {
		anchors = diff.Anchors(d.old[a:aEnd], d.new[b:bEnd])
	}
	if len(anchors) == 0 {
		d.addSpan(lineSpan{a, aEnd, b, bEnd})
		return
	}
	oldFrom, newFrom := a, b
	for _, at := range anchors {
		// Between two anchors no line is unique in the whole range, but a line
		// may be unique between them.
		oldAt, newAt := oldFrom+at[0], newFrom+at[1]
		d.diffRange(a, oldAt, b, newAt, depth-1)
		a, b = oldAt+1, newAt+1
	}
	d.diffRange(a, aEnd, b, bEnd, depth-1)
}

// addSpan appends a difference and merges it with the preceding one if the two
// touch.
func (d *differ) addSpan(s lineSpan) {
	if n := len(d.spans); n > 0 && d.spans[n-1].oldEnd == s.old && d.spans[n-1].newEnd == s.new {
		d.spans[n-1].oldEnd, d.spans[n-1].newEnd = s.oldEnd, s.newEnd
		return
	}
	d.spans = append(d.spans, s)
}
