package todosync

import (
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// Parse parses a version of a file that is not written yet.
type Parse func(source []byte) *memory.Document

type documentChange func(*memory.Document, Parse) ([]byte, error)

// editFile converts a document change to an edit of an existing file.
func editFile(parse func(vault.File) *memory.Document, change documentChange) func(*vault.File) ([]byte, error) {
	return func(old *vault.File) ([]byte, error) {
		if old == nil {
			return nil, nil
		}
		return change(parse(*old), func(source []byte) *memory.Document {
			next := *old
			next.Data = source
			return parse(next)
		})
	}
}

// Tick returns the source of a document with the boxes of requests ticked and
// matching counters. It returns nil without an error if no request applies any
// more. The error is that of [memory.Revision.Apply].
func (r *Rules) Tick(doc *memory.Document, requests []TickRequest, parse Parse) ([]byte, error) {
	f := fileOf(doc)
	revision := doc.Revise()
	for i := range requests {
		if list := r.Candidates(f, &requests[i].Done); len(list) == 1 && f.Boxes[list[0]].State == Open {
			b := f.Boxes[list[0]]
			revision.SetTask(b.Entry, b.Task, memory.Done)
		}
	}
	return applyRevision(revision, true, parse)
}

// Set returns the source of a document with the given boxes set to state. It
// changes only boxes that still match their copies, in entries for which
// allowed returns true. If more boxes match than are given, it changes those at the
// given positions. It returns nil without an error if no box changes. The
// error is that of [memory.Revision.Apply].
func Set(doc *memory.Document, boxes []Copy, state memory.TaskState, allowed func(*memory.Entry) bool,
	parse Parse) ([]byte, error) {
	f := BoxesOf(doc)
	revision := doc.Revise()
	for i := range f.Boxes {
		b := &f.Boxes[i]
		given, matching, here := 0, 0, false
		for _, c := range boxes {
			if c.BoxKey == b.BoxKey {
				given++
				here = here || c.Entry == b.Entry && c.Task == b.Task
			}
		}
		for j := range f.Boxes {
			if f.Boxes[j].BoxKey == b.BoxKey {
				matching++
			}
		}
		if given > 0 && (here || matching <= given) && allowed(&doc.Entries[b.Entry]) {
			revision.SetTask(b.Entry, b.Task, state)
		}
	}
	// In files of other kinds, a field of that name may have another meaning.
	return applyRevision(revision, Concerns(doc.Place.Kind), parse)
}

// applyRevision applies a revision and, if counters is set, updates the counters. It
// returns nil if the revision is empty.
func applyRevision(revision *memory.Revision, counters bool, parse Parse) ([]byte, error) {
	if revision.Empty() {
		return nil, nil
	}
	if counters {
		revision.SetCounters()
	}
	return revision.Apply(parse)
}
