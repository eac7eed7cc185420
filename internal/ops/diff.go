package ops

import (
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

// contextLines is the number of context lines on each side of a difference. Three is the
// convention of diff tools.
const contextLines = 3

// A differ renders diffs of files up to the size limit of one answer.
type differ struct{ shown int }

// Diff returns the diff of one file without credentials, up to the size limit
// of an answer.
func Diff(path string, before, after []byte) api.FileDiff {
	return new(differ).diffFile(path, before, after)
}

func (d *differ) diffFile(path string, before, after []byte) api.FileDiff {
	hunks, truncated := d.hunks(before, after)
	return api.FileDiff{Path: path, Hunks: hunks, Truncated: truncated}
}

// hunks renders the differences between two texts within the limits and reports whether
// it truncated them. It joins differences whose context lines overlap or touch.
func (d *differ) hunks(before, after []byte) (list []api.DiffHunk, truncated bool) {
	a, b := diff.SplitLines(before), diff.SplitLines(after)
	changes := diff.Changes(a, b)
	list, room := []api.DiffHunk{}, min(maxDiff, maxDiffs-d.shown)
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].Old.From-changes[n-1].Old.To <= 2*contextLines {
			n++
		}
		line, text := changes[0].New.From+1, formatUnified(a, b, changes[:n])
		changes = changes[n:]
		if len(text) > room {
			text, truncated, changes = text[:strings.LastIndexByte(text[:room], '\n')+1], true, nil
		}
		if text != "" {
			list = append(list, api.DiffHunk{Line: line, Diff: text})
		}
		room, d.shown = room-len(text), d.shown+len(text)
	}
	return list, truncated
}

// formatUnified renders differences and the lines around them in the unified format.
func formatUnified(before, after []string, changes []diff.Change) string {
	first, last := changes[0], changes[len(changes)-1]
	above, below := min(contextLines, first.Old.From), min(contextLines, len(before)-last.Old.To)
	old := diff.Range{From: first.Old.From - above, To: last.Old.To + below}
	now := diff.Range{From: first.New.From - above, To: last.New.To + below}
	was, is := maskLines(before[old.From:old.To]), maskLines(after[now.From:now.To])
	var b strings.Builder
	write := func(mark string, lines []string) {
		for _, line := range lines {
			b.WriteString(mark + line)
			if !strings.HasSuffix(line, "\n") {
				b.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	fmt.Fprintf(&b, "@@ -%s +%s @@\n", formatRange(old), formatRange(now))
	at := 0
	for _, c := range changes {
		write(" ", was[at:c.Old.From-old.From])
		at = c.Old.To - old.From
		write("-", was[c.Old.From-old.From:at])
		write("+", is[c.New.From-now.From:c.New.To-now.From])
	}
	write(" ", was[at:])
	return b.String()
}

// formatRange formats a line range of a file. An empty range starts at the line before
// it, as the unified format requires.
func formatRange(r diff.Range) string {
	return fmt.Sprintf("%d,%d", r.From+min(r.To-r.From, 1), r.To-r.From)
}
