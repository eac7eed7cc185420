package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adrg/xdg"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/app"
)

// TestCycles checks that a daemon started and ended within a process leaves no
// goroutine and no open file, in any state and for any kind of end.
func TestCycles(t *testing.T) {
	l := newLive(t, t.TempDir(), "")
	t.Setenv("XDG_STATE_HOME", filepath.Join(filepath.Dir(l.config), "state"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(filepath.Dir(l.config), "cache"))
	xdg.Reload()
	t.Cleanup(xdg.Reload)
	for n := range 50 {
		l.write(fmt.Sprintf("2026-02-04/s%d.md", n), "- quince\n")
	}
	const cycles, warm = 20, 3
	var goroutines, files int
	for n := range cycles {
		l.cycle(n)
		if n == warm {
			goroutines, files = pprof.Lookup("goroutine").Count(), openedFiles(t)
		}
	}
	var stacks bytes.Buffer
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		all := pprof.Lookup("goroutine")
		if all.Count() <= goroutines && openedFiles(t) <= files {
			return
		}
		if time.Now().After(end) {
			all.WriteTo(&stacks, 1)
			t.Fatalf("after %d daemons there are %d goroutines, after %d there were %d; %d open files, there were %d\n%s",
				cycles, all.Count(), warm+1, goroutines, openedFiles(t), files, &stacks)
		}
	}
}

// openedFiles returns the number of open files of this process.
func openedFiles(t *testing.T) int {
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// cycle starts a daemon in this process, uses it and ends it. Depending on n,
// the daemon ends while it is still starting, after a reload or during a
// rebuild.
func (l *live) cycle(n int) {
	t := l.t
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan int, 1)
	go func() { ended <- app.Run(ctx, []string{"serve", "--config", l.config}, nil, &l.log, &l.log) }()
	l.done = make(chan error, 1) // nothing is sent here: the end of app.Run is sent to ended
	whole := func() bool {
		s, err := l.status()
		return err == nil && !s.Index.Degraded && s.RootState != "starting"
	}
	l.until("it answers", func() bool { _, err := l.status(); return err == nil })
	if n%4 != 1 {
		l.until("the index is whole", whole)
		l.write(fmt.Sprintf("2026-02-05/s%d.md", n), "- medlar\n")
		if a := l.search(owner, "medlar", nil); !a.Index.Synced || len(a.Hits) != 1 {
			t.Errorf("found %q; %+v", texts(a), a.Index)
		}
	}
	c := newHTTPClient(l.socket)
	defer c.CloseIdleConnections()
	res, err := c.Get("http://memwatchd/v1/events?context=public") // the events stay unread
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if n%4 == 2 {
		begun := func() int { return strings.Count(l.log.String(), "msg=serving ") }
		before := begun()
		syscall.Kill(os.Getpid(), syscall.SIGHUP)
		l.until("it began anew", func() bool { return begun() > before && whole() })
	}
	if n%4 == 3 {
		go func() {
			res, err := c.Post("http://memwatchd/v1/rebuild", "application/json", bytes.NewReader([]byte("{}")))
			if err == nil {
				res.Body.Close()
			}
		}()
	}
	cancel()
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("it ended with %d:\n%s", code, l.log.String())
		}
	case <-time.After(time.Minute):
		panic("the daemon does not end") // panic prints all goroutines
	}
	l.done = nil
}
