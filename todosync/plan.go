package todosync

import (
	"maps"
	"slices"

	"github.com/memwatchd/memwatchd/api"
)

// A Planned is a box to tick and the reason for its delay.
type Planned struct {
	TickRequest
	Reason string // why the last attempt failed; empty if there was none
}

// A Plan lists the changes that reconciliation would make now, by path.
type Plan struct {
	Waiting []Planned     // boxes to tick
	Unclear []TickRequest // not ticked: more than one box of the file matches equally
	Known   []TickRequest // not ticked: unchanged since first seen, or changed by hand since
	Off     bool          // reconciliation is off
	Problem string        // why reconciliation cannot run
}

// Plan returns the changes that reconciliation would make now, without making
// them. Before every file has been seen, the plan contains only a problem.
func (s *Syncer) Plan() Plan {
	s.mu.Lock()
	paths := slices.Sorted(maps.Keys(s.hints))
	if s.catalogue == nil || !s.started {
		s.mu.Unlock()
		return Plan{Off: s.Off, Problem: "not all files have been scanned yet"}
	}
	s.mu.Unlock()
	rules := s.Rules()
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
	requests, _, _ := c.Resolve(done, rules)
	requests = mergeRequests(c.StillValid(s.requests, rules), requests)
	known, unclear, _ := c.Resolve(c.Completed(), rules)
	p := Plan{Off: s.Off, Unclear: unclear}
	if s.unsaved != nil {
		p.Problem = s.unsaved.Error()
	}
	for _, w := range requests {
		planned := Planned{TickRequest: w}
		if a := s.attempts[w.Path]; a != nil {
			planned.Reason = a.reason
		}
		p.Waiting = append(p.Waiting, planned)
	}
	p.Known = slices.DeleteFunc(known, func(w TickRequest) bool {
		return slices.ContainsFunc(requests, func(v TickRequest) bool { return v.Path == w.Path && v.compare(w) == 0 })
	})
	return p
}

// Status returns the current state of reconciliation.
func (s *Syncer) Status() *api.TodosyncStatus {
	p := s.Plan()
	st := &api.TodosyncStatus{Unclear: countBoxes(p.Unclear), Known: countBoxes(p.Known), Off: p.Off,
		Problem: p.Problem, Waiting: []api.Skipped{}}
	var requests []TickRequest
	for _, w := range p.Waiting {
		requests = append(requests, w.TickRequest)
		if n := len(st.Waiting); w.Reason != "" && (n == 0 || st.Waiting[n-1].Path != w.Path) {
			st.Waiting = append(st.Waiting, api.Skipped{Path: w.Path, Reason: w.Reason})
		}
	}
	st.Planned = countBoxes(requests)
	return st
}

// countBoxes returns the number of target boxes of requests.
func countBoxes(list []TickRequest) int {
	boxes := map[TickRequest]bool{}
	for _, w := range list {
		d := &w.Done.Box
		boxes[TickRequest{Copy{Box: Box{ID: d.ID, Text: d.Text, Under: d.Under, Section: d.Section}}, w.Path}] = true
	}
	return len(boxes)
}

// ByHand reports whether a box counts as done by hand, which means that
// reconciliation is not known to have ticked it.
func (s *Syncer) ByHand(c *Copy) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.tickedWith, func(w Copy) bool { return w.Path == c.Path && w.sameBox(&c.Box) }) {
		return false
	}
	if s.catalogue == nil {
		return true
	}
	f := s.catalogue.files[c.Path]
	return f == nil || !slices.ContainsFunc(f.Boxes, func(b Box) bool { return b.State == Ticked && b.sameBox(&c.Box) })
}
