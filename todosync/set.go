package todosync

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// An Outcome is what became of one file that was asked to be changed.
type Outcome struct {
	Path    string
	Changed bool  // false if it was so already
	Err     error // of [Writer]
}

// Set opens or ticks boxes because somebody asked for it, in entries that may be
// changed, and then does what follows from that elsewhere. The outcomes are by
// path; together they are one change in the journal. Of copies on several days
// those of the last count as done by hand, the others as ticked with them.
func (s *Syncer) Set(ctx context.Context, boxes []Copy, state memory.TaskState, may func(*memory.Entry) bool) []Outcome {
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

// maxWith is how many boxes are remembered of days that are not known any more.
const maxWith = 1000

// along notes which boxes were ticked with those of a later day.
func (s *Syncer) along(boxes []Copy) {
	last := slices.MaxFunc(boxes, func(a, b Copy) int { return strings.Compare(a.Day, b.Day) })
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range boxes {
		if b.Day == last.Day || b.Day == "" {
			continue
		}
		s.wishes = merge(s.wishes, []Wish{{last, b.Path}})
		if s.with = append(s.with, b); len(s.with) > maxWith {
			s.with = slices.Delete(s.with, 0, maxWith/2)
		}
	}
}

// edit makes an edit of a file that is there from a change to a document. What
// cannot be done to a file as it is, is refused.
func (s *Syncer) edit(path string, change func(*memory.Document, Parse) ([]byte, error)) func(*vault.File) ([]byte, error) {
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
