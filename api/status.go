package api

import (
	"time"
)

// StatusRequest asks how the memory is doing.
type StatusRequest struct {
	Scope
}

// StatusAnswer says how the memory is doing: on a listener with a fixed scope,
// only whether it is healthy.
type StatusAnswer struct {
	*Status
	Healthy bool `json:"healthy"`
}

// Status is how the memory is doing, as the owner may know it.
type Status struct {
	Version   string    `json:"version"`
	PID       int       `json:"pid"`
	Started   time.Time `json:"started"`
	Uptime    string    `json:"uptime"`
	Root      string    `json:"root"`
	RootState string    `json:"root_state"` // present, missing, or holding: too much vanished at once to be believed
	Sockets   []string  `json:"sockets"`

	Files   int `json:"files"`
	Entries int `json:"entries"`
	Saves   int `json:"saves"` // files looked at since the start because they changed

	Index   IndexStatus `json:"index"`
	Watch   WatchStatus `json:"watch"`
	Latency Latency     `json:"latency"`

	Write     WriteStatus      `json:"write"`
	Todosync  *TodosyncStatus  `json:"todosync,omitempty"`
	Compactor *CompactorStatus `json:"compactor,omitempty"`
	LLM       *ModelStatus     `json:"llm,omitempty"`   // nil if no model is asked
	Topic     *TopicStatus     `json:"topic,omitempty"` // nil if none is listened to

	SkippedFiles int           `json:"skipped_files"`
	Skipped      []Skipped     `json:"skipped"` // the first of them
	ProblemCount int           `json:"problem_count"`
	Problems     []FileProblem `json:"problems"` // the first of them; those of the daemon itself have no path

	MemoryBytes uint64 `json:"memory_bytes"`
	OpenFiles   int    `json:"open_files"`
	Goroutines  int    `json:"goroutines"`

	Healthy bool `json:"-"` // see StatusAnswer
}

// IndexStatus is how the index is doing.
type IndexStatus struct {
	Revision   uint64 `json:"revision"`
	Pending    int    `json:"pending"` // files that changed and are not indexed yet
	Done       int    `json:"done"`    // of the first build, or a rebuild
	Total      int    `json:"total"`   // of the same; 0 when none is under way
	Generation uint64 `json:"generation"`
	Size       int64  `json:"size"` // bytes on disk
	Degraded   bool   `json:"degraded"`
	Problem    string `json:"problem,omitempty"`
}

// WatchStatus is how the watcher is doing.
type WatchStatus struct {
	Directories   int       `json:"directories"`
	Limit         int       `json:"limit"` // of watches, by the kernel; 0 for none
	Polled        []string  `json:"polled"`
	Overflows     int       `json:"overflows"`
	LastReconcile time.Time `json:"last_reconcile"`
	Problem       string    `json:"problem,omitempty"`
}

// WriteStatus is how writing to people's files is going.
type WriteStatus struct {
	Enabled   bool      `json:"enabled"` // changes are made that nobody asked for
	Applied   int       `json:"applied"` // changes since the start
	Waiting   []Skipped `json:"waiting"` // files that somebody is at
	Refused   []Skipped `json:"refused"` // files that are not changed as they are
	Kept      []string  `json:"kept"`    // files with what was saved at the moment of a crash, for a person to compare
	LostRaces int       `json:"lost_races"`
	Problem   string    `json:"problem,omitempty"` // why nothing can be written
}

// ModelStatus is how asking the model goes that proposes what to merge.
type ModelStatus struct {
	Endpoint string    `json:"endpoint"`
	Model    string    `json:"model"`
	Private  bool      `json:"private"` // it is sent private text too
	Asked    int       `json:"asked"`   // questions since the start
	Failed   int       `json:"failed"`  // those for which rules were used
	Failure  string    `json:"failure,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
}

// TopicStatus is how listening to the topic goes whose messages are noted.
type TopicStatus struct {
	Server    string    `json:"server"`
	Topic     string    `json:"topic"`
	Connected bool      `json:"connected"`
	Messages  int       `json:"messages"`      // that were heard since the start
	Refused   int       `json:"refused"`       // of these, those that are never noted: without a word, or with a credential
	Last      time.Time `json:"last,omitzero"` // when the last of them was sent
	Problem   string    `json:"problem,omitempty"`
}

// CompactorStatus is how it is going to make room in long-term files.
type CompactorStatus struct {
	Enabled   bool        `json:"enabled"`
	LastRun   time.Time   `json:"last_run,omitzero"`
	NextRun   time.Time   `json:"next_run,omitzero"`
	Passive   bool        `json:"passive"` // another machine does it
	Host      string      `json:"host"`    // the machine that does it
	NearLimit []NearLimit `json:"near_limit"`
	Problem   string      `json:"problem,omitempty"` // of the last run
}

// NearLimit is a long-term file that is nearly full, or fuller than it should be.
type NearLimit struct {
	Path  string  `json:"path"`
	Share float64 `json:"share"` // 1 is full
	Hint  string  `json:"hint"`
}

// Latency is how long things took of late, in milliseconds.
type Latency struct {
	SaveToSearch Quantiles `json:"save_to_search_ms"`
	Query        Quantiles `json:"query_ms"`
}

// Quantiles are the middle and the slow end of what was measured.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// Skipped is a Markdown file, or a directory, that is not read.
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
	Message string `json:"message"` // what is wrong and what to do, for a person
}

// TodosyncStatus is how reconciling tasks is going.
type TodosyncStatus struct {
	Planned int       `json:"planned"` // boxes that are going to be ticked
	Waiting []Skipped `json:"waiting"` // files that could not be written so far, by path
	Unclear int       `json:"unclear"` // boxes that are left alone because another of their file fits equally
	Known   int       `json:"known"`   // boxes that are left alone because they were open when their task was first seen done
	Off     bool      `json:"off"`
	Problem string    `json:"problem,omitempty"`
}

// States of a root that answers are not complete in.
const (
	RootMissing = "missing" // there is no such directory now
	RootHolding = "holding" // so much has vanished at once that it is not believed yet
)
