package ops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// An erasure is recorded, by ids and numbers only, before it starts, so that
// the next start of the daemon can finish an interrupted one. The text is
// removed from the copies kept beside its files, then from the files, and then
// from the journal, the use counts and the index.

type erasure struct {
	Subject string            `json:"subject"` // of the caller
	Files   []erasedFile      `json:"files,omitempty"`
	Journal []journal.HunkSet `json:"journal,omitempty"`
}

type erasedFile struct {
	Path    string        `json:"path"`
	Entries []erasedEntry `json:"entries,omitempty"` // none: the whole file
	Summary []int         `json:"summary,omitempty"` // lines of the summary, from 0, if the summary is one of the entries; none: all
	Digest  string        `json:"digest,omitempty"`  // of a file that is erased as a whole
}

// An erasedEntry is an entry, a part of one, or the summary of a file.
type erasedEntry struct {
	ID     string `json:"id"`
	Digest string `json:"digest"`         // of its text
	From   int    `json:"from,omitempty"` // first line of the part, from 1; 0 for the whole entry
	To     int    `json:"to,omitempty"`   // last line of the part
}

// partID returns the id of the entry, with the first line of the part.
func (o erasedEntry) partID() string { return o.ID + partSuffix(o.From) }

// partSuffix returns the end of the id of a part of an entry, or "" for the whole entry.
func partSuffix(from int) string {
	if from == 0 {
		return ""
	}
	return fmt.Sprint(":", from)
}

func (o erasedEntry) isIn(doc *memory.Document, e *memory.Entry) (lines [2]int, ok bool) {
	if o.From == 0 {
		lines = [2]int{e.Line, e.EndLine}
	} else {
		lines = [2]int{e.Line + o.From - 1, e.Line + o.To - 1}
	}
	return lines, o.ID == e.ID && o.Digest == digestOf(doc.SourceLines(e.Line, e.EndLine))
}

func (o *erasure) erasesEntry(path, id string) bool {
	return slices.ContainsFunc(o.Files, func(f erasedFile) bool {
		return f.Path == path &&
			(len(f.Entries) == 0 || slices.ContainsFunc(f.Entries, func(e erasedEntry) bool { return e.ID == id }))
	})
}

// recordErasure adds an erasure to the unfinished ones on disk and returns the
// previous ones.
func (m adminOps) recordErasure(plan erasure) (before []erasure, err error) {
	before, err = m.readErasures()
	if err == nil {
		err = m.writeErasures(append(slices.Clip(before), plan))
	}
	if err != nil {
		return nil, api.Errorf(api.Unavailable, "cannot record the removal, nothing was removed: %v", err)
	}
	return before, nil
}

func (m adminOps) writeErasures(list []erasure) error {
	if m.ErasureFile == "" {
		return nil
	}
	return state.Save(m.ErasureFile, list)
}

// readErasures returns the recorded erasures, which may be unfinished.
func (m adminOps) readErasures() ([]erasure, error) {
	if m.ErasureFile == "" {
		return nil, nil
	}
	var left []erasure
	err := state.Load(m.ErasureFile, 0, &left)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return left, err
}

// FinishErasures finishes the erasures that were interrupted when the daemon
// stopped. Call it after all files have been read. The joined errors name the
// files that failed; their erasure stays pending.
func (m *Memory) FinishErasures(ctx context.Context) error {
	w := m.adminOps()
	m.forgetLists.eraseMu.Lock()
	defer m.forgetLists.eraseMu.Unlock()
	if m.ErasureFile == "" || m.Writer == nil {
		return nil
	}
	left, err := w.readErasures()
	if err != nil || len(left) == 0 {
		return err
	}
	var errs []error
	for i := range left {
		plan := &left[i]
		c := Call{Scope: memory.Scope{Subject: plan.Subject, Context: memory.Private}}
		if err := w.renewView(&c); err != nil {
			errs = append(errs, err)
			continue
		}
		// Entries that changed since the record were removed or edited by
		// others; they are left alone.
		var there erasure
		words := &textMatcher{}
		for _, f := range plan.Files {
			whole := len(f.Entries) == 0
			if !whole {
				f = w.remainingErasure(c, f, words)
			}
			if whole || len(f.Entries) > 0 {
				there.Files = append(there.Files, f)
			}
		}
		_, failed := w.removeListed(ctx, c, &there, words)
		for _, f := range failed {
			errs = append(errs, fmt.Errorf("forget %s: %s", f.ID, f.Reason))
		}
		errs = append(errs, w.removeFiles(ctx, &there, true), w.eraseCopies(ctx, plan, words))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return w.writeErasures(nil)
}

// remainingErasure returns the parts of a file that are still to be erased, and adds them
// to words.
func (m adminOps) remainingErasure(c Call, f erasedFile, words *textMatcher) erasedFile {
	there := erasedFile{Path: f.Path, Summary: f.Summary}
	doc, _, err := m.loadFile(c, f.Path)
	if err != nil {
		return there
	}
	for i := range doc.Entries {
		for _, want := range f.Entries {
			if lines, ok := want.isIn(doc, &doc.Entries[i]); ok {
				there.Entries = append(there.Entries, want)
				words.addErased(doc.SourceLines(lines[0], lines[1]), doc.Entries[i].Norm, want.From > 0)
			}
		}
	}
	if want := (erasedEntry{ID: summaryID, Digest: digestOf(summaryOf(doc))}); slices.Contains(f.Entries, want) {
		there.Entries = append(there.Entries, want)
	}
	return there
}
