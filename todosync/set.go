package todosync

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// An Outcome is the result of a requested change of one file.
type Outcome struct {
	Path    string
	Changed bool  // false if the file already had the requested state
	Err     error // from [Writer]
}

// Set opens or ticks the boxes of tasks at a caller's request, in entries for which
// allowed returns true, and then ticks the resulting copies elsewhere. It returns one
// outcome per file, ordered by path; a failed file does not stop the others.
// Together the changes are one change in the journal. Of copies on several
// days, those of the last day count as done by hand, and the others as ticked
// with them. No task may be without boxes.
func (s *Syncer) Set(ctx context.Context, tasks [][]Copy, state memory.TaskState,
	allowed func(*memory.Entry) bool) []Outcome {
	boxes := slices.Concat(tasks...)
	slices.SortStableFunc(boxes, func(a, b Copy) int { return strings.Compare(a.Path, b.Path) })
	var outcomes []Outcome
	var changed []string
	group := ""
	for len(boxes) > 0 {
		path, n := boxes[0].Path, 1
		for n < len(boxes) && boxes[n].Path == path {
			n++
		}
		written, err := s.Writer.Write(ctx, vault.Change{
			Path: path, Cause: cause, Group: group, Reason: "requested: " + state.String(), Requested: true,
			Edit: s.editDocument(path, func(doc *memory.Document, parse Parse) ([]byte, error) {
				return Set(doc, boxes[:n], state, allowed, parse)
			}),
		})
		group = cmp.Or(group, written.ID)
		outcomes = append(outcomes, Outcome{path, written.Changed, err})
		if written.Changed {
			changed = append(changed, path)
		}
		boxes = boxes[n:]
	}
	if state == memory.Done {
		s.mu.Lock()
		for _, copies := range tasks {
			last := slices.MaxFunc(copies, func(a, b Copy) int { return strings.Compare(a.Day, b.Day) })
			for _, b := range copies {
				if b.Day != last.Day && b.Day != "" {
					s.requests = mergeRequests(s.requests, []TickRequest{{last, b.Path}})
				}
			}
		}
		s.mu.Unlock()
	}
	s.Request(ctx, changed...)
	return outcomes
}

// editDocument is [editFile] with a *vault.RefusedError for a change that fails.
func (s *Syncer) editDocument(path string, change documentChange) func(*vault.File) ([]byte, error) {
	return editFile(s.Parse, func(doc *memory.Document, parse Parse) ([]byte, error) {
		out, err := change(doc, parse)
		if err != nil {
			return nil, &vault.RefusedError{Path: path, Reason: err.Error()}
		}
		return out, nil
	})
}
