package vault

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/internal/diff"
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

// Reverse returns the content of a file after a change from before to after is reversed
// completely. now is the present content; nil content means that there is no file. The
// error is a [*ConflictError].
//
// If the change was the last one, the result is byte for byte the file before the
// change. Otherwise it is a merge: what others changed since stays, and may not overlap
// the change. If others added text to a file that the change created, the file
// stays, with its frontmatter and headings.
func Reverse(now []byte, r journal.Record, before, after []byte) ([]byte, error) {
	conflict := func(format string, args ...any) error {
		return &ConflictError{r.ID, r.FilePath(), fmt.Sprintf(format, args...)}
	}
	digest := journal.Digest(now)
	switch {
	case r.Forgotten:
		return nil, conflict("the text of this change was forgotten")
	case digest == r.After && journal.Digest(before) == r.Before:
		return before, nil
	case r.To != "" && r.Before == r.After && now != nil:
		return now, nil // a move
	case digest == r.Before:
		return nil, conflict("the file already has its earlier content")
	case now == nil:
		return nil, conflict("the file is missing; restore the file, then retry")
	case r.After == "":
		return nil, conflict("a new file exists at this path; move the new file, then retry")
	case r.Before == "":
		before = scaffold(after)
	}
	merged, line := diff.MergeText(after, now, before, frontLines(after))
	switch {
	case line > 0:
		return nil, conflict("line %d: the line was changed afterwards", line)
	case bytes.Equal(merged, now):
		return nil, conflict("the text of this change was removed or moved afterwards")
	}
	return merged, nil
}

// Repeat returns the content of a file after the text of a change that another program
// removed is written again. Keys of the frontmatter stay as they are now.
func Repeat(now []byte, r journal.Record, before, after []byte) ([]byte, error) {
	conflict := func(reason string) error { return &ConflictError{r.ID, r.FilePath(), reason} }
	switch {
	case r.Forgotten:
		return nil, conflict("the text of this change was forgotten")
	case r.To != "" || r.After == "":
		return nil, conflict("the change moved or removed the file")
	case now == nil && r.Before == "":
		return after, nil
	case now == nil || r.Before == "":
		return nil, conflict("the file was created or removed by another program")
	}
	merged, line := diff.MergeText(before, now, after, frontLines(before))
	if line > 0 {
		return nil, conflict(fmt.Sprintf("line %d: the line was changed afterwards", line))
	}
	return merged, nil
}

// frontLines returns the number of lines of the frontmatter.
func frontLines(text []byte) int {
	for i, line := range diff.SplitLines(text) {
		switch fence := strings.TrimRight(line, "\r\n") == "---"; {
		case i == 0 && !fence:
			return 0
		case i > 0 && fence:
			return i + 1
		}
	}
	return 0
}

// scaffold returns the frontmatter, the headings and the blank lines of a file.
func scaffold(text []byte) []byte {
	front := frontLines(text)
	var b []byte
	for i, line := range diff.SplitLines(text) {
		if i < front || strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			b = append(b, line...)
		}
	}
	return b
}
