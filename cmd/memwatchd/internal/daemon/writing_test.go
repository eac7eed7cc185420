package daemon

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// TestJournalIsPruned checks that each change expires after journal.keep, also
// the newest one, without maintenance and without further changes.
func TestJournalIsPruned(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		j, err := journal.Open(dir, 24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		record := func() {
			t.Helper()
			r, err := j.Begin(journal.Record{Path: "a.md", Cause: "test", After: journal.DigestOf([32]byte{1})})
			if err == nil {
				err = j.Done(r.ID)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		kept := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if got := len(j.List(time.Time{}, "", 0)); got != want {
				t.Errorf("%s: %d changes are kept, want %d", when, got, want)
			}
		}
		record()
		time.Sleep(48 * time.Hour) // no daemon runs
		ctx, cancel := context.WithCancel(t.Context())
		d := &daemon{writer: &vault.Writer{Journal: j}, logger: slog.New(slog.DiscardHandler)}
		ended := make(chan error)
		go func() { ended <- d.runPruning(ctx) }()
		kept("at the start, when the clock may be wrong", 1)
		record()
		kept("after a second change", 2)
		time.Sleep(2 * pruneInterval)
		kept("once the clock is steady", 1)
		time.Sleep(24 * time.Hour)
		kept("a day later", 0)
		cancel()
		<-ended
	})
}
