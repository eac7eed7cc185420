package watcher

import "math"

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

func (q *queue) has(path string) bool { return q.member[path] }

func (q *queue) len() int { return len(q.items) }

func (q *queue) oldestSeq() uint64 {
	if len(q.items) == 0 {
		return never
	}
	return q.items[0].seq
}
