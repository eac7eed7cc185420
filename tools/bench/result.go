package main

import (
	"slices"
	"time"
)

// A result contains the measurements of one tree. Missing measurements are
// zero.
type result struct {
	name   string
	census *census

	build     time.Duration
	peak      int64 // maximum resident memory during the build
	first     time.Duration
	indexSize int64

	idleTime   float64 // share of a core
	anonymous  int64
	fileBacked int64

	quizzes    []quiz
	took       map[string]latencies // by quiz, measured by the client
	inside     map[string]latencies // by quiz, measured by the daemon
	incomplete int                  // number of incomplete answers

	restart time.Duration
	saves   []savesResult
	after   int64 // anonymous memory at the end

	rival *rivalFigures
	scan  map[string]latencies
	// commands contains the times of search commands, from start to end.
	commands map[string]latencies
	scanner  string // version of ripgrep
}

type latencies []time.Duration

// quantile returns the latency that the given percentage of the latencies does
// not exceed.
func (l latencies) quantile(percent int) time.Duration {
	if len(l) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l))
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)]
}

// A savesResult contains the times from saves to finding them.
type savesResult struct {
	loaded bool // during changes of a hundred other files per second
	synced bool // one question that waits; otherwise questions are repeated until the answer is right
	took   latencies
	rate   float64 // of the other changes, per second
}
