package watcher

import (
	"cmp"
	"container/heap"
	"math"
)

// never is later than everything that has been marked.
const never = math.MaxUint64

// A queue holds each path once, in the order in which they were first added.
type queue struct {
	items  []queued
	member map[string]bool
}

type queued struct {
	path string
	seq  uint64
}

func (q *queue) add(path string, seq uint64) {
	if q.member[path] {
		return
	}
	if q.member == nil {
		q.member = make(map[string]bool)
	}
	q.member[path] = true
	q.items = append(q.items, queued{path, seq})
}

func (q *queue) pop() (string, uint64) {
	first := q.items[0]
	q.items = q.items[1:]
	if len(q.items) == 0 {
		*q = queue{} // give the memory back
	} else {
		delete(q.member, first.path)
	}
	return first.path, first.seq
}

func (q *queue) len() int { return len(q.items) }

func (q *queue) oldest() uint64 {
	if len(q.items) == 0 {
		return never
	}
	return q.items[0].seq
}

// dueHeap has the entry first that is due first.
type dueHeap []*entry

// put adds an entry, or moves it to where it belongs now.
func (h *dueHeap) put(e *entry) {
	if e.index < 0 {
		heap.Push(h, e)
	} else {
		heap.Fix(h, e.index)
	}
}

// remove takes an entry out, if it is in.
func (h *dueHeap) remove(e *entry) {
	if e.index >= 0 {
		heap.Remove(h, e.index)
	}
}

// Len is part of [heap.Interface], as are the others.
func (h dueHeap) Len() int { return len(h) }

func (h dueHeap) Less(i, j int) bool {
	return cmp.Or(h[i].due.Compare(h[j].due), cmp.Compare(h[i].path, h[j].path)) < 0
}

func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push appends an entry.
func (h *dueHeap) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop removes the last entry.
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	e.index = -1
	return e
}
