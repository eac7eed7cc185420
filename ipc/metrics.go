package ipc

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// metricsType is the media type of the text format of Prometheus, see
// https://prometheus.io/docs/instrumenting/exposition_formats/. The format is
// written here because the packages of its client take a millisecond of every
// command to initialize.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// The families of the counters, in the order of the output.
const (
	refusedTotal   = "memwatchd_connections_refused_total"
	panicsTotal    = "memwatchd_panics_total"
	requestSeconds = "memwatchd_request_seconds"
	requestsTotal  = "memwatchd_requests_total"
)

// counters are the metrics of the connections and requests. The metrics of the
// memory are read from its status on each scrape. The zero value is ready to
// use; all methods can be called concurrently.
type counters struct {
	mu     sync.Mutex
	values map[string]float64 // by name and labels
}

func (c *counters) add(series string, n float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil {
		c.values = map[string]float64{}
	}
	c.values[series] += n
}

func (c *counters) recordRequest(operation, code string, took time.Duration) {
	c.add(fmt.Sprintf("%s{code=%q,operation=%q}", requestsTotal, code, operation), 1)
	c.add(fmt.Sprintf("%s_count{operation=%q}", requestSeconds, operation), 1)
	c.add(fmt.Sprintf("%s_sum{operation=%q}", requestSeconds, operation), took.Seconds())
}

// recordRefused counts a rejected connection.
func (c *counters) recordRefused(reason string) {
	c.add(fmt.Sprintf("%s{reason=%q}", refusedTotal, reason), 1)
}

// write writes the counters in the format of metricsType.
func (c *counters) write(w io.Writer) {
	c.add(panicsTotal, 0)
	c.mu.Lock()
	defer c.mu.Unlock()
	series := slices.Sorted(maps.Keys(c.values))
	for _, family := range [][3]string{
		{refusedTotal, "counter", "Rejected connections, by reason."},
		{panicsTotal, "counter", "Panics in requests. Please report them as bugs."},
		{requestSeconds, "summary", "Request duration in seconds, by operation."},
		{requestsTotal, "counter", "Completed requests, by operation and code."},
	} {
		writeFamily(w, family[0], family[1], family[2])
		for _, s := range series {
			if strings.HasPrefix(s, family[0]) {
				fmt.Fprintf(w, "%s %s\n", s, formatValue(c.values[s]))
			}
		}
	}
}

// writeGauges writes the values of a status. Values whose names end in _total only grow.
func writeGauges(w io.Writer, s *api.Status) {
	for _, g := range []struct {
		name, help string
		value      float64
	}{
		{"entries", "Indexed entries.", float64(s.Entries)},
		{"files", "Indexed files.", float64(s.Files)},
		{"files_skipped", "Skipped Markdown files.", float64(s.SkippedFiles)},
		{"goroutines", "Goroutines.", float64(s.Goroutines)},
		{"healthy", "1 if the daemon is healthy.", boolValue(s.Healthy)},
		{"index_bytes", "Size of the index on disk in bytes.", float64(s.Index.Size)},
		{"index_degraded", "1 if the index is incomplete or cannot be written.", boolValue(s.Index.Degraded)},
		{"index_pending", "Changed files that are not indexed yet.", float64(s.Index.Pending)},
		{"memory_bytes", "Memory obtained from the operating system, in bytes.", float64(s.MemoryBytes)},
		{"open_files", "Open file descriptors.", float64(s.OpenFiles)},
		{"polled_directories", "Polled directories.", float64(len(s.Watch.Polled))},
		{"problems", "Problems found in files.", float64(s.ProblemCount)},
		{"save_to_search_p99_ms", "99th percentile of the recent times from a save to its appearance in search, in milliseconds.",
			s.Latency.SaveToSearch.P99},
		{"saves_total", "Files checked because of a change.", float64(s.Saves)},
		{"start_time_seconds", "Start of the daemon, in seconds since 1970.", float64(s.Started.UnixMilli()) / 1000},
		{"watch_overflows_total", "Full scans after lost file events.", float64(s.Watch.Overflows)},
		{"watched_directories", "Watched directories.", float64(s.Watch.Directories)},
	} {
		kind := "gauge"
		if strings.HasSuffix(g.name, "_total") {
			kind = "counter"
		}
		writeFamily(w, "memwatchd_"+g.name, kind, g.help)
		fmt.Fprintf(w, "memwatchd_%s %s\n", g.name, formatValue(g.value))
	}
}

func (h *handler) formatMetrics() []byte {
	var b bytes.Buffer
	h.counters.write(&b)
	s := h.Backend.Status()
	writeGauges(&b, &s)
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
