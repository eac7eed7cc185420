package api

import (
	"fmt"
	"slices"
	"strings"
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
	// in words: healthy, not healthy, or indexing with the number of files to go
	State   string   `json:"state"`
	Sockets []string `json:"sockets"` // paths of the sockets

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

	SkippedFiles int       `json:"skipped_files"` // number of skipped files and directories
	Skipped      []Skipped `json:"skipped"`       // first of the skipped files
	ProblemCount int       `json:"problem_count"` // number of problems
	// first of the problems; problems of the daemon itself have no path
	Problems []FileProblem `json:"problems"`

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
	Degraded   bool   `json:"degraded"`   // the index is incomplete
	Problem    string `json:"problem,omitempty"`
}

// WatchStatus is the state of the watcher.
type WatchStatus struct {
	Directories int `json:"directories"` // number of watched directories
	// kernel limit on watches of all programs of the user; 0 means unknown
	Limit         int       `json:"limit"`
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
	Enabled   bool      `json:"enabled"`           // automatic changes are made
	Applied   int       `json:"applied"`           // changes since the start
	Waiting   []Skipped `json:"waiting"`           // files that are in use by another program and are changed later
	Refused   []Skipped `json:"refused"`           // files that are not changed in their present state
	LostRaces int       `json:"lost_races"`        // changes repeated after a simultaneous save by another program
	Problem   string    `json:"problem,omitempty"` // why nothing can be written
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
	Endpoint   string    `json:"endpoint"` // URL of the service
	Model      string    `json:"model"`
	Dimensions int       `json:"dimensions"`           // of a vector; 0 until the service has responded
	Private    bool      `json:"private"`              // private text and queries are sent to it too
	Embedded   int       `json:"embedded"`             // texts with a vector
	Pending    int       `json:"pending"`              // texts that wait for one
	Rejected   int       `json:"rejected"`             // texts for which the model returns none
	LastError  string    `json:"last_error,omitempty"` // until a request succeeds
	FailedAt   time.Time `json:"failed_at,omitzero"`   // time of the last error
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

// render adds current failures first, then the state of the memory in a few rows, then
// the files that need attention.
func (a *StatusAnswer) render(t *Text) {
	s, style := a.Status, Good
	if !a.Healthy {
		style = Bad
	}
	t.Unhealthy = !a.Healthy
	if s == nil {
		t.add(Line{Text: TextIf(!a.Healthy, "not ") + "healthy", Style: style})
		return
	}
	if s.Healthy = a.Healthy; s.State == "" { // of an older daemon
		s.Explain()
	}
	t.add(Line{Head: s.State + ":", HeadStyle: style,
		Text: fmt.Sprintf("memwatchd %s, process %d, up %s", s.Version, s.PID, s.Uptime)})
	for _, text := range s.failures() {
		t.add(Line{Head: "!", Text: text, HeadStyle: Bad, Style: Bad})
	}
	t.addRow("root", "%s (%s)", s.Root, s.RootState)
	for _, r := range s.Roots {
		t.addRow("folder", "%s: %s (%s), %s", r.Name, r.Path, r.State, Plural(r.Files, "file"))
	}
	for _, socket := range s.Sockets {
		t.addRow("socket", "%s", socket)
	}
	t.addRow("files", "%s, %s, %d skipped, %s", Plural(s.Files, "file"), Plural(s.Entries, "entry"), s.SkippedFiles,
		Plural(s.ProblemCount, "problem"))
	if x := s.Index; x.Degraded || x.Total > 0 || x.Pending > 0 {
		t.addRow("index", "revision %d, %d pending, %s%s%s", x.Revision, x.Pending,
			fmt.Sprintf("%.1f MiB", float64(x.Size)/(1<<20)),
			TextIf(x.Total > 0, fmt.Sprintf(", building %d/%d", x.Done, x.Total)), TextIf(x.Degraded, ", degraded"))
	}
	if n := len(s.Watch.Polled); n > 0 {
		t.addRow("watch", "%s watched%s", Plural(s.Watch.Directories, "directory"), andSome(n, "polled"))
	}
	s.Write.addTo(t)
	if s.Todosync != nil {
		s.Todosync.addTo(t)
	}
	if s.Compactor != nil {
		s.Compactor.addTo(t)
	}
	if m := s.LLM; m != nil {
		t.addRow("model", "%s at %s, %s%s%s", m.Model, m.Endpoint, Plural(m.Requests, "question"),
			andSome(m.Failed, "failed"), TextIf(m.Private, ", including private text"))
		if m.Failure != "" {
			t.addRow("", "%s: %s", t.formatTime(m.FailedAt), m.Failure)
		}
	}
	if s.Embed != nil {
		s.Embed.addTo(t)
	}
	if topic := s.Topic; topic != nil {
		t.addRow("topic", "%sconnected to %s/%s, %s%s", TextIf(!topic.Connected, "not "),
			strings.TrimRight(topic.Server, "/"), topic.Topic, Plural(topic.Messages, "message"),
			andSome(topic.Refused, "never noted"))
	}
	if s.Share != nil {
		s.Share.addTo(t)
	}
	listed := firstOf(s.Problems)
	for _, f := range listed {
		t.addFinding(f.Path, f.Line, f.Message, f.Code)
	}
	if n := s.ProblemCount - len(listed); n > 0 {
		t.hint("%s: run `check` for the full list", Plural(n, "more problem"))
	}
}

// failures returns the current failures, without duplicates.
func (s *Status) failures() []string {
	var list []string
	listed := map[string]bool{"": true}
	add := func(where, text string) {
		if !listed[text] {
			listed[text] = true
			list = append(list, where+": "+text)
		}
	}
	if s.RootState == RootMissing {
		add("root", "the directory is missing or unreadable; its entries are still found")
	}
	add("index", s.Index.Problem)
	add("watch", s.Watch.Problem) // may repeat the problem of the index
	add("writing", s.Write.Problem)
	if s.Todosync != nil {
		add("tasks", s.Todosync.Problem)
	}
	if s.Compactor != nil {
		add("tidying", s.Compactor.Problem)
	}
	if s.Topic != nil {
		add("topic", s.Topic.Problem)
	}
	if s.Share != nil {
		add("share", s.Share.Problem)
	}
	return list
}

// addTo adds the state of writing to files and the actions that need a person.
func (w *WriteStatus) addTo(t *Text) {
	t.addRow("writing", "%s made%s%s%s", Plural(w.Applied, "change"), TextIf(!w.Enabled, ", requested writes only"),
		andSome(len(w.Waiting), "waiting"), andSome(len(w.Refused), "refused"))
	for _, h := range slices.Concat(w.Waiting, w.Refused) {
		t.addRow("", "%s: %s", h.Path, h.Reason)
	}
}

func (s *TodosyncStatus) addTo(t *Text) {
	if s.Off || s.Planned+s.Unclear == 0 {
		return
	}
	t.addRow("tasks", "%d to tick, %d ambiguous, %d done before", s.Planned, s.Unclear, s.Known)
	for _, w := range s.Waiting {
		t.addRow("", "%s: waits: %s", w.Path, w.Reason)
	}
}

// addTo adds the schedule of the compactor and the files near their limits.
func (c *CompactorStatus) addTo(t *Text) {
	if len(c.NearLimit) == 0 {
		return
	}
	line := "only on request"
	switch {
	case c.Passive:
		line = "done by " + c.Host
	case c.Enabled:
		line = "next at " + t.formatTime(c.NextRun) + TextIf(!c.LastRun.IsZero(), ", last at "+t.formatTime(c.LastRun))
	}
	t.addRow("tidying", "%s", line)
	for _, f := range c.NearLimit {
		t.addRow("", "%s: %s", f.Path, f.Hint)
	}
}

// addTo adds the state of semantic search and its last failure.
func (e *EmbedStatus) addTo(t *Text) {
	t.addRow("meaning", "%s at %s, %s embedded%s%s%s", e.Model, e.Endpoint, Plural(e.Embedded, "text"),
		andSome(e.Pending, "pending"), andSome(e.Rejected, "rejected"), TextIf(e.Private, ", including private text"))
	if e.LastError != "" {
		t.addRow("", "%s: %s", t.formatTime(e.FailedAt), e.LastError)
	}
}
