package ipc

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// metricsType is the media type of the text format of Prometheus, see
// https://prometheus.io/docs/instrumenting/exposition_formats/. The format is
// written here because the packages of its client take a millisecond of every
// command to initialize.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// counters are the metrics of the connections and requests. The metrics of the
// memory are read from its status on each scrape. The zero value is ready to
// use; all methods can be called concurrently.
type counters struct {
	mu       sync.Mutex
	requests map[request]int64
	seconds  map[string]*histogram // by operation
	refused  map[string]int64      // connections, by reason
	panics   int64
}

// A request is what requests are counted by.
type request struct{ operation, code string }

// histogramBounds are the upper bounds of the buckets in seconds, 0.5 ms to 4 s.
var histogramBounds = [14]float64{
	.0005, .001, .002, .004, .008, .016, .032, .064, .128, .256, .512, 1.024, 2.048, 4.096,
}

type histogram struct {
	counts [len(histogramBounds) + 1]int64 // the last bucket has no bound
	sum    float64                         // in seconds
}

func (c *counters) recordRequest(operation, code string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == nil {
		c.requests, c.seconds = map[request]int64{}, map[string]*histogram{}
	}
	c.requests[request{operation, code}]++
	h := c.seconds[operation]
	if h == nil {
		h = new(histogram)
		c.seconds[operation] = h
	}
	bucket, _ := slices.BinarySearch(histogramBounds[:], took.Seconds())
	h.counts[bucket]++
	h.sum += took.Seconds()
}

// recordRefused counts a rejected connection.
func (c *counters) recordRefused(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		c.refused = map[string]int64{}
	}
	c.refused[reason]++
}

func (c *counters) recordPanic() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.panics++
}

// write writes the counters in the format of metricsType.
func (c *counters) write(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	writeFamily(w, "memwatchd_connections_refused_total", "counter", "Rejected connections, by reason.")
	for _, reason := range slices.Sorted(maps.Keys(c.refused)) {
		fmt.Fprintf(w, "memwatchd_connections_refused_total{reason=%q} %d\n", reason, c.refused[reason])
	}
	writeFamily(w, "memwatchd_panics_total", "counter", "Panics in requests. Please report them as bugs.")
	fmt.Fprintf(w, "memwatchd_panics_total %d\n", c.panics)
	writeFamily(w, "memwatchd_request_seconds", "histogram", "Request duration in seconds, by operation.")
	for _, operation := range slices.Sorted(maps.Keys(c.seconds)) {
		c.seconds[operation].write(w, operation)
	}
	writeFamily(w, "memwatchd_requests_total", "counter", "Completed requests, by operation and code.")
	byName := func(a, b request) int {
		return cmp.Or(cmp.Compare(a.operation, b.operation), cmp.Compare(a.code, b.code))
	}
	for _, r := range slices.SortedFunc(maps.Keys(c.requests), byName) {
		fmt.Fprintf(w, "memwatchd_requests_total{code=%q,operation=%q} %d\n", r.code, r.operation, c.requests[r])
	}
}

func (h *histogram) write(w io.Writer, operation string) {
	total := int64(0)
	for i, n := range h.counts {
		total += n
		bound := "+Inf"
		if i < len(histogramBounds) {
			bound = formatValue(histogramBounds[i])
		}
		fmt.Fprintf(w, "memwatchd_request_seconds_bucket{operation=%q,le=%q} %d\n", operation, bound, total)
	}
	fmt.Fprintf(w, "memwatchd_request_seconds_sum{operation=%q} %s\n", operation, formatValue(h.sum))
	fmt.Fprintf(w, "memwatchd_request_seconds_count{operation=%q} %d\n", operation, total)
}

// A gauge is one value of the status or of the process. Values whose names end in
// _total only grow.
type gauge struct {
	name, help string
	value      func(*api.Status) float64
}

// gauges are sorted by name. Those of Go and the process have conventional names.
var gauges = []gauge{
	{"go_gc_heap_live_bytes", "Heap memory in use after the last garbage collection, in bytes.",
		func(*api.Status) float64 { return readLiveHeap() }},
	{"go_goroutines", "Goroutines.", func(s *api.Status) float64 { return float64(s.Goroutines) }},
	{"go_threads", "Operating system threads created.",
		func(*api.Status) float64 { return float64(pprof.Lookup("threadcreate").Count()) }},
	{"memwatchd_entries", "Indexed entries.", func(s *api.Status) float64 { return float64(s.Entries) }},
	{"memwatchd_files", "Indexed files.", func(s *api.Status) float64 { return float64(s.Files) }},
	{"memwatchd_files_skipped", "Skipped Markdown files.",
		func(s *api.Status) float64 { return float64(s.SkippedFiles) }},
	{"memwatchd_healthy", "1 if the daemon is healthy.", func(s *api.Status) float64 { return boolValue(s.Healthy) }},
	{"memwatchd_index_bytes", "Size of the index on disk in bytes.",
		func(s *api.Status) float64 { return float64(s.Index.Size) }},
	{"memwatchd_index_degraded", "1 if the index is incomplete or cannot be written.",
		func(s *api.Status) float64 { return boolValue(s.Index.Degraded) }},
	{"memwatchd_index_pending", "Changed files that are not indexed yet.",
		func(s *api.Status) float64 { return float64(s.Index.Pending) }},
	{"memwatchd_memory_bytes", "Memory obtained from the operating system, in bytes.",
		func(s *api.Status) float64 { return float64(s.MemoryBytes) }},
	{"memwatchd_open_files", "Open file descriptors.", func(s *api.Status) float64 { return float64(s.OpenFiles) }},
	{"memwatchd_polled_directories", "Polled directories.",
		func(s *api.Status) float64 { return float64(len(s.Watch.Polled)) }},
	{"memwatchd_problems", "Problems found in files.", func(s *api.Status) float64 { return float64(s.ProblemCount) }},
	{"memwatchd_save_to_search_p99_ms", "99th percentile of the recent times from a save to its appearance in " +
		"search, in milliseconds.", func(s *api.Status) float64 { return s.Latency.SaveToSearch.P99 }},
	{"memwatchd_saves_total", "Files checked because of a change.",
		func(s *api.Status) float64 { return float64(s.Saves) }},
	{"memwatchd_watch_overflows_total", "Full scans after lost file events.",
		func(s *api.Status) float64 { return float64(s.Watch.Overflows) }},
	{"memwatchd_watched_directories", "Watched directories.",
		func(s *api.Status) float64 { return float64(s.Watch.Directories) }},
	{"process_cpu_seconds_total", "User and system CPU time in seconds.",
		func(*api.Status) float64 { return readCPUTime() }},
	{"process_start_time_seconds", "Start of the process, in seconds since 1970.",
		func(s *api.Status) float64 { return float64(s.Started.UnixMilli()) / 1000 }},
}

func (h *handler) formatMetrics() []byte {
	var b bytes.Buffer
	h.counters.write(&b)
	s := h.backend.Status()
	for _, g := range gauges {
		kind := "gauge"
		if strings.HasSuffix(g.name, "_total") {
			kind = "counter"
		}
		writeFamily(&b, g.name, kind, g.help)
		fmt.Fprintf(&b, "%s %s\n", g.name, formatValue(g.value(&s)))
	}
	return b.Bytes()
}

func writeFamily(w io.Writer, name, kind, help string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func formatValue(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// readLiveHeap returns the size of the heap after the last collection, in bytes:
// the only heap metric that does not fluctuate.
func readLiveHeap() float64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64())
}

// readCPUTime returns the CPU time of the process in seconds, or 0 if the system
// does not report it.
func readCPUTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
