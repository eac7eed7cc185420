package memory

import (
	"slices"
	"testing"
	"time"
)

// TestParsePeriod checks periods on a Sunday on which the clocks change.
func TestParsePeriod(t *testing.T) {
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
		"4 February 2026":      {"2026-02-04T00:00:00+01:00", "2026-02-04T23:59:59+01:00"},
		"feb 4th":              {"2026-02-04T00:00:00+01:00", "2026-02-04T23:59:59+01:00"},
		"29th of March":        {"2026-03-29T00:00:00+01:00", "2026-03-29T23:59:59+02:00"},
		"March 30":             {"2025-03-30T00:00:00+01:00", "2025-03-30T23:59:59+02:00"}, // 2026-03-30 is tomorrow
		"Feb. 29":              {"2024-02-29T00:00:00+01:00", "2024-02-29T23:59:59+01:00"},
		"Sept 2025":            {"2025-09-01T00:00:00+02:00", "2025-09-30T23:59:59+02:00"},
		"May":                  {"2025-05-01T00:00:00+02:00", "2025-05-31T23:59:59+02:00"},
		"2026年2月4日":            {"2026-02-04T00:00:00+01:00", "2026-02-04T23:59:59+01:00"},
		"2月4号":                 {"2026-02-04T00:00:00+01:00", "2026-02-04T23:59:59+01:00"},
		"2025年12月":             {"2025-12-01T00:00:00+01:00", "2025-12-31T23:59:59+01:00"},
		"昨天":                   {"2026-03-28T00:00:00+01:00", "2026-03-28T23:59:59+01:00"},
	} {
		first, last, ok := ParsePeriod(s, now)
		if got := [2]string{first.In(berlin).Format(time.RFC3339), last.In(berlin).Format(time.RFC3339)}; !ok || got != want {
			t.Errorf("%s: %v %v, want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "now", "2026-02-30", "-3h", "d", "7 d", "-7d", "99999999d", "2026-3", "tomorrow", "mon", "\xff",
		"30 February", "February 30, 2026", "0 May", "May 0", "in May", "mayor", "13月", "5月0日", "4 February 20266"} {
		if first, _, ok := ParsePeriod(s, now); ok {
			t.Errorf("%q: %v", s, first)
		}
	}
}

func TestNamedPeriods(t *testing.T) {
	now := time.Date(2026, 2, 6, 12, 0, 0, 0, time.UTC) // a Friday
	for text, want := range map[string][]string{
		"what did Maria donate in December 2025?":      {"2025-12-01/2025-12-31"},
		"the plan of 4 May, 2025 and of May 5th, 2025": {"2025-05-04/2025-05-04", "2025-05-05/2025-05-05"},
		"2026-02-01, 2026-01":                          {"2026-02-01/2026-02-01", "2026-01-01/2026-01-31"},
		"the trip in late June":                        {"2025-06-01/2025-06-30"},
		"what may have changed, and who is April":      nil,
		"what did we decide yesterday":                 {"2026-02-05/2026-02-05"},
		"on Monday":                                    {"2026-02-02/2026-02-02"},
		"the Friday before 23 January, 2026":           {"2026-01-23/2026-01-23"},
		"1月3日和去年12月做了什么":                               {"2026-01-03/2026-01-03", "2025-12-01/2025-12-31"},
		"在2026-01-03做了什么":                              {"2026-01-03/2026-01-03"},
		"3个月 and 2026-13-01":                           nil,
		"昨天吃了什么":                                       {"2026-02-05/2026-02-05"},
		"":                                             nil,
	} {
		var got []string
		for _, p := range NamedPeriods(text, now) {
			got = append(got, p.First.Format(time.DateOnly)+"/"+p.Last.Format(time.DateOnly))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
