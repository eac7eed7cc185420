package ops

import (
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// TestPeriod checks the periods on a Sunday on which the clocks change.
func TestPeriod(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 29, 12, 30, 0, 0, berlin) // a Sunday of 23 hours
	for s, want := range map[string][2]string{
		"2026":                 {"2026-01-01T00:00:00+01:00", "2026-12-31T23:59:59+01:00"},
		"2026-03":              {"2026-03-01T00:00:00+01:00", "2026-03-31T23:59:59+02:00"},
		"2026-03-29":           {"2026-03-29T00:00:00+01:00", "2026-03-29T23:59:59+02:00"},
		"today":                {"2026-03-29T00:00:00+01:00", "2026-03-29T23:59:59+02:00"},
		"Sunday":               {"2026-03-29T00:00:00+01:00", "2026-03-29T23:59:59+02:00"},
		"yesterday":            {"2026-03-28T00:00:00+01:00", "2026-03-28T23:59:59+01:00"},
		"monday":               {"2026-03-23T00:00:00+01:00", "2026-03-23T23:59:59+01:00"},
		"7d":                   {"2026-03-22T12:30:00+01:00", "2026-03-22T12:30:00+01:00"},
		"2w":                   {"2026-03-15T12:30:00+01:00", "2026-03-15T12:30:00+01:00"},
		"36h":                  {"2026-03-27T23:30:00+01:00", "2026-03-27T23:30:00+01:00"},
		"1h30m":                {"2026-03-29T11:00:00+02:00", "2026-03-29T11:00:00+02:00"},
		"2026-03-29T10:00:00Z": {"2026-03-29T12:00:00+02:00", "2026-03-29T12:00:00+02:00"},
	} {
		first, last, ok := period(s, now)
		if got := [2]string{first.In(berlin).Format(time.RFC3339), last.In(berlin).Format(time.RFC3339)}; !ok || got != want {
			t.Errorf("%s: %v %v, want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "now", "2026-02-30", "-3h", "d", "7 d", "-7d", "99999999d", "2026-3", "tomorrow", "mon", "\xff"} {
		if first, _, ok := period(s, now); ok {
			t.Errorf("%q: %v", s, first)
		}
	}
}

// TestPeriodYears checks that a time whose year in UTC has no four digits is
// rejected: no answer can contain it.
func TestPeriodYears(t *testing.T) {
	m := readOpsCase(t, &txtar.Archive{Comment: []byte("timezone: Asia/Shanghai\n")}).memory(t).readOps()
	for _, s := range []string{"9999-12-31T23:59:59-12:00", "0000-06-01T00:00:00Z", "0000", "0001"} {
		if first, _, err := m.parsePeriod("as_of", s); err == nil {
			t.Errorf("%s: %v", s, first)
		}
	}
	for _, s := range []string{"9999", "9999-12-31", "0001-01-02", "65535w"} {
		if _, _, err := m.parsePeriod("as_of", s); err != nil {
			t.Error(err)
		}
	}
}
