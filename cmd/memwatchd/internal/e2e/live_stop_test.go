package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestStopped checks that a process that was stopped for a while, as all are
// while the machine sleeps, scans every file when it continues, because it may
// have missed events.
func TestStopped(t *testing.T) {
	faults(t)
	const files = 60
	for _, queue := range []string{"16384", "32"} {
		t.Run(queue, func(t *testing.T) {
			sysctl(t, "/proc/sys/fs/inotify/max_queued_events", queue)
			l := newLive(t, t.TempDir(), "")
			l.fill(files)
			l.start()
			l.suspend()
			for n := range 1000 {
				l.write(fmt.Sprintf("2026-02-%02d/n%d.md", n%28+1, n), "- quince\n")
			}
			remove(t, l.path("2026-01-01"))
			gone := 0
			for n := range files {
				if n%28 == 0 {
					gone++
				}
			}
			time.Sleep(time.Minute)
			l.resume()
			want := files - gone + 1000
			if a := l.search(owner, "quince", fields{"limit": 1}); a.Total != want || !a.Index.Synced {
				t.Errorf("awake, it finds %d of %d; %+v", a.Total, want, a.Index)
			}
			l.until("it says that it was asleep", func() bool { return strings.Contains(l.log.String(), "resumed from sleep") })
			l.wantWell(want)
		})
	}
}
