package journal

import (
	"bytes"
	"slices"
)

// contextLines is how many lines around a change are kept with it: as many as
// those who look for them by eye are used to.
const contextLines = 3

// maxDepth is how often a difference is divided: more than people's files need,
// and few enough that none takes long.
const maxDepth = 16

// A Hunk is lines that were replaced by others. Lines end with "\n", which is
// part of them, as is a "\r" before it; the last one of a file may have none.
type Hunk struct {
	Line int `json:"line"` // of the old file, counted from 1: the first of Old, or the one before which New was put

	Old []byte `json:"old"` // what was there, byte for byte
	New []byte `json:"new"` // what is there instead

	// Before and Behind are the lines on both sides that stayed as they were: up
	// to three, fewer where another hunk is nearer, or the file begins or ends.
	Before []byte `json:"before"`
	Behind []byte `json:"behind"`
}

// Hunks tells what has to be replaced in before to make after of it, in the
// order of lines. It keeps to what is the same at the beginning and the end,
// and to lines that occur once on each side, as a reader would: Bram Cohen's
// patience diff.
func Hunks(before, after []byte) []Hunk {
	d := &differ{old: SplitLines(before), new: SplitLines(after)}
	d.diff(0, len(d.old), 0, len(d.new), maxDepth)
	hunks := make([]Hunk, len(d.spans))
	for i, s := range d.spans {
		from, to := 0, len(d.old) // as far as lines are the same
		if i > 0 {
			from = d.spans[i-1].oldEnd
		}
		if i+1 < len(d.spans) {
			to = d.spans[i+1].old
		}
		hunks[i] = Hunk{
			Line:   s.old + 1,
			Old:    bytes.Join(d.old[s.old:s.oldEnd], nil),
			New:    bytes.Join(d.new[s.new:s.newEnd], nil),
			Before: bytes.Join(d.old[max(from, s.old-contextLines):s.old], nil),
			Behind: bytes.Join(d.old[s.oldEnd:min(to, s.oldEnd+contextLines)], nil),
		}
	}
	return hunks
}

// SplitLines splits text behind each newline.
func SplitLines(text []byte) [][]byte {
	if len(text) == 0 {
		return nil
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// A lineSpan is lines of the old file, and those that are there instead.
type lineSpan struct{ old, oldEnd, new, newEnd int }

// A differ compares two files, from the beginning to the end.
type differ struct {
	old, new [][]byte
	spans    []lineSpan
}

// diff compares a part of the old file with a part of the new one, and goes into
// parts of these so many times.
func (d *differ) diff(a, aEnd, b, bEnd, depth int) {
	for a < aEnd && b < bEnd && bytes.Equal(d.old[a], d.new[b]) {
		a, b = a+1, b+1
	}
	for a < aEnd && b < bEnd && bytes.Equal(d.old[aEnd-1], d.new[bEnd-1]) {
		aEnd, bEnd = aEnd-1, bEnd-1
	}
	if a == aEnd && b == bEnd {
		return
	}
	var anchors []anchor
	if depth > 0 {
		anchors = d.anchors(a, aEnd, b, bEnd)
	}
	if len(anchors) == 0 {
		d.add(lineSpan{a, aEnd, b, bEnd})
		return
	}
	for _, at := range anchors {
		// What stands between two anchors has none that occurs once in both
		// files, but may in the part.
		d.diff(a, at.old, b, at.new, depth-1)
		a, b = at.old+1, at.new+1
	}
	d.diff(a, aEnd, b, bEnd, depth-1)
}

// add notes a difference, together with the one before if they touch.
func (d *differ) add(s lineSpan) {
	if n := len(d.spans); n > 0 && d.spans[n-1].oldEnd == s.old && d.spans[n-1].newEnd == s.new {
		d.spans[n-1].oldEnd, d.spans[n-1].newEnd = s.oldEnd, s.newEnd
		return
	}
	d.spans = append(d.spans, s)
}

// An anchor is a line of the old file that is one of the new file, too.
type anchor struct{ old, new int }

// anchors lists lines that occur once in each part: the most that stand in the
// same order in both.
func (d *differ) anchors(a, aEnd, b, bEnd int) []anchor {
	type places struct{ old, olds, new, news int }
	seen := map[string]*places{}
	for i := a; i < aEnd; i++ {
		p := seen[string(d.old[i])]
		if p == nil {
			p = &places{}
			seen[string(d.old[i])] = p
		}
		p.old, p.olds = i, p.olds+1
	}
	for i := b; i < bEnd; i++ {
		if p := seen[string(d.new[i])]; p != nil {
			p.new, p.news = i, p.news+1
		}
	}
	var once []anchor
	for i := a; i < aEnd; i++ {
		if p := seen[string(d.old[i])]; p.olds == 1 && p.news == 1 {
			once = append(once, anchor{i, p.new})
		}
	}
	return rising(once)
}

// rising is the longest part of a list whose lines rise in the new file as they
// do in the old, by patience sorting.
func rising(list []anchor) []anchor {
	var tops []int // the last of the best chain of each length, as an index of list
	before := make([]int, len(list))
	for i, at := range list {
		n, _ := slices.BinarySearchFunc(tops, at.new, func(top, line int) int { return list[top].new - line })
		before[i] = -1
		if n > 0 {
			before[i] = tops[n-1]
		}
		if n == len(tops) {
			tops = append(tops, i)
		} else {
			tops[n] = i
		}
	}
	chain := make([]anchor, len(tops))
	if len(tops) == 0 {
		return nil
	}
	for i, n := tops[len(tops)-1], len(tops)-1; n >= 0; i, n = before[i], n-1 {
		chain[n] = list[i]
	}
	return chain
}
