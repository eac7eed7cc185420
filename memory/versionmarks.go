package memory

import (
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/diff"
)

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
	var out strings.Builder
	write := func(lines ...string) {
		for _, line := range lines {
			if s := out.String(); s != "" && !strings.HasSuffix(s, "\n") {
				out.WriteByte('\n') // the last line of a version has no end
			}
			out.WriteString(line)
		}
	}
	for _, r := range diff.Align3(lines[baseVersion], lines[ourVersion], lines[theirVersion]).Regions {
		old := lines[baseVersion][r.Base.From:r.Base.To]
		mine, other := lines[ourVersion][r.Ours.From:r.Ours.To], lines[theirVersion][r.Theirs.From:r.Theirs.To]
		switch {
		case slices.Equal(mine, other), base != nil && slices.Equal(other, old):
			write(mine...)
		case base != nil && slices.Equal(mine, old):
			write(other...)
		default:
			conflicts++
			same, end := 0, 0
			for same < min(len(mine), len(other)) && mine[same] == other[same] {
				same++
			}
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
	}
	return []byte(out.String()), conflicts
}
