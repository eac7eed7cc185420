package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// A message is logged up to throttleFree times in each period; the first
	// line of the next period has the number of records left out.
	throttleFree   = 20
	throttlePeriod = time.Minute
)

// A throttle keeps a repeated message from filling the disk.
type throttle struct {
	slog.Handler
	counts *messageCounts
}

type messageCounts struct {
	mu      sync.Mutex
	since   time.Time
	count   map[message]int
	skipped int
}

type message struct {
	level slog.Level
	text  string
}

func newThrottle(h slog.Handler) slog.Handler { return &throttle{h, new(messageCounts)} }

// Handle passes a record on, unless its message exceeded throttleFree.
func (t *throttle) Handle(ctx context.Context, r slog.Record) error {
	n, skipped := t.counts.countMessage(message{r.Level, r.Message}, r.Time)
	if skipped > 0 {
		summary := slog.NewRecord(r.Time, slog.LevelWarn, "repeated messages were skipped", 0)
		summary.AddAttrs(slog.Int("times", skipped))
		if err := t.Handler.Handle(ctx, summary); err != nil {
			return err
		}
	}
	if n > throttleFree {
		return nil
	}
	return t.Handler.Handle(ctx, r)
}

// countMessage counts a message. At the end of a period it also returns the number of
// messages left out in it.
func (s *messageCounts) countMessage(m message, now time.Time) (n, skipped int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.since) >= throttlePeriod {
		skipped = s.skipped
		s.since, s.count, s.skipped = now, map[message]int{}, 0
	}
	s.count[m]++
	if s.count[m] > throttleFree {
		s.skipped++
	}
	return s.count[m], skipped
}

// WithAttrs implements [slog.Handler].
func (t *throttle) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &throttle{t.Handler.WithAttrs(attrs), t.counts}
}

// WithGroup implements [slog.Handler].
func (t *throttle) WithGroup(name string) slog.Handler {
	return &throttle{t.Handler.WithGroup(name), t.counts}
}
