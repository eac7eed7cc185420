package todosync

import (
	"slices"

	"github.com/memwatchd/memwatchd/memory"
)

// Parse parses a version of a file that is not written yet.
type Parse func(source []byte) *memory.Document

// Tick returns the source of a document with the boxes of requests ticked and
// matching counters. It returns nil without an error if no request applies any
// more. The error is that of [memory.Revision.Apply].
func (r *Rules) Tick(doc *memory.Document, requests []TickRequest, parse Parse) ([]byte, error) {
	f := FileOf(doc)
	revision := doc.Revise()
	for i := range requests {
		if list := r.Candidates(f, &requests[i].Done); len(list) == 1 && f.Boxes[list[0]].State == Open {
			b := f.Boxes[list[0]]
			revision.SetTask(b.Entry, b.Task, memory.Done)
		}
	}
	return applyRevision(revision, parse)
}

// Set returns the source of a document with the given boxes set to state. It
// changes only boxes that still match their copies, in entries for which
// allowed returns true. It returns nil without an error if no box changes. The
// error is that of [memory.Revision.Apply].
func Set(doc *memory.Document, boxes []Copy, state memory.TaskState, allowed func(*memory.Entry) bool,
	parse Parse) ([]byte, error) {
	f := FileOf(doc)
	revision := doc.Revise()
	for i := range f.Boxes {
		b := &f.Boxes[i]
		selected := slices.ContainsFunc(boxes, func(c Copy) bool { return c.sameBox(b) })
		if selected && allowed(&doc.Entries[b.Entry]) {
			revision.SetTask(b.Entry, b.Task, state)
		}
	}
	return applyRevision(revision, parse)
}

// sameBox reports whether two boxes are the same, regardless of their state.
func (b *Box) sameBox(other *Box) bool {
	return b.ID == other.ID && b.Text == other.Text && b.Under == other.Under && b.Section == other.Section &&
		b.Owner == other.Owner
}

// applyRevision updates the counters and applies a revision. It returns nil if
// the revision is empty.
func applyRevision(revision *memory.Revision, parse Parse) ([]byte, error) {
	if revision.Empty() {
		return nil, nil
	}
	revision.SetCounters()
	return revision.Apply(parse)
}

// FindDone returns the index of the completed box in a file that caused a
// request, as a list of one, or nil if the file has no such box.
func (f *File) FindDone(w TickRequest) []int {
	for i := range f.Boxes {
		if b := &f.Boxes[i]; b.State.isDone() && b.sameBox(&w.Done.Box) {
			return []int{i}
		}
	}
	return nil
}
