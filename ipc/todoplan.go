package ipc

import (
	"slices"

	"github.com/memwatchd/memwatchd/todosync"
)

// TodoPlan is what is going to be ticked because it was done elsewhere, and what
// is not.
type TodoPlan struct {
	Waiting []TodoTick `json:"waiting"`           // is going to be ticked
	Unclear []TodoTick `json:"unclear"`           // is left alone: more than one box of the file fits equally
	Known   []TodoTick `json:"known"`             // is left alone: it was so when it was first seen, or a person has decided since
	Off     bool       `json:"off,omitempty"`     // nothing is ticked by itself
	Problem string     `json:"problem,omitempty"` // why nothing is ticked now
}

// A TodoTick is a box that is ticked, or not, because of another one.
type TodoTick struct {
	Text   string  `json:"text"`
	Places []Place `json:"places"`           // the box; all that fit, if it is unclear which it is
	Done   Place   `json:"done"`             // the box that is done
	Reason string  `json:"reason,omitempty"` // what it waits for, if it could not be written so far
}

// todoPlan is the plan as far as the caller can read both ends of it.
func (m *Memory) todoPlan(c Call) *TodoPlan {
	plan := &TodoPlan{Waiting: []TodoTick{}, Unclear: []TodoTick{}, Known: []TodoTick{}}
	p, rules := m.Todos.Plan(), m.Todos.Rules()
	if plan.Off = p.Off; c.Whole {
		plan.Problem = p.Problem
	}
	ticks := func(wishes []todosync.Wish) []TodoTick {
		list := []TodoTick{}
		for _, w := range wishes {
			if t, ok := m.tickOf(c, rules, w); ok {
				list = append(list, t)
			}
		}
		return list
	}
	for _, w := range p.Waiting {
		for _, t := range ticks([]todosync.Wish{w.Wish}) {
			t.Reason = w.Reason
			plan.Waiting = append(plan.Waiting, t)
		}
	}
	plan.Unclear, plan.Known = ticks(p.Unclear), ticks(p.Known)
	return plan
}

// tickOf is a wish as the caller can see it, if it can.
func (m *Memory) tickOf(c Call, rules *todosync.Rules, w todosync.Wish) (t TodoTick, ok bool) {
	places := func(path string, meant func(*todosync.File) []int) (text string, list []Place) {
		doc, shown, err := m.load(c, path)
		if err != nil {
			return "", nil
		}
		copies := tasksOf(c, doc, shown, "")
		for _, i := range meant(todosync.FileOf(doc)) {
			b := todosync.FileOf(doc).Boxes[i]
			j := slices.IndexFunc(copies, func(t taskCopy) bool { return t.Entry == b.Entry && t.Task == b.Task })
			if j < 0 {
				return "", nil
			}
			text, list = copies[j].text, append(list, copies[j].place.Place)
		}
		return text, list
	}
	t.Text, t.Places = places(w.Path, func(f *todosync.File) []int { return rules.Candidates(f, w) })
	_, done := places(w.Done.Path, func(f *todosync.File) []int { return f.Holding(w) })
	if len(t.Places) == 0 || len(done) == 0 {
		return TodoTick{}, false
	}
	t.Done = done[0]
	return t, true
}
