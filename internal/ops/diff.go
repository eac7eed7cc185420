package ops

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/diff"
)

// Limits of the diff of one change and of all diffs in an answer, in bytes.
const (
	maxDiff  = 64 << 10
	maxDiffs = 4 << 20
)

// A differ renders diffs of files up to the size limit of one answer.
type differ struct{ shown int }

func (d *differ) diffFile(path string, hunks []diff.Hunk) api.FileDiff {
	list, truncated := d.hunks(hunks)
	return api.FileDiff{Path: path, Hunks: list, Truncated: truncated}
}

// Diff returns the diff of one file without credentials, up to the size limit
// of an answer.
func Diff(path string, before, after []byte) api.FileDiff {
	return new(differ).diffFile(path, diff.Hunks(before, after))
}

// hunks renders hunks within the limits and reports whether it truncated them. It
// joins hunks whose context lines overlap or touch; otherwise a diff reader would
// encounter these lines twice.
func (d *differ) hunks(hunks []diff.Hunk) (list []api.DiffHunk, truncated bool) {
	list, room := []api.DiffHunk{}, min(maxDiff, maxDiffs-d.shown)
	moved := 0 // line offset of the new file
	for len(hunks) > 0 {
		n := 1
		for n < len(hunks) && hunks[n].Line-countLines(hunks[n].Above) <= hunkEnd(hunks[n-1])+countLines(hunks[n-1].Below) {
			n++
		}
		near := hunks[:n]
		line, text := hunks[0].Line+moved, formatUnified(near, moved)
		if len(text) > room {
			cut := strings.LastIndexByte(text[:room], '\n') + 1
			if cut > 0 {
				list = append(list, api.DiffHunk{Line: line, Diff: text[:cut]})
				d.shown += cut
			}
			return list, true
		}
		list = append(list, api.DiffHunk{Line: line, Diff: text})
		room, d.shown = room-len(text), d.shown+len(text)
		for _, h := range near {
			moved += countLines(h.New) - countLines(h.Old)
		}
		hunks = hunks[n:]
	}
	return list, false
}

// hunkEnd returns the old file's line after the text that a hunk replaces.
func hunkEnd(h diff.Hunk) int { return h.Line + countLines(h.Old) }

// formatUnified renders hunks with overlapping or adjacent context in the unified
// format. moved is the line offset of the new file.
func formatUnified(hunks []diff.Hunk, moved int) string {
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
	from := hunks[0].Line - countLines(hunks[0].Above)
	for i, h := range hunks {
		h = maskHunk(h)
		above := h.Above
		if i > 0 { // the context after the previous hunk is already written
			for countLines(above) > max(h.Line-from-before, 0) {
				above = above[bytes.IndexByte(above, '\n')+1:]
			}
		}
		write(' ', above)
		write('-', h.Old)
		write('+', h.New)
		behind := h.Below
		if i+1 < len(hunks) {
			behind = firstLines(behind, hunks[i+1].Line-hunkEnd(h))
		}
		write(' ', behind)
	}
	return fmt.Sprintf("@@ -%s +%s @@\n%s", formatRange(from, before), formatRange(from+moved, after), b.String())
}

// firstLines returns at most n lines of a text.
func firstLines(text []byte, n int) []byte {
	lines := diff.SplitLines(text)
	return []byte(strings.Join(lines[:min(max(n, 0), len(lines))], ""))
}

// formatRange formats a line range of a file. An empty range starts at the line before
// it, as the unified format requires.
func formatRange(from, n int) string {
	if n == 0 {
		from--
	}
	return fmt.Sprintf("%d,%d", from, n)
}

func countLines(text []byte) int { return len(diff.SplitLines(text)) }
