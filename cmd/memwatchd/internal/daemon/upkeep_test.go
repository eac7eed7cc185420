package daemon

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/internal/state"
)

// TestJobPanics checks that a job that panics counts as failed and is reported.
// The daemon continues, and so does a caller that requests the same job.
func TestJobPanics(t *testing.T) {
	var runs atomic.Int32
	g := &target{t: t, root: t.TempDir(), base: shortDir(t), panics: true, beforeRun: func(d *daemon) {
		d.maintenance.scheduler.Job = func(context.Context) error {
			runs.Add(1)
			panic("out of luck")
		}
	}}
	testkit.Must(t, os.WriteFile(filepath.Join(g.root, "a.md"), []byte("- quince\n"), 0o600))
	dir := filepath.Join(g.base, "state")
	testkit.Must(t, state.PrivateDir(dir))
	until := time.Now().AddDate(0, 0, -2).Format(time.RFC3339)
	testkit.Must(t, state.Write(filepath.Join(dir, "compactor.json"), []byte(`{"schedule":"0 3 * * *","until":"`+until+`"}`)))
	g.startDaemon(nil)
	g.waitComplete()
	waitUntil(t, "the failure is told", func() bool { return strings.Contains(g.daemon.Report().Compactor.Problem, "panic: out of luck") })
	c := g.dial("s")
	if a := g.mustSend(t, c, "search", object{"subject": "owner", "context": "private", "query": "quince"}); !strings.Contains(a, "a.md") {
		t.Errorf("it answers %s", a)
	}
	g.mustSend(t, c, "compact", object{"subject": "owner", "context": "private", "dry_run": true})
	if n := runs.Load(); n != 1 {
		t.Errorf("a run that was missed was made up for %d times", n)
	}
	if !strings.Contains(g.log.String(), "compactor run panicked") {
		t.Error("where it panicked is not logged")
	}
}

// TestNightMendsCounters checks that nightly maintenance corrects counters that
// do not agree with the boxes, and changes nothing else in the file.
func TestNightMendsCounters(t *testing.T) {
	root := t.TempDir()
	const path, text = "2026-02-04/cli.md", "---\ntasks: 7/8 # by hand\n---\n## Tasks\n- [x] one\n- [ ] two\n"
	testkit.WriteFile(t, filepath.Join(root, path), text)
	g := startTarget(t, root, func(c *config.Config, _ string) { c.Tuning.Quiet = 0 })
	testkit.Must(t, g.daemon.maintenance.scheduler.Job(t.Context()))
	got, err := os.ReadFile(filepath.Join(root, path))
	if want := strings.Replace(text, "7/8", "1/2", 1); err != nil || string(got) != want {
		t.Errorf("it is %q, want %q; %v", got, want, err)
	}
}
