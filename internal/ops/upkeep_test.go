package ops

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
)

// rebuildingIndexer is a keeper whose index is being rebuilt.
type rebuildingIndexer struct{ Indexer }

func (rebuildingIndexer) Rebuild(context.Context) error {
	return fmt.Errorf("rebuild index: %w", index.ErrRebuilding)
}

// TestRebuildTwice checks that a second rebuild is rejected with a code that
// programs can act on.
func TestRebuildTwice(t *testing.T) {
	m := &Memory{Indexer: rebuildingIndexer{}}
	_, err := m.writeOps().rebuild(t.Context(), Call{}, &api.RebuildRequest{})
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.Busy || e.Hint == "" {
		t.Errorf("rebuild returns %v, want an error with the code %s and a hint", err, api.Busy)
	}
}
