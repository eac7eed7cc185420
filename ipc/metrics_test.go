package ipc

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCounters checks the text of counters: sorted, with cumulative buckets.
func TestCounters(t *testing.T) {
	var c counters
	for _, took := range []time.Duration{0, 500 * time.Microsecond, 600 * time.Microsecond, time.Second, time.Minute} {
		c.recordRequest("search", "ok", took)
	}
	c.recordRequest("add", "not_found", 3*time.Millisecond)
	c.recordRequest("add", "invalid", 2*time.Millisecond)
	c.recordRefused("limit")
	c.recordPanic()
	var got bytes.Buffer
	c.write(&got)
	want := `# HELP memwatchd_connections_refused_total Rejected connections, by reason.
# TYPE memwatchd_connections_refused_total counter
memwatchd_connections_refused_total{reason="limit"} 1
# HELP memwatchd_panics_total Panics in requests. Please report them as bugs.
# TYPE memwatchd_panics_total counter
memwatchd_panics_total 1
# HELP memwatchd_request_seconds Request duration in seconds, by operation.
# TYPE memwatchd_request_seconds histogram
memwatchd_request_seconds_bucket{operation="add",le="0.0005"} 0
memwatchd_request_seconds_bucket{operation="add",le="0.001"} 0
memwatchd_request_seconds_bucket{operation="add",le="0.002"} 1
memwatchd_request_seconds_bucket{operation="add",le="0.004"} 2
memwatchd_request_seconds_bucket{operation="add",le="0.008"} 2
memwatchd_request_seconds_bucket{operation="add",le="0.016"} 2
memwatchd_request_seconds_bucket{operation="add",le="0.032"} 2
memwatchd_request_seconds_bucket{operation="add",le="0.064"} 2
memwatchd_request_seconds_bucket{operation="add",le="0.128"} 2
memwatchd_request_seconds_bucket{operation="add",le="0.256"} 2
memwatchd_request_seconds_bucket{operation="add",le="0.512"} 2
memwatchd_request_seconds_bucket{operation="add",le="1.024"} 2
memwatchd_request_seconds_bucket{operation="add",le="2.048"} 2
memwatchd_request_seconds_bucket{operation="add",le="4.096"} 2
memwatchd_request_seconds_bucket{operation="add",le="+Inf"} 2
memwatchd_request_seconds_sum{operation="add"} 0.005
memwatchd_request_seconds_count{operation="add"} 2
memwatchd_request_seconds_bucket{operation="search",le="0.0005"} 2
memwatchd_request_seconds_bucket{operation="search",le="0.001"} 3
memwatchd_request_seconds_bucket{operation="search",le="0.002"} 3
memwatchd_request_seconds_bucket{operation="search",le="0.004"} 3
memwatchd_request_seconds_bucket{operation="search",le="0.008"} 3
memwatchd_request_seconds_bucket{operation="search",le="0.016"} 3
memwatchd_request_seconds_bucket{operation="search",le="0.032"} 3
memwatchd_request_seconds_bucket{operation="search",le="0.064"} 3
memwatchd_request_seconds_bucket{operation="search",le="0.128"} 3
memwatchd_request_seconds_bucket{operation="search",le="0.256"} 3
memwatchd_request_seconds_bucket{operation="search",le="0.512"} 3
memwatchd_request_seconds_bucket{operation="search",le="1.024"} 4
memwatchd_request_seconds_bucket{operation="search",le="2.048"} 4
memwatchd_request_seconds_bucket{operation="search",le="4.096"} 4
memwatchd_request_seconds_bucket{operation="search",le="+Inf"} 5
memwatchd_request_seconds_sum{operation="search"} 61.0011
memwatchd_request_seconds_count{operation="search"} 5
# HELP memwatchd_requests_total Completed requests, by operation and code.
# TYPE memwatchd_requests_total counter
memwatchd_requests_total{code="invalid",operation="add"} 1
memwatchd_requests_total{code="not_found",operation="add"} 1
memwatchd_requests_total{code="ok",operation="search"} 5
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}
