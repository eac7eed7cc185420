package watcher

import (
	"cmp"
	"container/heap"
	"math"
)

// never exceeds every sequence number of a mark.
const never = math.MaxUint64

// A queue holds each path once, in the order of the first insertion.
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
		*q = queue{} // release the memory
	} else {
		delete(q.member, first.path)
	}
	return first.path, first.seq
}

func (q *queue) len() int { return len(q.items) }

func (q *queue) oldestSeq() uint64 {
	if len(q.items) == 0 {
		return never
	}
	return q.items[0].seq
}

// dueHeap is a min-heap of entries ordered by due time, then by path.
type dueHeap []*pendingPath

// put inserts an entry, or restores its position after its due time changed.
func (h *dueHeap) put(e *pendingPath) {
	if e.index < 0 {
		heap.Push(h, e)
	} else {
		heap.Fix(h, e.index)
	}
}

// remove deletes an entry, if the heap contains it.
func (h *dueHeap) remove(e *pendingPath) {
	if e.index >= 0 {
		heap.Remove(h, e.index)
	}
}

// Len implements [heap.Interface], as do the other methods.
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
	e := x.(*pendingPath)
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop removes and returns the last entry.
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	e.index = -1
	return e
}
