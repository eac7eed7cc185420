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

// scoreOf rates how much an entry is worth keeping:
//
//	use     = log2(1 + uses + links)
//	recency = 2^(-age / 30 days)
//	total   = use + recency
//
// Uses counts how often the entry was returned or shown, each use halved every
// 30 days; links counts the entries that link to it. A new entry without uses
// scores 1, and so does an old one used once just now; each doubling of its use
// adds 1.
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
