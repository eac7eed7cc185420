package daemon

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
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
	mu    sync.Mutex
	since time.Time
	count map[message]int
}

type message struct {
	level slog.Level
	text  string
}

func newThrottle(h slog.Handler) slog.Handler {
	return &throttle{h, &messageCounts{count: map[message]int{}}}
}

// Handle passes a record on, unless its message exceeded throttleFree.
func (t *throttle) Handle(ctx context.Context, r slog.Record) error {
	n, over := t.counts.countMessage(message{r.Level, r.Message}, r.Time)
	byLevel := func(a, b message) int { return cmp.Or(cmp.Compare(a.level, b.level), strings.Compare(a.text, b.text)) }
	for _, m := range slices.SortedFunc(maps.Keys(over), byLevel) {
		summary := slog.NewRecord(r.Time, m.level, "messages were skipped", 0)
		summary.AddAttrs(slog.String("message", m.text), slog.Int("times", over[m]))
		if err := t.Handler.Handle(ctx, summary); err != nil {
			return err
		}
	}
	if n > throttleFree {
		return nil
	}
	return t.Handler.Handle(ctx, r)
}

// countMessage counts a message. At the end of a period it also returns how often each
// message was left out in it.
func (s *messageCounts) countMessage(m message, now time.Time) (n int, over map[message]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.since) >= throttlePeriod {
		over = s.count
		for m, n := range over {
			over[m] = n - throttleFree
			if n <= throttleFree {
				delete(over, m)
			}
		}
		s.since, s.count = now, map[message]int{}
	}
	s.count[m]++
	return s.count[m], over
}

// WithAttrs implements [slog.Handler].
func (t *throttle) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &throttle{t.Handler.WithAttrs(attrs), t.counts}
}

// WithGroup implements [slog.Handler].
func (t *throttle) WithGroup(name string) slog.Handler {
	return &throttle{t.Handler.WithGroup(name), t.counts}
}
