package ops

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

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
	vault := []*memory.Root{{Name: "vault", Owner: "owner"}}
	root := &opsRoot{directories: memory.Directories{Owner: "owner", Roots: vault}}
	for _, indexer := range []*failingIndexer{
		{Indexer: root},
		{Indexer: root, err: errors.New("unreadable")},
		{Indexer: root, rootsErr: errors.New("unreadable")},
	} {
		m := readOps{syncer: indexer, Reading: &Reading{Layout: &memory.Layout{Owner: "owner", Roots: vault}, Owner: "owner", Scopes: root,
			SyncTimeout: time.Minute}}
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
