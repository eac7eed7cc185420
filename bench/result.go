package main

import (
	"slices"
	"time"
)

// A result is what was measured on one tree. What was not measured is zero.
type result struct {
	name   string
	census *census

	build     time.Duration
	peak      int64 // resident memory at most, while it was built
	first     time.Duration
	indexSize int64

	idleTime   float64 // of a core
	anonymous  int64
	fileBacked int64

	quizzes    []quiz
	took       map[string]latencies // by quiz, as the client sees them
	inside     map[string]latencies // of that, in the daemon
	incomplete int                  // answers that did not have all there is

	restart time.Duration
	saves   []savesResult
	after   int64 // anonymous memory at the end

	rival   *rivalFigures
	scan    map[string]latencies
	scanner string // its version
}

type latencies []time.Duration

// quantile is a latency that so many of a hundred do not exceed.
func (l latencies) quantile(percent int) time.Duration {
	if len(l) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l))
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)]
}

// A savesResult is how long it took from saves to finding them.
type savesResult struct {
	loaded bool // while a hundred files a second changed
	synced bool // the question waited; else it was asked until the answer was right
	took   latencies
	rate   float64 // of the other changes
}
