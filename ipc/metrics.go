package ipc

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/memwatchd/memwatchd/api"
)

// counters are the metrics of the connections and requests. The metrics of the
// memory are read from its status on each scrape.
type counters struct {
	requests *prometheus.CounterVec   // by operation and code
	seconds  *prometheus.HistogramVec // by operation
	refused  *prometheus.CounterVec   // connections, by reason
	panics   prometheus.Counter
}

func newCounters(r prometheus.Registerer, b Backend) (*counters, error) {
	c := &counters{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "memwatchd_requests_total", Help: "Completed requests, by operation and code.",
		}, []string{"operation", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "memwatchd_request_seconds", Help: "Request duration in seconds, by operation.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14), // 0.5 ms to 4 s
		}, []string{"operation"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "memwatchd_connections_refused_total", Help: "Rejected connections, by reason.",
		}, []string{"reason"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "memwatchd_panics_total", Help: "Panics in requests. Please report them as bugs.",
		}),
	}
	return c, errors.Join(r.Register(c.requests), r.Register(c.seconds), r.Register(c.refused),
		r.Register(c.panics), r.Register(gauges{b}))
}

// gauges exports the status as metrics.
type gauges struct{ backend Backend }

type gauge struct {
	desc  *prometheus.Desc
	value func(*api.Status) float64
}

func newGauge(name, help string, value func(*api.Status) float64) gauge {
	return gauge{prometheus.NewDesc("memwatchd_"+name, help, nil, nil), value}
}

var allGauges = []gauge{
	newGauge("healthy", "1 if the daemon is healthy.", func(s *api.Status) float64 { return boolValue(s.Healthy) }),
	newGauge("files", "Indexed files.", func(s *api.Status) float64 { return float64(s.Files) }),
	newGauge("entries", "Indexed entries.", func(s *api.Status) float64 { return float64(s.Entries) }),
	newGauge("files_skipped", "Skipped Markdown files.",
		func(s *api.Status) float64 { return float64(s.SkippedFiles) }),
	newGauge("problems", "Problems found in files.", func(s *api.Status) float64 { return float64(s.ProblemCount) }),
	newGauge("saves_total", "Files checked because of a change.",
		func(s *api.Status) float64 { return float64(s.Saves) }),
	newGauge("index_pending", "Changed files that are not indexed yet.",
		func(s *api.Status) float64 { return float64(s.Index.Pending) }),
	newGauge("index_bytes", "Size of the index on disk "+
		"in bytes.", func(s *api.Status) float64 { return float64(s.Index.Size) }),
	newGauge("index_degraded", "1 if the index is incomplete or cannot be written.",
		func(s *api.Status) float64 { return boolValue(s.Index.Degraded) }),
	newGauge("watched_directories", "Watched directories.",
		func(s *api.Status) float64 { return float64(s.Watch.Directories) }),
	newGauge("polled_directories", "Polled directories.",
		func(s *api.Status) float64 { return float64(len(s.Watch.Polled)) }),
	newGauge("watch_overflows_total", "Full scans after lost file events.",
		func(s *api.Status) float64 { return float64(s.Watch.Overflows) }),
	newGauge("save_to_search_p99_ms", "99th percentile of the recent times from a save to its appearance in "+
		"search, in milliseconds.",
		func(s *api.Status) float64 { return s.Latency.SaveToSearch.P99 }),
	newGauge("memory_bytes", "Memory obtained from the operating system, in bytes.",
		func(s *api.Status) float64 { return float64(s.MemoryBytes) }),
	newGauge("open_files", "Open file descriptors.", func(s *api.Status) float64 { return float64(s.OpenFiles) }),
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Describe implements [prometheus.Collector].
func (g gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range allGauges {
		ch <- d.desc
	}
}

// Collect implements [prometheus.Collector].
func (g gauges) Collect(ch chan<- prometheus.Metric) {
	s := g.backend.Status()
	for _, d := range allGauges {
		ch <- prometheus.MustNewConstMetric(d.desc, prometheus.GaugeValue, d.value(&s))
	}
}
