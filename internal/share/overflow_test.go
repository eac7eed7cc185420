package share

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A lossyStore writes, but its answers are lost on request.
type lossyStore struct {
	memoryStore
	lose bool
}

func (s *lossyStore) Put(ctx context.Context, batch []Object) ([]Refusal, error) {
	refused, err := s.memoryStore.Put(ctx, batch)
	if s.lose {
		return nil, errors.New("no answer")
	}
	return refused, err
}

// TestForgottenUnacknowledged checks that text which the store wrote without
// acknowledgement does not stay there after its entry was forgotten, even if the daemon
// starts again in between.
func TestForgottenUnacknowledged(t *testing.T) {
	for _, restart := range []bool{false, true} {
		ctx, dir, store := t.Context(), t.TempDir(), new(lossyStore)
		files := tree{"0.md": note("zero <!-- id=z -->")}
		p := newPublisher(t, dir, files, store)
		p.Step(ctx)
		store.lose = true
		files["a.md"] = note("CANARY <!-- id=a -->")
		p.Changed("a.md")
		p.Step(ctx)
		store.lose, store.fail = false, errors.New("away")
		delete(files, "a.md")
		if restart {
			p = newPublisher(t, dir, files, store)
		}
		p.Changed("a.md")
		p.Step(ctx)
		store.fail = nil
		p.Step(ctx)
		if got := strings.Join(store.contents(), "\n"); strings.Contains(got, "CANARY") {
			t.Errorf("restart %t: the store has forgotten text: %.200s", restart, got)
		}
	}
}
