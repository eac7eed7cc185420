package todosync

import (
	"slices"

	"github.com/memwatchd/memwatchd/memory"
)

// Parse reads a version of a file that does not exist yet.
type Parse func(source []byte) *memory.Document

// Tick is a document with what wishes want ticked in it, and with counters that
// agree. It is nil if none of them fits any more.
func (r *Rules) Tick(doc *memory.Document, wishes []Wish, parse Parse) ([]byte, error) {
	f := FileOf(doc)
	revision := doc.Revise()
	for i := range wishes {
		if list := r.candidates(f, &wishes[i].Done); len(list) == 1 && f.Boxes[list[0]].State == Open {
			b := f.Boxes[list[0]]
			revision.SetTask(b.Entry, b.Task, memory.Done)
		}
	}
	return apply(revision, parse)
}

// Set is a document in which boxes are open, or done: those that are what they
// are said to be, in entries that may be changed. It is nil if they are.
func Set(doc *memory.Document, boxes []Copy, state memory.TaskState, may func(*memory.Entry) bool, parse Parse) ([]byte, error) {
	f := FileOf(doc)
	revision := doc.Revise()
	for i := range f.Boxes {
		b := &f.Boxes[i]
		meant := slices.ContainsFunc(boxes, func(c Copy) bool { return c.is(b) })
		if meant && may(&doc.Entries[b.Entry]) {
			revision.SetTask(b.Entry, b.Task, state)
		}
	}
	return apply(revision, parse)
}

// Candidates are the boxes of a file that a wish may mean.
func (r *Rules) Candidates(f *File, w Wish) []int { return r.candidates(f, &w.Done) }

// is reports whether two boxes are the same, done or not.
func (b *Box) is(other *Box) bool {
	return b.ID == other.ID && b.Text == other.Text && b.Under == other.Under && b.Section == other.Section && b.Owner == other.Owner
}

// apply makes a change, and the counters agree with it.
func apply(revision *memory.Revision, parse Parse) ([]byte, error) {
	if revision.Empty() {
		return nil, nil
	}
	revision.SetCounters()
	return revision.Apply(parse)
}

// Holding are the boxes of a file whose completion a wish comes from.
func (f *File) Holding(w Wish) []int {
	for i := range f.Boxes {
		if b := &f.Boxes[i]; b.State.done() && b.is(&w.Done.Box) {
			return []int{i}
		}
	}
	return nil
}
