package term

import (
	"testing"
	"time"
)

// TestBar checks the progress bar and its estimate of the remaining time.
func TestBar(t *testing.T) {
	for _, c := range []struct {
		done, total int
		took        time.Duration
		want        string
	}{
		{0, 3000, time.Second, "indexing [                              ] 0/3000"},
		{1000, 3000, 30 * time.Second, "indexing [==========                    ] 1000/3000, 1m0s left"},
		{2990, 3000, 30 * time.Second, "indexing [============================= ] 2990/3000"},
	} {
		if got := formatBar(c.done, c.total, remaining(c.done, c.total-c.done, c.took)); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
