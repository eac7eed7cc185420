package todosync

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// A Planned is a box that would be ticked, and what it waits for.
type Planned struct {
	Wish
	Reason string // why it was not possible so far; empty if it was not tried
}

// A Plan is what reconciliation would do as things are, by path.
type Plan struct {
	Waiting []Planned // is going to be done
	Unclear []Wish    // is left alone: more than one box of the file fits equally
	Known   []Wish    // is left alone: it was that way when it was first seen, or was changed by hand since
	Off     bool      // nothing is done
	Problem string    // why nothing can be done
}

// Plan says what would be done as things are, without doing it.
func (s *Syncer) Plan() Plan {
	s.mu.Lock()
	paths := slices.Sorted(maps.Keys(s.hints))
	if s.catalogue == nil || !s.started {
		s.mu.Unlock()
		return Plan{Off: s.Off, Problem: "not every file was seen yet"}
	}
	s.mu.Unlock()
	rules := s.Rules()
	var files []*File
	for _, path := range paths {
		if f := s.read(path, rules); f != nil {
			files = append(files, f)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.catalogue.clone()
	done, _ := c.Learn(files, s.wishes, rules)
	if s.Off {
		done = nil
	}
	wishes, _ := c.Resolve(done, rules)
	wishes = merge(c.Standing(s.wishes, rules), wishes)
	known, unclear := c.Resolve(c.Completed(), rules)
	p := Plan{Off: s.Off, Unclear: unclear}
	if s.unsaved != nil {
		p.Problem = s.unsaved.Error()
	}
	for _, w := range wishes {
		planned := Planned{Wish: w}
		if a := s.at[w.Path]; a != nil {
			planned.Reason = a.reason
		}
		p.Waiting = append(p.Waiting, planned)
	}
	p.Known = slices.DeleteFunc(known, func(w Wish) bool {
		return slices.ContainsFunc(wishes, func(v Wish) bool { return v.Path == w.Path && v.compare(w) == 0 })
	})
	return p
}

// Status is how reconciliation is doing.
type Status struct {
	Planned int       // boxes that are going to be ticked
	Waiting []Waiting // files that could not be written so far, by path
	Unclear int       // boxes that are left alone because another of their file fits equally
	Known   int       // boxes that are left alone because they were open when their task was first seen done
	Off     bool
	Problem string
}

// Waiting is a file that could not be written so far, and why.
type Waiting struct {
	Path   string
	Reason string
}

// Status says how reconciliation is doing.
func (s *Syncer) Status() Status {
	p := s.Plan()
	st := Status{Planned: len(boxes(p.wishes())), Unclear: len(boxes(p.Unclear)), Known: len(boxes(p.Known)), Off: p.Off, Problem: p.Problem, Waiting: []Waiting{}}
	for _, w := range p.Waiting {
		if n := len(st.Waiting); w.Reason != "" && (n == 0 || st.Waiting[n-1].Path != w.Path) {
			st.Waiting = append(st.Waiting, Waiting{w.Path, w.Reason})
		}
	}
	return st
}

func (p *Plan) wishes() []Wish {
	list := make([]Wish, len(p.Waiting))
	for i, w := range p.Waiting {
		list[i] = w.Wish
	}
	return list
}

// boxes are wishes, one for each box that they are about.
func boxes(list []Wish) []Wish {
	same := func(a, b Wish) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Done.ID, b.Done.ID), slices.Compare(a.Done.Text[:], b.Done.Text[:]),
			slices.Compare(a.Done.Under[:], b.Done.Under[:]), cmp.Compare(a.Done.Section, b.Done.Section))
	}
	list = slices.SortedFunc(slices.Values(list), same)
	return slices.CompactFunc(list, func(a, b Wish) bool { return same(a, b) == 0 })
}

// ByHand reports whether a box was done by hand, as far as is known: it is not
// one that reconciliation ticked.
func (s *Syncer) ByHand(c *Copy) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.with, func(w Copy) bool { return w.Path == c.Path && w.is(&c.Box) }) {
		return false
	}
	if s.catalogue == nil {
		return true
	}
	f := s.catalogue.files[c.Path]
	return f == nil || !slices.ContainsFunc(f.Boxes, func(b Box) bool { return b.State == Ticked && b.is(&c.Box) })
}
