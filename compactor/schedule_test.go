package compactor

import (
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the machine may have no time zone database

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

// TestParseSchedule checks the next four times of schedules after a time, also where the clock jumps
// or goes back.
func TestParseSchedule(t *testing.T) {
	golden.Table(t, "schedules", func(t *testing.T, in []string) string {
		loc, err := time.LoadLocation(in[1])
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, in[2])
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseSchedule(in[0], loc)
		var got []string
		for range 4 {
			if err == nil {
				at = s.Next(at.In(loc))
				got = append(got, at.Format("2006-01-02 15:04-07"))
			}
		}
		if !slices.IsSorted(got) {
			t.Errorf("%q: %q", in, got)
		}
		return golden.Result(strings.Join(got, ", "), err)
	})
}
