package daemon

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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
	var want []string
	log := func(level slog.Level, text string, times, passed int) {
		t.Helper()
		for range times {
			testkit.Must(t, h.Handle(t.Context(), slog.NewRecord(now, level, text, 0)))
		}
		want = append(want, slices.Repeat([]string{fmt.Sprintf("level=%s msg=%s", level, text)}, passed)...)
	}
	log(slog.LevelWarn, "often", 1000, throttleFree)
	log(slog.LevelError, "often", 1001, throttleFree)
	log(slog.LevelInfo, "seldom", throttleFree, throttleFree)
	now = now.Add(throttlePeriod)
	want = append(want, `level=WARN msg="repeated messages were skipped" times=1961`)
	log(slog.LevelInfo, "another", 1, 1)
	log(slog.LevelWarn, "often", 1, 1)
	now = now.Add(throttlePeriod)
	log(slog.LevelInfo, "another", 1, 1)
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(out.String()), "\n")); diff != "" {
		t.Error(diff)
	}
}
