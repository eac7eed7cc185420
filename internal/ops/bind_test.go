package ops

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
)

// TestStopping checks that a request that ends because the daemon stops reports that.
func TestStopping(t *testing.T) {
	m := readOpsCase(t, &txtar.Archive{}).disk(t).memory
	stops := api.Errorf(api.Unavailable, "the daemon stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stops)
	op := lookUp(t, "note")
	if _, err := (&opsRequest{op: op, request: []byte(`{"text": "tea"}`)}).direct(ctx, m); !errors.Is(err, stops) {
		t.Errorf("a note is answered with %v", err)
	}
}
