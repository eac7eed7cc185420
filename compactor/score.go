package compactor

import (
	"math"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// halfLife is the time after which a use, and the recency of an entry, count
// half.
const halfLife = 30 * 24 * time.Hour

// scoreOf returns the score of an entry.
func scoreOf(e *memory.Entry, uses float64, links int, now time.Time) api.CompactScore {
	s := api.CompactScore{Uses: uses, Links: links}
	if !e.Time.IsZero() {
		age := max(0, now.Sub(e.Time))
		s.AgeDays = age.Hours() / 24
		s.Recency = decay(age)
	}
	s.Use = math.Log2(1 + s.Uses + float64(s.Links))
	s.Total = s.Use + s.Recency
	return s
}

// decay returns the fraction of a count that remains after d.
func decay(d time.Duration) float64 { return math.Exp2(-float64(d) / float64(halfLife)) }
