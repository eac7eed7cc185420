package ops

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

// A slowIndexer never reads the folders in time, and records until when calls wait.
type slowIndexer struct {
	Indexer
	until []time.Time
}

func (s *slowIndexer) record(ctx context.Context) {
	deadline, _ := ctx.Deadline()
	s.until = append(s.until, deadline)
}

func (s *slowIndexer) Sync(ctx context.Context) error {
	s.record(ctx)
	return nil
}

func (s *slowIndexer) SyncRoots(ctx context.Context, _ []string) error {
	s.record(ctx)
	return errors.New("not in time")
}

// TestWaitForRoots checks that a call waits for the memory directory and for the
// folders together no longer than SyncTimeout.
func TestWaitForRoots(t *testing.T) {
	vault := []*memory.Root{{Name: "vault", Owner: "owner"}}
	root := &opsRoot{directories: memory.Directories{Owner: "owner", Roots: vault}}
	indexer := &slowIndexer{Indexer: root}
	m := &Memory{Layout: &memory.Layout{Owner: "owner", Roots: vault}, Owner: "owner", Scopes: root,
		Indexer: indexer, SyncTimeout: time.Minute}
	c := Call{Scope: memory.Scope{Subject: "owner", Context: memory.Private}, start: time.Now()}
	if err := m.syncIndex(t.Context(), &c); err != nil || !c.synced {
		t.Fatal(c.synced, err)
	}
	c, err := m.withRoots(t.Context(), c, nil)
	if err != nil || c.synced {
		t.Errorf("synced %v, %v", c.synced, err)
	}
	if len(indexer.until) != 2 || indexer.until[1].After(indexer.until[0]) {
		t.Errorf("waits until %v", indexer.until)
	}
}
