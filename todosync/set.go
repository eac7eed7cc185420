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

// Set opens or ticks boxes at a caller's request, in entries that may allows,
// and then ticks the resulting copies elsewhere. It returns the outcomes by
// path; together they are one change in the journal. Of copies on several days,
// those of the last day count as done by hand, and the others as ticked with
// them.
func (s *Syncer) Set(ctx context.Context, boxes []Copy, state memory.TaskState,
	may func(*memory.Entry) bool) []Outcome {
	boxes = slices.SortedFunc(slices.Values(boxes), func(a, b Copy) int { return strings.Compare(a.Path, b.Path) })
	all := boxes
	var outcomes []Outcome
	var changed []string
	group := ""
	for len(boxes) > 0 {
		path, n := boxes[0].Path, 1
		for n < len(boxes) && boxes[n].Path == path {
			n++
		}
		written, err := s.Writer.Write(ctx, vault.Change{
			Path: path, Cause: Cause, Group: group, Reason: "asked for: " + state.String(), Asked: true,
			Edit: s.edit(path, func(doc *memory.Document, parse Parse) ([]byte, error) {
				return Set(doc, boxes[:n], state, may, parse)
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
		s.along(all)
	}
	s.Request(ctx, changed...)
	return outcomes
}

// maxWith limits the number of boxes remembered from days outside the
// catalogue.
const maxWith = 1000

// along records which boxes were ticked together with boxes of a later day.
func (s *Syncer) along(boxes []Copy) {
	last := slices.MaxFunc(boxes, func(a, b Copy) int { return strings.Compare(a.Day, b.Day) })
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range boxes {
		if b.Day == last.Day || b.Day == "" {
			continue
		}
		s.wishes = merge(s.wishes, []Wish{{last, b.Path}})
		s.with = append(s.with, b)
		if len(s.with) > maxWith {
			s.with = slices.Delete(s.with, 0, maxWith/2)
		}
	}
}

// edit converts a document change to an edit of an existing file. If the change
// fails, the edit returns a *vault.RefusedError.
func (s *Syncer) edit(path string, change func(*memory.Document, Parse) ([]byte, error)) func(*vault.File) ([]byte,
	error) {
	return func(old *vault.File) ([]byte, error) {
		if old == nil {
			return nil, nil
		}
		out, err := change(s.Parse(*old), func(source []byte) *memory.Document {
			next := *old
			next.Data = source
			return s.Parse(next)
		})
		if err != nil {
			return nil, &vault.RefusedError{Path: path, Reason: err.Error()}
		}
		return out, nil
	}
}
