package ipc

import (
	"net"
	"testing"
	"time"
)

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
