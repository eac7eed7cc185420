package ipc

import (
	"net"
	"strings"
	"testing"
	"time"
)

// TestShortage checks that a shortage ends some time after the last closed
// connection.
func TestShortage(t *testing.T) {
	var s shortage
	now := time.Date(2026, 2, 4, 10, 0, 0, 0, time.UTC)
	if _, ok := s.problem(now); ok {
		t.Error("there is a problem before anybody had to go")
	}
	for i, want := range []bool{true, false, false} {
		if got := s.recordEvent(now); got != want {
			t.Errorf("time %d: it begins: %v, want %v", i, got, want)
		}
		now = now.Add(shortageDuration - time.Second)
	}
	if p, ok := s.problem(now); !ok || !strings.Contains(p.Message, "ulimit -n") {
		t.Errorf("while it lasts: %v, %v", p, ok)
	}
	now = now.Add(time.Second)
	if p, ok := s.problem(now); ok {
		t.Errorf("when it is over: %v", p)
	}
	if !s.recordEvent(now) {
		t.Error("another one does not begin")
	}
}

// TestWhoGoesFirst checks the order of closing connections: idle connections
// before streams, in each group the longest waiting first, and never a
// connection whose request is being served.
func TestWhoGoesFirst(t *testing.T) {
	g := &limitListener{open: map[*trackedConn]struct{}{}}
	now := time.Now()
	names := map[*trackedConn]string{}
	for name, v := range map[string]*trackedConn{
		"old idle": {idle: now.Add(-time.Minute)}, "idle": {idle: now},
		"old stream": {idle: now.Add(-time.Hour), streams: true}, "stream": {idle: now.Add(-time.Second), streams: true},
		"busy": {},
	} {
		v.Conn, _ = net.Pipe()
		v.listener = g
		g.open[v] = struct{}{}
		names[v] = name
	}
	for _, want := range []string{"old idle", "idle", "old stream", "stream", ""} {
		if went := g.evictLocked(); went != (want != "") {
			t.Errorf("somebody went: %v, want %q", went, want)
		}
		for v, name := range names {
			if _, ok := g.open[v]; !ok {
				if name != want {
					t.Errorf("%s went, want %q", name, want)
				}
				delete(names, v)
			}
		}
	}
}
