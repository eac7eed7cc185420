package ipc

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCounters checks the text of counters, which is sorted.
func TestCounters(t *testing.T) {
	var c counters
	c.recordRequest("search", "ok", time.Second)
	c.recordRequest("search", "ok", time.Minute)
	c.recordRequest("add", "not_found", 3*time.Millisecond)
	c.recordRequest("add", "invalid", 2*time.Millisecond)
	c.recordRefused("limit")
	var got bytes.Buffer
	c.write(&got)
	want := `# HELP memwatchd_connections_refused_total Rejected connections, by reason.
# TYPE memwatchd_connections_refused_total counter
memwatchd_connections_refused_total{reason="limit"} 1
# HELP memwatchd_panics_total Panics in requests. Please report them as bugs.
# TYPE memwatchd_panics_total counter
memwatchd_panics_total 0
# HELP memwatchd_request_seconds Request duration in seconds, by operation.
# TYPE memwatchd_request_seconds summary
memwatchd_request_seconds_count{operation="add"} 2
memwatchd_request_seconds_count{operation="search"} 2
memwatchd_request_seconds_sum{operation="add"} 0.005
memwatchd_request_seconds_sum{operation="search"} 61
# HELP memwatchd_requests_total Completed requests, by operation and code.
# TYPE memwatchd_requests_total counter
memwatchd_requests_total{code="invalid",operation="add"} 1
memwatchd_requests_total{code="not_found",operation="add"} 1
memwatchd_requests_total{code="ok",operation="search"} 2
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}
