package compactor

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the machine may have no time zone database

	"github.com/google/go-cmp/cmp"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestScheduleNext(t *testing.T) {
	for _, test := range []struct {
		spec, zone, from string
		want             string // the next times, in that zone
	}{
		{"0 3 * * *", "UTC", "2026-02-04T03:00:00Z", "2026-02-05 03:00+00, 2026-02-06 03:00+00"},
		{"@daily", "UTC", "2026-02-04T03:00:00Z", "2026-02-05 00:00+00, 2026-02-06 00:00+00"},
		{" 30 4 1 jan,jul * ", "UTC", "2026-02-04T03:00:00Z", "2026-07-01 04:30+00, 2027-01-01 04:30+00"},
		{"0 0 29 2 *", "UTC", "2026-02-04T03:00:00Z", "2028-02-29 00:00+00, 2032-02-29 00:00+00"},
		{"@every 90m", "Europe/Berlin", "2026-03-28T23:30:00Z", "2026-03-29 03:00+02, 2026-03-29 04:30+02, 2026-03-29 06:00+02"},

		{"0 5 * * 7", "UTC", "2026-02-04T03:00:00Z", "2026-02-08 05:00+00, 2026-02-15 05:00+00"},
		{"0 5 * * 6-7", "UTC", "2026-02-04T03:00:00Z", "2026-02-07 05:00+00, 2026-02-08 05:00+00, 2026-02-14 05:00+00"},
		{"0 5 * * Fri-Sun", "UTC", "2026-02-04T03:00:00Z", "2026-02-06 05:00+00, 2026-02-07 05:00+00, 2026-02-08 05:00+00, 2026-02-13 05:00+00"},
		{"0 5 * * 0-7", "UTC", "2026-02-04T03:00:00Z", "2026-02-04 05:00+00, 2026-02-05 05:00+00"},
		{"0 5 * * 3,7", "UTC", "2026-02-04T05:00:00Z", "2026-02-08 05:00+00, 2026-02-11 05:00+00"},

		// The clock jumps from 02:00 to 03:00.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", "2026-03-28 02:30+01, 2026-03-30 02:30+02"},
		{"0 3 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", "2026-03-28 03:00+01, 2026-03-29 03:00+02, 2026-03-30 03:00+02"},
		{"30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29 01:30+01, 2026-03-29 03:30+02, 2026-03-29 04:30+02"},

		// The clock goes back from 03:00 to 02:00.
		{"0 3 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25 03:00+01, 2026-10-26 03:00+01"},
	} {
		s, err := ParseSchedule(test.spec, zone(t, test.zone))
		if err != nil {
			t.Error(err)
			continue
		}
		at, err := time.Parse(time.RFC3339, test.from)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range strings.Split(test.want, ", ") {
			next := s.Next(at.In(zone(t, test.zone)))
			if !next.After(at) {
				t.Fatalf("%s in %s: after %s comes %s", test.spec, test.zone, at, next)
			}
			got, at = append(got, next.Format("2006-01-02 15:04-07")), next
		}
		if diff := cmp.Diff(test.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s in %s after %s (-want +got):\n%s", test.spec, test.zone, test.from, diff)
		}
	}
}

func TestBadSchedules(t *testing.T) {
	for spec, want := range map[string]string{
		"":                       `schedule "": empty spec string`,
		"60 3 * * *":             "above maximum (59)",
		"0 3 * * 8":              "above maximum (6)",
		"*/0 3 * * *":            "should be a positive number",
		"0 3 30 feb *":           "no such day",
		"TZ=":                    "set memory.timezone",
		"CRON_TZ=UTC":            "set memory.timezone",
		"@reboot":                "unrecognized descriptor",
		"@every 30s":             "more frequent than once a minute",
		"@every 9223372036854ms": "",
	} {
		_, err := ParseSchedule(spec, time.UTC)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", spec, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "write five fields")):
			t.Errorf("%q: %v, not %q", spec, err, want)
		}
	}
}
