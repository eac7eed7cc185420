package ops

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// How many bytes of one change are told at most, and of all those of an answer.
const (
	maxDiff  = 64 << 10
	maxDiffs = 4 << 20
)

// A differ shows what changes would make of files, as far as one answer has room
// for it.
type differ struct{ shown int }

func (d *differ) file(path string, hunks []journal.Hunk) api.FileDiff {
	f := api.FileDiff{Path: path}
	f.Hunks, f.Truncated = diffOf(hunks, min(maxDiff, maxDiffs-d.shown))
	for _, h := range f.Hunks {
		d.shown += len(h.Diff)
	}
	return f
}

// Diff is what a change makes of one file, without credentials, as far as an
// answer has room for it.
func Diff(path string, before, after []byte) api.FileDiff {
	return new(differ).file(path, journal.Hunks(before, after))
}

// diffOf shows the hunks of a change, or so many of them as there is room for.
// Those that are so near that they have lines around them in common are one, or
// what reads differences would meet these lines twice.
func diffOf(hunks []journal.Hunk, room int) (list []api.DiffHunk, truncated bool) {
	list = []api.DiffHunk{}
	moved := 0 // how much further down lines are than they were
	for len(hunks) > 0 {
		n := 1
		for n < len(hunks) && hunks[n].Line-lines(hunks[n].Before) <= end(hunks[n-1])+lines(hunks[n-1].Behind) {
			n++
		}
		near := hunks[:n]
		line, diff := hunks[0].Line+moved, unified(near, moved)
		if len(diff) > room {
			cut := strings.LastIndexByte(diff[:room], '\n') + 1
			if cut > 0 {
				list = append(list, api.DiffHunk{Line: line, Diff: diff[:cut]})
			}
			return list, true
		}
		list = append(list, api.DiffHunk{Line: line, Diff: diff})
		room -= len(diff)
		for _, h := range near {
			moved += lines(h.New) - lines(h.Old)
		}
		hunks = hunks[n:]
	}
	return list, false
}

// end is the line behind what a hunk replaces, in the old file.
func end(h journal.Hunk) int { return h.Line + lines(h.Old) }

// unified shows hunks with no more between them than the lines around them, in
// the unified format. Lines of the new file are so much further down.
func unified(hunks []journal.Hunk, moved int) string {
	var b strings.Builder
	before, after := 0, 0
	write := func(mark byte, text []byte) {
		for line := range bytes.Lines(text) {
			if mark != '+' {
				before++
			}
			if mark != '-' {
				after++
			}
			b.WriteByte(mark)
			b.Write(line)
			if line[len(line)-1] != '\n' {
				b.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	from := hunks[0].Line - lines(hunks[0].Before)
	for i, h := range hunks {
		h = maskHunk(h)
		above := h.Before
		if i > 0 { // what stands behind the last one is written
			for lines(above) > max(h.Line-from-before, 0) {
				above = above[bytes.IndexByte(above, '\n')+1:]
			}
		}
		write(' ', above)
		write('-', h.Old)
		write('+', h.New)
		behind := h.Behind
		if i+1 < len(hunks) {
			behind = firstLines(behind, hunks[i+1].Line-end(h))
		}
		write(' ', behind)
	}
	return fmt.Sprintf("@@ -%s +%s @@\n%s", span(from, before), span(from+moved, after), b.String())
}

// firstLines are so many lines of a text at most.
func firstLines(text []byte, n int) []byte {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			return text
		}
		at += i + 1
	}
	return text[:at]
}

// span is lines of a file: none are counted from the line before them.
func span(from, n int) string {
	if n == 0 {
		from--
	}
	return fmt.Sprintf("%d,%d", from, n)
}

func lines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}
