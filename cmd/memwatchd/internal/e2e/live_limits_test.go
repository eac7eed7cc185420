package e2e

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// TestFewOpenFiles checks that if few files may be open, the daemon
// disconnects clients, and its status reports that. Watching and searching are
// not affected.
func TestFewOpenFiles(t *testing.T) {
	t.Parallel()
	l := newLive(t, filepath.Join(t.TempDir(), "root"), "watch: {poll: 200ms}\n")
	l.fill(200)
	l.limits = "ulimit -n 24"
	l.start()
	// Clients that hold all available connections, and reconnect when they are
	// closed.
	over := make(chan struct{})
	var crowd sync.WaitGroup
	end := sync.OnceFunc(func() { close(over); crowd.Wait() })
	defer end()
	for range 60 {
		crowd.Go(func() { hangOn(l.socket, over) })
	}
	short := func() bool {
		s, err := l.status()
		return err == nil && slices.ContainsFunc(s.Problems, func(p api.FileProblem) bool {
			return p.Code == "too_many_files" && strings.Contains(p.Message, "ulimit -n")
		})
	}
	l.until("status says that clients have to go", short)
	for n := range 10 {
		path := fmt.Sprintf("2026-02-%02d/new.md", n+1)
		l.write(path, fmt.Sprintf("- quince new %d\n", n))
		l.until("a save is found", func() bool {
			var a api.SearchAnswer
			err := l.ask("search", owner.with(fields{"query": "new", "path": path}), &a)
			return err == nil && a.Total == 1
		})
	}
	l.until("status still says that clients have to go", short) // the request for the status may be cut off too
	if n := strings.Count(l.log.String(), "too many open files, rejecting connections"); n != 1 {
		t.Errorf("it is logged %d times, want once", n)
	}
	l.wantCalm("clients have to go")
	end()
	l.wantWell(210)
}

// hangOn subscribes to events again and again until over is closed.
func hangOn(socket string, over <-chan struct{}) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		c, err := net.Dial("unix", socket)
		if err != nil {
			continue
		}
		left := make(chan struct{})
		go func() {
			defer close(left)
			io.WriteString(c, "GET /v1/events HTTP/1.1\r\nHost: memwatchd\r\n\r\n")
			io.Copy(io.Discard, c)
		}()
		select {
		case <-over:
			c.Close()
			<-left
			return
		case <-left:
			c.Close()
		}
	}
}
