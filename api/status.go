package api

import (
	"time"
)

// StatusRequest requests the state of the memory.
type StatusRequest struct {
	Scope
	For[StatusAnswer]
}

// StatusAnswer is the state of the memory. On a listener with a fixed scope it
// contains only whether the memory is healthy.
type StatusAnswer struct {
	*Status
	Healthy bool `json:"healthy"` // memwatchd works: the directory is present, and files can be indexed and written
}

// Status is the state of the memory, as visible to the owner.
type Status struct {
	Version   string    `json:"version"` // version of memwatchd
	PID       int       `json:"pid"`     // process id of the daemon
	Started   time.Time `json:"started"`
	Uptime    string    `json:"uptime"`     // time since the start
	Root      string    `json:"root"`       // memory directory
	RootState string    `json:"root_state"` // starting, watched, missing, or holding (many files vanished at once)
	State     string    `json:"state"`      // in words: healthy, not healthy, or indexing with the number of files to go
	Sockets   []string  `json:"sockets"`    // paths of the sockets

	Files   int `json:"files"`   // number of indexed files
	Entries int `json:"entries"` // number of indexed entries
	Saves   int `json:"saves"`   // changed files processed since the start

	Index   IndexStatus  `json:"index"`           // state of the index
	Watch   WatchStatus  `json:"watch"`           // state of the watcher
	Roots   []RootStatus `json:"roots,omitempty"` // folders beside the memory directory
	Latency Latency      `json:"latency"`         // recent latencies

	Write     WriteStatus      `json:"write"`               // state of writing to files
	Todosync  *TodosyncStatus  `json:"todosync,omitempty"`  // state of task reconciliation
	Compactor *CompactorStatus `json:"compactor,omitempty"` // state of maintenance
	LLM       *ModelStatus     `json:"llm,omitempty"`       // missing if no model is configured
	Topic     *TopicStatus     `json:"topic,omitempty"`     // missing if no topic is configured
	Share     *ShareStatus     `json:"share,omitempty"`     // missing if nothing is shared
	Embed     *EmbedStatus     `json:"embed,omitempty"`     // missing if no embeddings endpoint is configured

	SkippedFiles int           `json:"skipped_files"` // number of skipped files and directories
	Skipped      []Skipped     `json:"skipped"`       // first of the skipped files
	ProblemCount int           `json:"problem_count"` // number of problems
	Problems     []FileProblem `json:"problems"`      // first of the problems; problems of the daemon itself have no path

	MemoryBytes uint64 `json:"memory_bytes"` // bytes of system memory that the daemon holds
	OpenFiles   int    `json:"open_files"`   // number of open file descriptors
	Goroutines  int    `json:"goroutines"`   // number of goroutines of the daemon

	Healthy bool `json:"-"` // see StatusAnswer
}

// Explain sets the state in words from the other fields.
func (s *Status) Explain() {
	switch {
	case !s.Healthy:
		s.State = "not healthy"
	case max(s.Index.Pending, s.Index.Total-s.Index.Done) > 0:
		s.State = indexing(max(s.Index.Pending, s.Index.Total-s.Index.Done))
	case s.RootState == "starting":
		s.State = "indexing"
	default:
		s.State = "healthy"
	}
}

// IndexStatus is the state of the index.
type IndexStatus struct {
	Revision   uint64 `json:"revision"`   // grows with each change of the index
	Pending    int    `json:"pending"`    // changed files that are not indexed yet
	Done       int    `json:"done"`       // files processed by the first build or a rebuild
	Total      int    `json:"total"`      // files of that build; 0 when no build is running
	Generation uint64 `json:"generation"` // grows each time the index is opened or replaced
	Size       int64  `json:"size"`       // bytes on disk
	Degraded   bool   `json:"degraded"`   // the index is incomplete, so searches also read files
	Problem    string `json:"problem,omitempty"`
}

// WatchStatus is the state of the watcher.
type WatchStatus struct {
	Directories   int       `json:"directories"`    // number of watched directories
	Limit         int       `json:"limit"`          // kernel limit on watches of all programs of the user; 0 means unknown
	Polled        []string  `json:"polled"`         // directories that are polled, because they cannot be watched
	Overflows     int       `json:"overflows"`      // number of overflows of the event queue since the start
	LastReconcile time.Time `json:"last_reconcile"` // last comparison of all files
	Problem       string    `json:"problem,omitempty"`
}

// RootStatus is the state of a folder beside the memory directory.
type RootStatus struct {
	Name  string `json:"name"`  // begins the paths of its files
	Path  string `json:"path"`  // the directory
	Kind  string `json:"kind"`  // as in memory.roots
	State string `json:"state"` // starting, watched, missing, or holding
	Files int    `json:"files"` // number of readable files
}

// WriteStatus is the state of writing to the user's files.
type WriteStatus struct {
	Enabled        bool      `json:"enabled"`           // automatic changes are made
	Applied        int       `json:"applied"`           // changes since the start
	Waiting        []Skipped `json:"waiting"`           // files that are in use by another program and are changed later
	Refused        []Skipped `json:"refused"`           // files that are not changed in their present state
	ConflictCopies []string  `json:"kept"`              // files with content saved during a crash, for a person to compare
	LostRaces      int       `json:"lost_races"`        // changes repeated after a simultaneous save by another program
	Problem        string    `json:"problem,omitempty"` // why nothing can be written
}

// ModelStatus is the state of the model that proposes merges.
type ModelStatus struct {
	Endpoint string    `json:"endpoint"` // URL of the service
	Model    string    `json:"model"`
	Private  bool      `json:"private"`            // private text is sent to it too
	Requests int       `json:"asked"`              // requests since the start
	Failed   int       `json:"failed"`             // requests for which rules were used instead
	Failure  string    `json:"failure,omitempty"`  // last error
	FailedAt time.Time `json:"failed_at,omitzero"` // time of the last error
}

// EmbedStatus is the state of semantic search.
type EmbedStatus struct {
	Endpoint        string    `json:"endpoint"` // URL of the service
	Model           string    `json:"model"`
	Dimensions      int       `json:"dimensions"`           // of a vector; 0 until the service has responded
	Private         bool      `json:"private"`              // private text and queries are sent to it too
	Embedded        int       `json:"embedded"`             // texts with a vector
	Pending         int       `json:"pending"`              // texts that wait for one
	Rejected        int       `json:"rejected"`             // texts for which the model returns none
	CharactersToday int       `json:"characters_today"`     // characters of texts sent today
	LastError       string    `json:"last_error,omitempty"` // until a request succeeds
	FailedAt        time.Time `json:"failed_at,omitzero"`   // time of the last error
}

// TopicStatus is the state of the subscription to the topic whose messages are
// noted.
type TopicStatus struct {
	Server    string    `json:"server"`
	Topic     string    `json:"topic"`
	Connected bool      `json:"connected"`
	Messages  int       `json:"messages"`      // messages received since the start
	Refused   int       `json:"refused"`       // messages never noted: empty, or with a credential
	Last      time.Time `json:"last,omitzero"` // time at which the last message was sent
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
	Share float64 `json:"share"` // size relative to the limit; 1 means full
	Hint  string  `json:"hint"`
}

// Latency contains recent latencies, in milliseconds.
type Latency struct {
	SaveToSearch Quantiles `json:"save_to_search_ms"` // from a save until the index contains the file
	Query        Quantiles `json:"query_ms"`          // duration of searches in the index
}

// Quantiles are the median and the 99th percentile of the measured values.
type Quantiles struct {
	P50 float64 `json:"p50"` // median
	P99 float64 `json:"p99"` // 99th percentile
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
	Unclear int       `json:"unclear"` // boxes not ticked: another box of the file matches equally
	Known   int       `json:"known"`   // open boxes not ticked: already open when their task was first seen done
	Off     bool      `json:"off"`     // automatic ticking is off
	Problem string    `json:"problem,omitempty"`
}

// States of a root in which answers are incomplete.
const (
	RootMissing = "missing" // the directory does not exist or cannot be read at present
	RootHolding = "holding" // so many files vanished at once that their removal is not applied yet
)
