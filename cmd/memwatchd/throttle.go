package main

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// A message is logged so often, and then once a minute with the number of
	// times that it was left out.
	throttleFree   = 20
	throttlePeriod = time.Minute
)

// throttle keeps the same message from filling a disk.
type throttle struct {
	slog.Handler
	seen *seenMessages
}

type seenMessages struct {
	mu    sync.Mutex
	since time.Time
	count map[string]int
}

func newThrottle(h slog.Handler) slog.Handler {
	return &throttle{h, &seenMessages{count: map[string]int{}}}
}

// Handle passes a record on, unless there were too many like it.
func (t *throttle) Handle(ctx context.Context, r slog.Record) error {
	n, left := t.seen.note(r.Message, r.Time)
	if n > throttleFree {
		return nil
	}
	if left > 0 {
		r.AddAttrs(slog.Int("left_out", left))
	}
	return t.Handler.Handle(ctx, r)
}

// note counts a message, and says how often it was left out before.
func (s *seenMessages) note(message string, now time.Time) (n, left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.since) >= throttlePeriod {
		left = max(0, s.count[message]-throttleFree)
		s.since = now
		clear(s.count)
	}
	s.count[message]++
	return s.count[message], left
}

// WithAttrs implements [slog.Handler].
func (t *throttle) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &throttle{t.Handler.WithAttrs(attrs), t.seen}
}

// WithGroup implements [slog.Handler].
func (t *throttle) WithGroup(name string) slog.Handler {
	return &throttle{t.Handler.WithGroup(name), t.seen}
}
