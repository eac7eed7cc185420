package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// TestTooFewWatches checks that if there are more directories than watches,
// the rest is polled, and the status contains advice until watches suffice.
func TestTooFewWatches(t *testing.T) {
	faults(t)
	const limit = "/proc/sys/fs/inotify/max_user_watches"
	sysctl(t, limit, "50")
	l := newLive(t, filepath.Join(t.TempDir(), "root"), "watch: {poll: 200ms, reconcile: 1s}\n")
	for n := range 100 {
		l.write(fmt.Sprintf("d%02d/a.md", n), fmt.Sprintf("- quince %d\n", n))
	}
	l.start()
	s := l.mustStatus()
	if len(s.Watch.Polled) == 0 || !strings.Contains(s.Watch.Problem, "fs.inotify.max_user_watches") || !s.Healthy {
		t.Errorf("status does not say it: %+v", s.Watch)
	}
	for n := range 100 {
		l.write(fmt.Sprintf("d%02d/b.md", n), fmt.Sprintf("- medlar %d\n", n))
	}
	if a := l.search(owner, "medlar", nil); a.Total != 100 || !a.Index.Synced {
		t.Errorf("with sync %d are found, want 100; %+v", a.Total, a.Index)
	}
	began := time.Now()
	for n := range 100 {
		l.write(fmt.Sprintf("d%02d/new/c.md", n), fmt.Sprintf("- loquat %d\n", n))
	}
	l.until("all is found by polling", func() bool {
		return l.search(owner, "loquat", fields{"sync": false}).Total == 100
	})
	t.Logf("%d directories watched, %d polled; found after %s", s.Watch.Directories, len(s.Watch.Polled), time.Since(began))
	if n := strings.Count(l.log.String(), "cannot watch a directory, polling"); n != 1 {
		t.Errorf("it is logged %d times, want once", n)
	}
	l.wantCalm("directories are polled")
	sysctl(t, limit, "100000")
	l.within(reconciled, "all is watched", func() bool {
		s, err := l.status()
		return err == nil && len(s.Watch.Polled) == 0 && s.Watch.Problem == "" && s.Watch.Directories == 201
	})
	l.write("d99/new/c.md", "- cherimoya\n")
	l.until("what is watched now is found", func() bool {
		return l.search(owner, "cherimoya", fields{"sync": false}).Total == 1
	})
}

// TestPollingManyDirectories checks that a tree with very few watches is polled
// as a whole: a round takes no longer than one scan, however many directories
// there are.
func TestPollingManyDirectories(t *testing.T) {
	faults(t)
	sysctl(t, "/proc/sys/fs/inotify/max_user_watches", "50")
	l := newLive(t, filepath.Join(t.TempDir(), "root"), "")
	const dirs, each = 1000, 20
	for n := range dirs * each {
		l.write(fmt.Sprintf("d%03d/f%d.md", n%dirs, n), fmt.Sprintf("- quince %d\n", n))
	}
	began := time.Now()
	l.start()
	t.Logf("started in %.1f s", time.Since(began).Seconds())
	for n := range 10 {
		l.write(fmt.Sprintf("d%03d/new.md", n), fmt.Sprintf("- medlar %d\n", n))
		if a := l.search(owner, "medlar", nil); a.Total != n+1 || !a.Index.Synced {
			t.Errorf("%d are found, want %d; %+v", a.Total, n+1, a.Index)
		}
	}
	l.wantCalm("a thousand directories are polled")
}

// TestOverflow checks that a queue overflow costs one scan and one log line.
func TestOverflow(t *testing.T) {
	faults(t)
	sysctl(t, "/proc/sys/fs/inotify/max_queued_events", "64")
	l := newLive(t, t.TempDir(), "watch: {reconcile: 1h}\nlog: {level: debug}\n")
	for n := range 10 {
		l.write(fmt.Sprintf("d%d/is/watched.md", n), "")
	}
	l.start()
	scans := func() int { return strings.Count(l.log.String(), "msg=scanned ") }
	l.until("it has looked once", func() bool { return scans() == 1 })
	for round := range 5 {
		before := l.mustStatus().Watch.Overflows
		l.suspend() // so that it cannot keep up
		for n := range 1000 {
			l.write(fmt.Sprintf("d%d/f%d.md", n%10, n), fmt.Sprintf("- quince %d in round %d\n", n, round))
		}
		l.resume()
		a := l.search(owner, fmt.Sprintf(`"in round %d"`, round), fields{"limit": 1})
		if a.Total != 1000 || !a.Index.Synced {
			t.Errorf("round %d: of 1000 files %d are found; %+v", round, a.Total, a.Index)
		}
		if s := l.mustStatus(); s.Watch.Overflows != before+1 || !s.Healthy {
			t.Errorf("round %d: %d overflows, want one more than %d; healthy: %v", round, s.Watch.Overflows, before, s.Healthy)
		}
		if n := scans(); n != 2+round {
			t.Errorf("round %d: it has looked %d times at everything, want %d", round, n, 2+round)
		}
		if n := strings.Count(l.log.String(), "events were lost"); n != 1+round {
			t.Errorf("round %d: it is logged %d times, want %d", round, n, 1+round)
		}
	}
	if c := l.check(); len(c.Differing) != 0 {
		t.Errorf("check says %+v", c.Differing)
	}
}

// sysctl sets a limit of the kernel until the test ends.
func sysctl(t *testing.T, path, value string) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(value), 0)
	}
	if err != nil {
		t.Skipf("the limit cannot be set here: %v", err)
	}
	t.Logf("%s is %s for a while", path, value)
	t.Cleanup(func() {
		if err := os.WriteFile(path, before, 0); err != nil {
			t.Errorf("%s could not be set back to %s: %v", path, before, err)
		}
	})
}

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
