package e2e

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"
)

// TestRaceReloadAnswersAll checks that each request during a reload gets an answer,
// from the old or the new daemon.
func TestRaceReloadAnswersAll(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), "")
	l.env = append(l.env, "MEMWATCHD_IPC_DRAIN=1m")
	l.start()
	l.write("2026-02-04/a.md", "- quince\n")
	const reloads = 20
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for range 8 {
		group.Go(func() error {
			for ctx.Err() == nil {
				if err := l.ask("search", owner.with(fields{"query": "quince", "sync": false}), new(struct{})); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for n := range reloads {
		l.cmd.Process.Signal(syscall.SIGHUP)
		l.until("it began anew", func() bool {
			return ctx.Err() != nil || strings.Count(l.log.String(), "msg=serving ") == n+2
		})
	}
	cancel()
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
