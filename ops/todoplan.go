package ops

import (
	"slices"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// todoPlan is the plan as far as the caller can read both ends of it.
func (m writing) todoPlan(c Call) *api.TodoPlan {
	plan := &api.TodoPlan{Waiting: []api.TodoTick{}, Diff: []api.FileDiff{}, Unclear: []api.TodoTick{}, Known: []api.TodoTick{}}
	p, rules := m.Todos.Plan(), m.Todos.Rules()
	if plan.Off = p.Off; c.Whole {
		plan.Problem = p.Problem
	}
	ticks := func(wishes []todosync.Wish) []api.TodoTick {
		list := []api.TodoTick{}
		for _, w := range wishes {
			if t, ok := m.tickOf(c, rules, w); ok {
				list = append(list, t)
			}
		}
		return list
	}
	var differ differ
	var due []todosync.Wish       // of the last file
	for i, w := range p.Waiting { // in the order of paths
		for _, t := range ticks([]todosync.Wish{w.Wish}) {
			t.Reason = w.Reason
			plan.Waiting, due = append(plan.Waiting, t), append(due, w.Wish)
		}
		if i == len(p.Waiting)-1 || p.Waiting[i+1].Path != w.Path {
			if hunks := m.tickedHunks(c, rules, w.Path, due); len(hunks) > 0 {
				plan.Diff = append(plan.Diff, differ.file(w.Path, hunks))
			}
			due = nil
		}
	}
	plan.Unclear, plan.Known = ticks(p.Unclear), ticks(p.Known)
	return plan
}

// tickedHunks are what wishes would change in a file, as the caller is shown it.
func (m writing) tickedHunks(c Call, rules *todosync.Rules, path string, wishes []todosync.Wish) []journal.Hunk {
	doc, err := m.Files.Load(path)
	if len(wishes) == 0 || err != nil {
		return nil
	}
	parse := func(source []byte) *memory.Document { return m.Parse(vault.File{Path: path, Data: source}) }
	ticked, err := rules.Tick(doc, wishes, parse)
	if ticked == nil || err != nil {
		return nil
	}
	before, after := doc.For(c.View), parse(ticked).For(c.View)
	if before == nil || after == nil {
		return nil
	}
	return journal.Hunks([]byte(before.Shown(c.View).Text()), []byte(after.Shown(c.View).Text()))
}

// tickOf is a wish as the caller can see it, if it can.
func (m writing) tickOf(c Call, rules *todosync.Rules, w todosync.Wish) (t api.TodoTick, ok bool) {
	places := func(path string, meant func(*todosync.File) []int) (text string, list []api.Place) {
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
		return api.TodoTick{}, false
	}
	t.Done = done[0]
	return t, true
}
