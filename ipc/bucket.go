package ipc

import (
	"sync"
	"time"
)

// A bucket lets through so many requests a second, and a second's worth at
// once. The zero bucket lets everything through.
type bucket struct {
	rate float64

	mu   sync.Mutex
	full float64
	last time.Time
}

func (b *bucket) take(now time.Time) bool {
	if b.rate <= 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	room := max(b.rate, 1)
	if b.last.IsZero() {
		b.full = room
	} else {
		b.full = min(room, b.full+now.Sub(b.last).Seconds()*b.rate)
	}
	b.last = now
	if b.full < 1 {
		return false
	}
	b.full--
	return true
}
