package memory

import (
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/linediff"
)

// alignLines pairs lines that occur in both a and b, in order. It pairs the common
// prefix and suffix, the lines that occur exactly once in each text, and the
// equal neighbours of those lines. It returns, for each line of a, the index of
// the paired line of b, or -1.
//
// The algorithm is the anchored diff of Go's own tools. It takes n log n in the
// worst case, and frequent lines such as blank lines and brackets do not
// mislead it.
func alignLines(a, b []string) []int {
	pairs := make([]int, len(a))
	for i := range pairs {
		pairs[i] = -1
	}
	start, endA, endB := 0, len(a), len(b)
	for start < endA && start < endB && a[start] == b[start] {
		pairs[start] = start
		start++
	}
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
		pairs[endA] = endB
	}
	doneA, doneB := start, start // everything before these is paired
	for _, anchor := range linediff.Anchors(a[start:endA], b[start:endB]) {
		i, j := start+anchor[0], start+anchor[1]
		if i < doneA {
			continue // already paired as the neighbour of an earlier anchor
		}
		for i > doneA && j > doneB && a[i-1] == b[j-1] {
			i, j = i-1, j-1
		}
		for i < endA && j < endB && a[i] == b[j] {
			pairs[i] = j
			i, j = i+1, j+1
		}
		doneA, doneB = i, j
	}
	return pairs
}

// MarkLines returns both versions merged line by line, as git merges them, with
// conflict markers around the lines that both changed. If no lines conflict, or if
// the versions have different readers, all lines that differ are between markers,
// because a person must decide. The file is private until the markers are removed;
// if that is impossible, the error is [ErrWhole].
func (m *VersionMerge) MarkLines() ([]byte, error) {
	var texts [3][]byte // with the byte order mark of our version
	for i, v := range m.versions {
		texts[i] = []byte(string(m.bom) + string(v.doc.Source))
	}
	base, ours, theirs := texts[baseVersion], texts[ourVersion], texts[theirVersion]
	o, t := m.versions[ourVersion].doc, m.versions[theirVersion].doc
	if m.twoWay || o.Own != t.Own || o.Front.Broken != t.Front.Broken {
		base = nil
	}
	for _, merge := range []func() ([]byte, int){
		func() ([]byte, int) { return mergeLines(base, ours, theirs) },
		func() ([]byte, int) { return mergeLines(nil, ours, theirs) },
		func() ([]byte, int) {
			return slices.Concat([]byte(markOurs+"\n"), endLine(ours), []byte(markMiddle+"\n"),
				endLine(theirs), []byte(markTheirs+"\n")), 1
		},
	} {
		text, conflicts := merge()
		d := m.layout.Parse(m.path, text, Meta{})
		if conflicts > 0 && slices.ContainsFunc(d.Problems, func(p Problem) bool { return p.Code == conflictMarkers }) {
			return text, nil
		}
	}
	return nil, ErrWhole
}

// endLine returns a text whose last line ends with a line feed.
func endLine(text []byte) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return append(slices.Clip(text), '\n')
	}
	return text
}

// mergeLines merges two versions of a text line by line. It writes the lines that
// both changed differently between conflict markers, and returns their number of
// places. With a nil base, all lines that differ are such lines.
func mergeLines(base, ours, theirs []byte) (text []byte, conflicts int) {
	var lines [3][]string // base, ours, theirs
	for i, src := range [][]byte{base, ours, theirs} {
		lines[i] = slices.Collect(strings.Lines(string(src)))
	}
	b, o, t := lines[0], lines[1], lines[2]
	inOurs, inTheirs := alignLines(b, o), alignLines(b, t)
	var out strings.Builder
	write := func(lines ...string) {
		for _, line := range lines {
			if s := out.String(); s != "" && !strings.HasSuffix(s, "\n") {
				out.WriteByte('\n') // the last line of a version has no end
			}
			out.WriteString(line)
		}
	}
	// Lines of the base in both versions separate the changes.
	at := [3]int{}
	for i := 0; i <= len(b); i++ {
		next := [3]int{len(b), len(o), len(t)}
		if i < len(b) {
			if inOurs[i] < 0 || inTheirs[i] < 0 {
				continue
			}
			next = [3]int{i, inOurs[i], inTheirs[i]}
		}
		old, mine, other := b[at[0]:next[0]], o[at[1]:next[1]], t[at[2]:next[2]]
		switch {
		case slices.Equal(mine, other), base != nil && slices.Equal(other, old):
			write(mine...)
		case base != nil && slices.Equal(mine, old):
			write(other...)
		default:
			conflicts++
			same := 0
			for same < min(len(mine), len(other)) && mine[same] == other[same] {
				same++
			}
			end := 0
			for end < min(len(mine), len(other))-same && mine[len(mine)-1-end] == other[len(other)-1-end] {
				end++
			}
			write(mine[:same]...)
			write(markOurs + "\n")
			write(mine[same : len(mine)-end]...)
			write(markMiddle + "\n")
			write(other[same : len(other)-end]...)
			write(markTheirs + "\n")
			write(mine[len(mine)-end:]...)
		}
		if i < len(b) {
			write(b[i])
			at = [3]int{i + 1, next[1] + 1, next[2] + 1}
		}
	}
	return []byte(out.String()), conflicts
}
