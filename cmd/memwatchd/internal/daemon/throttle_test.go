package daemon

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestThrottle checks that a message is logged a limited number of times a
// minute. The number of omitted records is logged with the first message of the
// next minute, whichever that is.
func TestThrottle(t *testing.T) {
	var out bytes.Buffer
	h := newThrottle(slog.NewTextHandler(&out, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	now := time.Date(2026, 2, 4, 10, 0, 0, 0, time.UTC)
	say := func(level slog.Level, text string, times int) {
		t.Helper()
		for range times {
			testkit.Must(t, h.Handle(t.Context(), slog.NewRecord(now, level, text, 0)))
		}
	}
	lines := func() map[string]int {
		seen := map[string]int{}
		for line := range bytes.Lines(out.Bytes()) {
			seen[string(bytes.TrimSpace(line))]++
		}
		out.Reset()
		return seen
	}
	want := func(want map[string]int) {
		t.Helper()
		if diff := cmp.Diff(want, lines()); diff != "" {
			t.Error(diff)
		}
	}
	say(slog.LevelWarn, "often", 100000)
	say(slog.LevelError, "more often than that", 100001)
	say(slog.LevelInfo, "seldom", throttleFree)
	want(map[string]int{
		`level=WARN msg=often`:                   throttleFree,
		`level=ERROR msg="more often than that"`: throttleFree,
		`level=INFO msg=seldom`:                  throttleFree,
	})
	now = now.Add(throttlePeriod)
	say(slog.LevelInfo, "another", 1)
	want(map[string]int{
		`level=WARN msg="repeated messages were skipped" times=199961`: 1,
		`level=INFO msg=another`: 1,
	})
	say(slog.LevelWarn, "often", 1)
	want(map[string]int{`level=WARN msg=often`: 1})
	now = now.Add(throttlePeriod)
	say(slog.LevelInfo, "another", 1)
	want(map[string]int{`level=INFO msg=another`: 1})
}
