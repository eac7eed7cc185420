package dates

import (
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

// TestParse checks periods on a Sunday of 23 hours, on which the clocks change.
func TestParse(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 29, 12, 30, 0, 0, berlin)
	golden.Table(t, "periods", func(_ *testing.T, in []string) string {
		first, last, ok := Parse(in[0], now)
		if !ok {
			return "none"
		}
		return first.In(berlin).Format(time.RFC3339) + " " + last.In(berlin).Format(time.RFC3339)
	})
}

func TestFind(t *testing.T) {
	now := time.Date(2026, 2, 6, 12, 0, 0, 0, time.UTC) // a Friday
	golden.Table(t, "named", func(_ *testing.T, in []string) string {
		var got []string
		for _, p := range Find(in[0], now) {
			got = append(got, p.First.Format(time.DateOnly)+"/"+p.Last.Format(time.DateOnly))
		}
		return strings.Join(got, " ")
	})
}

func TestBound(t *testing.T) {
	golden.Table(t, "bound", func(_ *testing.T, in []string) string { return Bound(in[0], "2026-02-05", "9999-12-31") })
	const text = "The lease ends 2026-02-13, 2026年3月8日考试, the trial 2026-02-12"
	if got := Bound(text, "2026-02-05", "2026-02-12"); got != "2026-02-12" {
		t.Errorf("within a week: %q", got)
	}
}
