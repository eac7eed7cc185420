package ipc

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/vault"
)

// How many bytes of one change are told at most, and of all those of an answer.
const (
	maxDiff  = 64 << 10
	maxDiffs = 4 << 20
)

// A DiffHunk is lines that were replaced by others.
type DiffHunk struct {
	Line int `json:"line"` // the first of them, in the file after the change
	// Diff is what was replaced, with the lines around it, as diff -u shows it.
	Diff string `json:"diff"`
}

// diffOf shows the hunks of a change, or so many of them as there is room for.
func diffOf(hunks []vault.Hunk, room int) (list []DiffHunk, truncated bool) {
	list = []DiffHunk{}
	moved := 0 // how much further down lines are than they were
	for _, h := range hunks {
		h = maskHunk(h)
		diff := unified(h, h.Line+moved)
		if len(diff) > room {
			cut := strings.LastIndexByte(diff[:room], '\n') + 1
			if cut > 0 {
				list = append(list, DiffHunk{h.Line + moved, diff[:cut]})
			}
			return list, true
		}
		list = append(list, DiffHunk{h.Line + moved, diff})
		room -= len(diff)
		moved += lines(h.New) - lines(h.Old)
	}
	return list, false
}

// unified shows a hunk, which begins at a line of the new file, in the unified
// format.
func unified(h vault.Hunk, line int) string {
	var b strings.Builder
	above, below := lines(h.Before), lines(h.Behind)
	fmt.Fprintf(&b, "@@ -%s +%s @@\n", span(h.Line-above, above+lines(h.Old)+below), span(line-above, above+lines(h.New)+below))
	for _, part := range []struct {
		mark byte
		text []byte
	}{{' ', h.Before}, {'-', h.Old}, {'+', h.New}, {' ', h.Behind}} {
		for text := range bytes.Lines(part.text) {
			b.WriteByte(part.mark)
			b.Write(text)
			if text[len(text)-1] != '\n' {
				b.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	return b.String()
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
