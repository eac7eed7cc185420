package todosync

import (
	"maps"
	"slices"

	"github.com/memwatchd/memwatchd/api"
)

// Status returns the current state of reconciliation, with the changes that it would
// make now. Before every file has been seen, it contains only a problem.
func (s *Syncer) Status() *api.TodosyncStatus {
	status := &api.TodosyncStatus{Off: s.Off, Waiting: []api.Skipped{}}
	s.mu.Lock()
	paths := slices.Sorted(maps.Keys(s.hints))
	started := s.catalogue != nil && s.started
	s.mu.Unlock()
	if !started {
		status.Problem = "not all files have been scanned yet"
		return status
	}
	rules := s.rules()
	var files []*File
	for _, path := range paths {
		if f := s.readFile(path, rules); f != nil {
			files = append(files, f)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.catalogue.clone()
	done, _ := c.Update(files, s.requests, rules)
	if s.Off {
		done = nil
	}
	requests, _ := c.Resolve(done, rules)
	requests = mergeRequests(c.StillValid(s.requests, rules), requests)
	for _, w := range requests {
		a, n := s.attempts[w.Path], len(status.Waiting)
		if a != nil && a.reason != "" && (n == 0 || status.Waiting[n-1].Path != w.Path) {
			status.Waiting = append(status.Waiting, api.Skipped{Path: w.Path, Reason: a.reason})
		}
	}
	known, unclear := c.Resolve(c.Completed(), rules)
	known = slices.DeleteFunc(known, func(w TickRequest) bool {
		return slices.ContainsFunc(requests, func(v TickRequest) bool { return v.compare(w) == 0 })
	})
	status.Planned, status.Known, status.Unclear = countBoxes(requests), countBoxes(known), countBoxes(unclear)
	if s.unsaved != nil {
		status.Problem = s.unsaved.Error()
	}
	return status
}

// countBoxes returns the number of target boxes of requests.
func countBoxes(list []TickRequest) int {
	type target struct {
		BoxKey
		path string
	}
	boxes := map[target]bool{}
	for _, w := range list {
		t := target{w.Done.BoxKey, w.Path}
		t.Owner = ""
		boxes[t] = true
	}
	return len(boxes)
}

// ByHand reports whether a box counts as done by hand, which means that
// reconciliation is not known to have ticked it.
func (s *Syncer) ByHand(c *Copy) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalogue == nil {
		return true
	}
	f := s.catalogue.files[c.Path]
	return f == nil || !slices.ContainsFunc(f.Boxes, func(b Box) bool { return b.State == Ticked && b.BoxKey == c.BoxKey })
}
