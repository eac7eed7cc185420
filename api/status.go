package api

import (
	"time"
)

// StatusRequest requests the state of the memory.
type StatusRequest struct {
	Scope
}

// StatusAnswer is the state of the memory. On a listener with a fixed scope it
// contains only whether the memory is healthy.
type StatusAnswer struct {
	*Status
	Healthy bool `json:"healthy"`
}

// Status is the state of the memory, as visible to the owner.
type Status struct {
	Version   string    `json:"version"`
	PID       int       `json:"pid"`
	Started   time.Time `json:"started"`
	Uptime    string    `json:"uptime"` // time since the start
	Root      string    `json:"root"`
	RootState string    `json:"root_state"` // present, missing, or holding: implausibly many files vanished at once
	Sockets   []string  `json:"sockets"`

	Files   int `json:"files"`
	Entries int `json:"entries"`
	Saves   int `json:"saves"` // changed files processed since the start

	Index   IndexStatus `json:"index"`
	Watch   WatchStatus `json:"watch"`
	Latency Latency     `json:"latency"`

	Write     WriteStatus      `json:"write"`
	Todosync  *TodosyncStatus  `json:"todosync,omitempty"`
	Compactor *CompactorStatus `json:"compactor,omitempty"`
	LLM       *ModelStatus     `json:"llm,omitempty"`   // nil if no model is configured
	Topic     *TopicStatus     `json:"topic,omitempty"` // nil if no topic is configured

	SkippedFiles int           `json:"skipped_files"` // number of skipped files and directories
	Skipped      []Skipped     `json:"skipped"`       // first of the skipped files
	ProblemCount int           `json:"problem_count"` // number of problems
	Problems     []FileProblem `json:"problems"`      // first of the problems; problems of the daemon itself have no path

	MemoryBytes uint64 `json:"memory_bytes"`
	OpenFiles   int    `json:"open_files"`
	Goroutines  int    `json:"goroutines"` // number of goroutines of the daemon

	Healthy bool `json:"-"` // see StatusAnswer
}

// IndexStatus is the state of the index.
type IndexStatus struct {
	Revision   uint64 `json:"revision"`
	Pending    int    `json:"pending"`    // changed files that are not indexed yet
	Done       int    `json:"done"`       // files processed by the first build or a rebuild
	Total      int    `json:"total"`      // files of that build; 0 when no build is running
	Generation uint64 `json:"generation"` // grows each time the index is opened or replaced
	Size       int64  `json:"size"`       // bytes on disk
	Degraded   bool   `json:"degraded"`
	Problem    string `json:"problem,omitempty"`
}

// WatchStatus is the state of the watcher.
type WatchStatus struct {
	Directories   int       `json:"directories"`
	Limit         int       `json:"limit"`          // kernel limit on watches; 0 means no limit
	Polled        []string  `json:"polled"`         // directories that are polled, because they cannot be watched
	Overflows     int       `json:"overflows"`      // number of overflows of the event queue since the start
	LastReconcile time.Time `json:"last_reconcile"` // last comparison of all files
	Problem       string    `json:"problem,omitempty"`
}

// WriteStatus is the state of writing to the user's files.
type WriteStatus struct {
	Enabled   bool      `json:"enabled"`           // automatic changes are made
	Applied   int       `json:"applied"`           // changes since the start
	Waiting   []Skipped `json:"waiting"`           // files in use by another program
	Refused   []Skipped `json:"refused"`           // files that are not changed in their present state
	Kept      []string  `json:"kept"`              // files with content saved during a crash, for a person to compare
	LostRaces int       `json:"lost_races"`        // changes repeated because another program saved the file at the same time
	Problem   string    `json:"problem,omitempty"` // why nothing can be written
}

// ModelStatus is the state of the model that proposes merges.
type ModelStatus struct {
	Endpoint string    `json:"endpoint"`
	Model    string    `json:"model"`
	Private  bool      `json:"private"` // private text is sent to it too
	Asked    int       `json:"asked"`   // requests since the start
	Failed   int       `json:"failed"`  // requests for which rules were used instead
	Failure  string    `json:"failure,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
}

// TopicStatus is the state of the subscription to the topic whose messages are
// noted.
type TopicStatus struct {
	Server    string    `json:"server"`
	Topic     string    `json:"topic"`
	Connected bool      `json:"connected"`
	Messages  int       `json:"messages"`      // received since the start
	Refused   int       `json:"refused"`       // messages that are never noted, because they are empty or contain a credential
	Last      time.Time `json:"last,omitzero"` // when the last message was sent
	Problem   string    `json:"problem,omitempty"`
}

// CompactorStatus is the state of the compactor, which keeps long-term files
// within their limits.
type CompactorStatus struct {
	Enabled   bool        `json:"enabled"`
	LastRun   time.Time   `json:"last_run,omitzero"`
	NextRun   time.Time   `json:"next_run,omitzero"`
	Passive   bool        `json:"passive"`           // another machine runs the compactor
	Host      string      `json:"host"`              // machine that runs the compactor
	NearLimit []NearLimit `json:"near_limit"`        // files close to their limit or over it
	Problem   string      `json:"problem,omitempty"` // problem of the last run
}

// NearLimit is a long-term file that is close to its limit or over it.
type NearLimit struct {
	Path  string  `json:"path"`
	Share float64 `json:"share"` // 1 is full
	Hint  string  `json:"hint"`
}

// Latency contains recent latencies, in milliseconds.
type Latency struct {
	SaveToSearch Quantiles `json:"save_to_search_ms"` // from a save until the index contains the file
	Query        Quantiles `json:"query_ms"`          // duration of searches in the index
}

// Quantiles are the median and the 99th percentile of the measured values.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// Skipped is a file or a directory with the reason why it was skipped, refused
// or changed.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// FileProblem is a problem with the file that has it.
type FileProblem struct {
	Path string `json:"path,omitempty"`
	Problem
}

// A Problem is a defect of a file, or of the daemon.
type Problem struct {
	Code    string `json:"code"` // stable, e.g. "frontmatter_broken"
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"` // problem and remedy, for people
}

// TodosyncStatus is the state of task reconciliation.
type TodosyncStatus struct {
	Planned int       `json:"planned"` // boxes that will be ticked
	Waiting []Skipped `json:"waiting"` // files that could not be written so far, by path
	Unclear int       `json:"unclear"` // boxes that are left alone because another box of their file fits equally
	Known   int       `json:"known"`   // boxes that are left alone because they were open when their task was first seen done
	Off     bool      `json:"off"`     // automatic ticking is off
	Problem string    `json:"problem,omitempty"`
}

// States of a root in which answers are incomplete.
const (
	RootMissing = "missing" // the directory does not exist at present
	RootHolding = "holding" // so many files vanished at once that their removal is not applied yet
)
