package share

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/memory"
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

type fileCounter struct {
	tree
	loads int
}

func (c *fileCounter) Load(ctx context.Context, path string) (*memory.Document, error) {
	c.loads++
	return c.tree.Load(ctx, path)
}

// TestReadyButFails checks that a store which is ready but fails every write is tried
// ever less often, and that few files are read for these trials.
func TestReadyButFails(t *testing.T) {
	for _, limit := range []int64{1 << 20, 20_000} {
		ctx, store := t.Context(), &memoryStore{fail: errors.New("read-only")}
		files := &fileCounter{tree: tree{}}
		for i := range 20 {
			files.tree[fmt.Sprintf("%02d.md", i)] = note(strings.Repeat(strings.Repeat("long ", 100)+"\n- ", 20))
		}
		p := newPublisher(t, t.TempDir(), files.tree, store)
		p.Source, p.MaxSpool = files, limit
		start := p.Now()
		now := start
		p.Now = func() time.Time { return now }
		steps := 0 // bounded, so that the test ends
		run := func(d time.Duration) {
			for end := now.Add(d); now.Before(end) && steps < 1000; steps++ {
				wait := p.Step(ctx)
				select {
				case <-p.wake:
					wait = time.Millisecond
				default:
				}
				now = now.Add(wait)
			}
		}
		run(time.Hour)
		if len(store.requests) > 40 || steps > 100 || files.loads > 40*20 {
			t.Errorf("limit %d: %d writes, %d steps and %d files read in an hour", limit, len(store.requests), steps, files.loads)
		}
		if s := p.Status(); s.Bytes > limit {
			t.Errorf("limit %d: the outbox has %d bytes", limit, s.Bytes)
		}
		store.fail = nil
		run(10 * time.Minute)
		if s := p.Status(); len(store.contents()) != 420 || s.Spooled > 0 || s.State != "publishing" {
			t.Errorf("limit %d: the store has %d entries afterwards, status %+v", limit, len(store.contents()), s)
		}
	}
}
