package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/vault"
)

// A job that panics has failed, and is reported; the daemon goes on, and so does
// whoever asks for the same.
func TestJobPanics(t *testing.T) {
	ownHome(t)
	var runs atomic.Int32
	g := &target{t: t, root: t.TempDir(), base: shortDir(t), panics: true, opened: func(d *daemon) {
		d.upkeep.scheduler.Job = func(context.Context) error {
			runs.Add(1)
			panic("out of luck")
		}
	}}
	if err := os.WriteFile(filepath.Join(g.root, "a.md"), []byte("- quince\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(g.base, "state")
	if err := vault.PrivateDir(state); err != nil {
		t.Fatal(err)
	}
	until := time.Now().AddDate(0, 0, -2).Format(time.RFC3339)
	if err := vault.WriteState(filepath.Join(state, "compactor.json"), []byte(`{"schedule":"0 3 * * *","until":"`+until+`"}`)); err != nil {
		t.Fatal(err)
	}
	g.start(nil)
	g.whole()
	eventually(t, "the failure is told", func() bool { return strings.Contains(g.daemon.Report().Compactor.Problem, "panic: out of luck") })
	c := g.dial("s")
	if a := g.answer(t, c, "search", object{"subject": "owner", "context": "private", "query": "quince"}); !strings.Contains(a, "a.md") {
		t.Errorf("it answers %s", a)
	}
	g.answer(t, c, "compact", object{"subject": "owner", "context": "private", "dry_run": true})
	if n := runs.Load(); n != 1 {
		t.Errorf("a run that was missed was made up for %d times", n)
	}
	if !strings.Contains(g.log.String(), "compactor run panicked") {
		t.Error("where it panicked is not logged")
	}
}
