package ops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// TestContextNewerFiles checks that a match names a file of the project that was
// written after its day, and that only the owner learns of it.
func TestContextNewerFiles(t *testing.T) {
	m := openArchive(t, "-- memory/2026-02-01.md --\n- The port is set in `web/server.go` and ../secret.txt\n"+
		"- The port of the test is in old.go\n").memory
	dir := filepath.Join(t.TempDir(), "shop")
	for name, day := range map[string]string{"web/server.go": "2026-02-03", "old.go": "2026-01-02", "../secret.txt": "2026-02-03"} {
		path := filepath.Join(dir, name)
		written, err := time.Parse(time.DateOnly, day)
		checkError(t, errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600), os.Chtimes(path, written, written)))
	}
	for by, want := range map[*api.Caller]int{{AsOwner: true}: 1, {AsOwner: true, Model: true}: 0, {}: 0} {
		a, err := do[api.ContextAnswer](t, m, *by, api.ContextRequest{Query: "port", Format: "relevant", Limit: 8, Dir: dir, Count: new(bool)})
		if err != nil || strings.Count(a.Text, "newer]") != want || strings.Count(a.Text, "[web/server.go is newer]") != want {
			t.Errorf("%+v: %q, %v", by, a.Text, err)
		}
	}
}

// A failingIndexer returns fixed errors, and records until when calls wait.
type failingIndexer struct {
	Indexer
	err, rootsErr error
	until         []time.Time
}

func (f *failingIndexer) record(ctx context.Context) {
	deadline, _ := ctx.Deadline()
	f.until = append(f.until, deadline)
}

func (f *failingIndexer) Sync(ctx context.Context) error {
	f.record(ctx)
	return f.err
}

func (f *failingIndexer) SyncRoots(ctx context.Context, _ []string) error {
	f.record(ctx)
	return f.rootsErr
}

// TestWaitForRoots checks that a call waits for the memory directory and for the
// folders together no longer than SyncTimeout, and for each of them even if the other
// cannot be read.
func TestWaitForRoots(t *testing.T) {
	root := newDisk(t, nil)
	root.memory.Layout.Owner, root.memory.Layout.Roots = "owner", []*memory.Root{{Name: "vault", Owner: "owner"}}
	for _, indexer := range []*failingIndexer{
		{Indexer: root},
		{Indexer: root, err: errors.New("unreadable")},
		{Indexer: root, rootsErr: errors.New("unreadable")},
	} {
		m := readOps{syncer: indexer, Reading: &root.memory.Reading}
		c := Call{Scope: memory.Scope{Subject: "owner", Context: memory.Private}, start: time.Now()}
		checkError(t, m.syncIndex(t.Context(), &c))
		c, err := m.withRoots(t.Context(), c, nil)
		if want := indexer.err == nil && indexer.rootsErr == nil; err != nil || c.synced != want {
			t.Errorf("%v, %v: synced %v, %v", indexer.err, indexer.rootsErr, c.synced, err)
		}
		if len(indexer.until) != 2 || indexer.until[1].After(indexer.until[0]) {
			t.Errorf("%v, %v: waits until %v", indexer.err, indexer.rootsErr, indexer.until)
		}
	}
}
