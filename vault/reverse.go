package vault

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// A ConflictError reports that a change cannot be undone because the text that
// it wrote has changed.
type ConflictError struct {
	ID     string // of the change
	Path   string
	Reason string
}

func (e *ConflictError) Error() string { return fmt.Sprintf("undo %s: %s: %s", e.ID, e.Path, e.Reason) }

// Reverse returns the content of a file after a change is reversed completely.
// now is the present content; nil content means that there is no file. The
// error is a [*ConflictError].
//
// If the change was the last one, the result is byte for byte the file before
// the change. If other programs changed the file elsewhere, Reverse locates the
// written lines by their context: the context above or below must be unchanged,
// and no other place may match as well. A file that the change created is
// removed only if it is unchanged.
func Reverse(now []byte, r journal.Record) ([]byte, error) {
	conflict := func(format string, args ...any) error {
		return &ConflictError{r.ID, r.FilePath(), fmt.Sprintf(format, args...)}
	}
	digest := journal.Digest(now)
	switch {
	case r.Forgotten:
		return nil, conflict("the text of this change was forgotten")
	case digest == r.After:
		old, ok := reverseExactly(now, r)
		if !ok {
			return nil, conflict("the record of the change does not match the file; this change cannot be undone")
		}
		return old, nil
	case digest == r.Before:
		return nil, conflict("the file already has its earlier content")
	case now == nil:
		return nil, conflict("the file is missing; restore the file, then retry")
	case r.After == "":
		return nil, conflict("a new file exists at this path; move the new file, then retry")
	case r.Before == "":
		return nil, conflict("the file was changed after its creation; if you do not need the file, remove it yourself")
	}
	found := make([]lineRange, len(r.Hunks))
	p := hunkLocator{lines: journal.SplitLines(now)}
	for i, h := range r.Hunks {
		at, reason := p.findHunk(h, i == 0 && h.Line == 1, i == len(r.Hunks)-1)
		if reason != "" {
			return nil, conflict("%s", reason)
		}
		found[i] = at
	}
	return p.replaceHunks(r.Hunks, found), nil
}

// Repeat returns the content of a file after the text of a change that another program
// removed is written again: at its old place if the lines around it are still there, or
// else at the end. Keys of the frontmatter stay as they are now.
func Repeat(now []byte, front int, r journal.Record) ([]byte, error) {
	switch {
	case r.Forgotten:
		return nil, &ConflictError{r.ID, r.FilePath(), "the text of this change was forgotten"}
	case r.To != "" || r.After == "":
		return nil, &ConflictError{r.ID, r.FilePath(), "the change moved or removed the file"}
	case now == nil && r.Before == "" && len(r.Hunks) == 1:
		return r.Hunks[0].New, nil
	case now == nil || r.Before == "":
		return nil, &ConflictError{r.ID, r.FilePath(), "the file was created or removed by another program"}
	}
	for i, h := range r.Hunks {
		p := hunkLocator{lines: journal.SplitLines(now)}
		inverse := journal.Hunk{Line: h.Line, Old: h.New, New: h.Old, Above: h.Above, Below: h.Below}
		switch at, reason := p.findHunk(inverse, i == 0 && h.Line == 1, i == len(r.Hunks)-1); {
		case h.Line <= front || bytes.Contains(now, h.New):
		case reason == "":
			now = p.replaceHunks([]journal.Hunk{inverse}, []lineRange{at})
		default:
			if len(now) > 0 && len(lineEnd(now)) == 0 {
				now = append(now[:len(now):len(now)], p.newline()...)
			}
			now = append(now[:len(now):len(now)], h.New...)
		}
	}
	return now, nil
}

// reverseExactly reverses a change of a file that has not changed since.
func reverseExactly(now []byte, r journal.Record) ([]byte, bool) {
	if r.Before == "" {
		return nil, true
	}
	lines := journal.SplitLines(now)
	old := make([]byte, 0, len(now))
	at, moved := 0, 0 // line indexes; shift of lines by the preceding hunks
	for _, h := range r.Hunks {
		start, n := h.Line-1+moved, len(journal.SplitLines(h.New))
		if start < at || start+n > len(lines) {
			return nil, false
		}
		old = append(appendLines(old, lines[at:start]), h.Old...)
		at, moved = start+n, moved+n-len(journal.SplitLines(h.Old))
	}
	old = appendLines(old, lines[at:])
	return old, journal.Digest(old) == r.Before
}

func appendLines(text []byte, lines [][]byte) []byte {
	for _, line := range lines {
		text = append(text, line...)
	}
	return text
}

// A lineRange is the range of lines that a hunk occupies now.
type lineRange struct{ start, end int }

// hunkLocator locates hunks, in order, in a file changed by other programs.
type hunkLocator struct {
	lines [][]byte
	from  int // the first line below all hunks found so far
}

// findHunk returns the unique place of a hunk, or the reason why there is none.
// first and last report that the hunk was at the start or end of the file.
func (p *hunkLocator) findHunk(h journal.Hunk, first, last bool) (lineRange, string) {
	written, above, below := journal.SplitLines(h.New), journal.SplitLines(h.Above), journal.SplitLines(h.Below)
	slices.Reverse(above) // the nearest first
	var best lineRange
	ties, most, seen := 0, -1, false
	for start := p.from; start+len(written) <= len(p.lines); start++ {
		end := start + len(written)
		if !p.matches(start, written) {
			continue
		}
		seen = true
		up := countMatching(above, func(i int) []byte { return p.lineAt(start - 1 - i) })
		down := countMatching(below, func(i int) []byte { return p.lineAt(end + i) })
		// The start or end of the file counts as matching context.
		follows := isDistinctive(above, up) || first && len(above) == 0 && start == 0
		precedes := isDistinctive(below, down) || last && len(below) == 0 && end == len(p.lines)
		if !follows && !precedes {
			continue
		}
		score := 2 * (up + down)
		if follows && len(written) == 0 {
			score++ // text added where lines were removed follows these lines
		}
		if score > most {
			best, ties, most = lineRange{start, end}, 0, score
		}
		if score == most {
			ties++
		}
	}
	switch {
	case ties == 1:
		p.from = best.end
		return best, ""
	case ties > 1 && len(written) > 0:
		return lineRange{}, fmt.Sprintf("line %d: the same lines occur in %d places; edit the right place yourself",
			h.Line, ties)
	case ties > 1:
		return lineRange{}, fmt.Sprintf("line %d: the surrounding lines occur in %d places; restore the removed "+
			"lines yourself", h.Line, ties)
	case len(written) > 0 && !seen:
		return lineRange{}, fmt.Sprintf("line %d: %s changed afterwards", h.Line, changedLinesPhrase(len(written)))
	}
	return lineRange{}, fmt.Sprintf("line %d: the surrounding lines were changed afterwards", h.Line)
}

func changedLinesPhrase(lines int) string {
	if lines == 1 {
		return "the line was"
	}
	return fmt.Sprintf("the line and the %d below were", lines-1)
}

// matches reports whether lines are at start. The last line of a file may have
// lost or gained its newline since.
func (p *hunkLocator) matches(start int, lines [][]byte) bool {
	for i, line := range lines {
		now := p.lines[start+i]
		if bytes.Equal(line, now) {
			continue
		}
		if i < len(lines)-1 || !bytes.Equal(trimLineEnd(line), trimLineEnd(now)) ||
			len(lineEnd(line)) > 0 && len(lineEnd(now)) > 0 {
			return false
		}
	}
	return true
}

func (p *hunkLocator) lineAt(i int) []byte {
	if i < 0 || i >= len(p.lines) {
		return nil
	}
	return p.lines[i]
}

// countMatching counts the unchanged lines of a context, starting with the nearest
// line.
func countMatching(context [][]byte, now func(int) []byte) int {
	for i, line := range context {
		if at := now(i); at == nil || !bytes.Equal(trimLineEnd(line), trimLineEnd(at)) {
			return i
		}
	}
	return len(context)
}

// isDistinctive reports whether a context identifies a place: all of its lines match,
// and at least one of them is not blank.
func isDistinctive(context [][]byte, agree int) bool {
	return agree == len(context) &&
		slices.ContainsFunc(context, func(line []byte) bool { return len(bytes.TrimSpace(line)) > 0 })
}

// replaceHunks replaces each hunk with its old lines. Lines that were at the end of
// the file and no longer are get a newline.
func (p *hunkLocator) replaceHunks(hunks []journal.Hunk, found []lineRange) []byte {
	out, at := []byte{}, 0
	for i, h := range hunks {
		out = appendLines(out, p.lines[at:found[i].start])
		at = found[i].end
		if len(h.Old) == 0 {
			continue
		}
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, p.newline()...)
		}
		out = append(out, h.Old...)
		switch cut := len(out) - len(lineEnd(out)); {
		case cut == len(out) && at < len(p.lines):
			out = append(out, p.newline()...)
		case at == len(p.lines) && len(lineEnd(h.New)) > 0 && len(lineEnd(p.lines[at-1])) == 0:
			out = out[:cut] // keep the newline removed, as the later change did
		}
	}
	return appendLines(out, p.lines[at:])
}

// newline returns the line ending of the file.
func (p *hunkLocator) newline() []byte {
	if len(p.lines) > 0 {
		if end := lineEnd(p.lines[0]); len(end) > 0 {
			return end
		}
	}
	return []byte("\n")
}

// lineEnd returns the ending of the last line of text: "\n", "\r\n" or nothing.
func lineEnd(text []byte) []byte {
	switch {
	case bytes.HasSuffix(text, []byte("\r\n")):
		return text[len(text)-2:]
	case bytes.HasSuffix(text, []byte("\n")):
		return text[len(text)-1:]
	}
	return nil
}

func trimLineEnd(line []byte) []byte { return line[:len(line)-len(lineEnd(line))] }
