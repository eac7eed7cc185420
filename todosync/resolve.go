package todosync

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/memory"
)

// A TickRequest is a request to tick a box in the file at Path, because its task was
// done elsewhere.
type TickRequest struct {
	Done Copy   `json:"done"`
	Path string `json:"path"`
}

func (w TickRequest) compare(v TickRequest) int {
	return cmp.Or(strings.Compare(w.Path, v.Path), strings.Compare(w.Done.Path, v.Done.Path),
		strings.Compare(w.Done.ID, v.Done.ID),
		cmp.Compare(w.Done.Text, v.Done.Text), cmp.Compare(w.Done.Under, v.Done.Under),
		cmp.Compare(w.Done.Section, v.Done.Section),
		strings.Compare(w.Done.Owner, v.Done.Owner))
}

// Resolve returns the requests that completions cause in the known files. If
// several boxes of a file match, the request is ambiguous and ticks none of them. The
// lists are sorted and independent of the order of the completions.
func (c *Catalogue) Resolve(done []Copy, r *Rules) (requests, ambiguous []TickRequest) {
	if len(done) == 0 {
		return nil, nil
	}
	x := newIndex(c)
	for _, d := range done {
		for _, f := range x.files(&d) {
			w := TickRequest{d, f.Path}
			switch c.judgeRequest(w, r, x) {
			case wanted:
				requests = append(requests, w)
			case unclear:
				ambiguous = append(ambiguous, w)
			}
		}
	}
	return mergeRequests(requests, nil), mergeRequests(ambiguous, nil)
}

// mergeRequests returns the sorted union of two lists.
func mergeRequests(a, b []TickRequest) []TickRequest {
	list := slices.Concat(a, b)
	slices.SortFunc(list, TickRequest.compare)
	return slices.CompactFunc(list, func(a, b TickRequest) bool { return a.compare(b) == 0 })
}

// StillValid returns the requests that are still valid for the known files.
func (c *Catalogue) StillValid(requests []TickRequest, r *Rules) []TickRequest {
	if len(requests) == 0 {
		return nil
	}
	x := newIndex(c)
	return slices.DeleteFunc(slices.Clone(requests),
		func(w TickRequest) bool { return c.judgeRequest(w, r, x) != wanted })
}

// Completed returns all boxes that count as done by hand.
func (c *Catalogue) Completed() []Copy {
	var list []Copy
	for _, f := range c.Files() {
		for i := range f.Boxes {
			if !f.Gone && f.Boxes[i].State == Done {
				list = append(list, f.Copy(i))
			}
		}
	}
	return list
}

// A verdict is the result of judging a request.
type verdict uint8

const (
	unwanted verdict = iota
	unclear          // more than one box matches equally
	wanted
)

// judgeRequest decides whether a completion ticks a box of a file. The box must be
// open, within the days of the rules, on the same day as the completion or
// earlier, and not unticked by hand. The completion must still exist. No copy
// of an earlier day may have been done by hand, because then the task is a
// repeated one.
func (c *Catalogue) judgeRequest(w TickRequest, r *Rules, x *boxIndex) verdict {
	f, source := c.files[w.Path], c.files[w.Done.Path]
	switch {
	case f == nil || f.Gone || source == nil || source.Gone || f == source:
		return unwanted
	case r.AppendOnly != nil && r.AppendOnly(f.Path):
		return unwanted
	case f.Day != "" && (f.Day < r.First || f.Day > r.Last):
		return unwanted
	case w.Done.Day != "" && (f.Day > w.Done.Day || w.Done.Day > r.Last):
		return unwanted
	case !source.hasDone(&w.Done):
		return unwanted
	}
	list := r.Candidates(f, &w.Done)
	open := func(i int) bool { return f.Boxes[i].State == Open }
	switch {
	case !slices.ContainsFunc(list, open):
		return unwanted
	case len(list) > 1:
		return unclear
	}
	target := f.Copy(list[0])
	for _, earlier := range x.files(&target) {
		if earlier.Day == "" || earlier.Day >= f.Day {
			continue
		}
		for i := range earlier.Boxes {
			if copied := earlier.Copy(i); copied.State == Done && (target.Private || !copied.Private) &&
				r.Same(&target, &copied) {
				return unwanted
			}
		}
	}
	if !r.mayTick(&w.Done, &target) {
		return unwanted // the author of the completion may not change the box
	}
	return wanted
}

// mayTick reports whether the author of a completion may change a box: a subject
// may change its own boxes, and any author those of the same author. From an inbox, only
// boxes there change.
func (r *Rules) mayTick(done, box *Copy) bool {
	author := &done.Author
	switch inbox := memory.InboxOf(done.Path); {
	case inbox != "" && !disk.Within(box.Path, inbox):
		return false
	case *author == memory.Author{}, *author == box.Author:
		return true
	case memory.IsUntrustedSource(author.Source):
		return false
	}
	return author.By != "" && author.By == r.Subject(box.Owner)
}

// hasDone reports whether a box is still done in the file.
func (f *File) hasDone(d *Copy) bool {
	return slices.ContainsFunc(f.Boxes, func(b Box) bool {
		return b.State == Done && b.BoxKey == d.BoxKey
	})
}

// A boxIndex finds the files that may contain copies of a task.
type boxIndex struct {
	texts map[Digest][]*File
	ids   map[string][]*File
}

// newIndex indexes the boxes of all present files by text and by id.
func newIndex(c *Catalogue) *boxIndex {
	x := &boxIndex{map[Digest][]*File{}, map[string][]*File{}}
	for _, f := range c.Files() {
		if f.Gone {
			continue
		}
		for i := range f.Boxes {
			b := &f.Boxes[i]
			if b.Text != "" {
				x.texts[b.Text] = append(x.texts[b.Text], f)
			}
			if b.ID != "" {
				x.ids[b.ID] = append(x.ids[b.ID], f)
			}
		}
	}
	return x
}

// files returns the files that have a box with the same text or id, sorted by
// path.
func (x *boxIndex) files(c *Copy) []*File {
	list := slices.Concat(x.texts[c.Text], x.ids[c.ID])
	slices.SortFunc(list, byPath)
	return slices.Compact(list)
}
