package memory

import (
	"regexp"
	"strings"
	"time"
)

// timeLayouts are the spellings of ISO 8601 that people and programs use, with
// a zone and without.
var (
	zonedLayouts = []string{
		time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04Z07:00", "2006-01-02T15:04Z0700",
		"2006-01-02T15:04:05 Z07:00", "2006-01-02T15:04:05 Z0700", "2006-01-02T15:04:05 MST", "20060102T150405Z0700", "20060102T1504Z0700",
	}
	localLayouts = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "20060102T150405", "20060102T1504"}
	dayLayouts   = []string{time.DateOnly, "20060102", "2006/01/02", "2006.01.02"}
)

// ParseTime reads a timestamp in any usual spelling of ISO 8601. A date without
// a time is the start of that day in loc; a time without a zone is UTC. The
// result is in UTC.
func ParseTime(s string, loc *time.Location) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if len(s) < len("20060102") || len(s) > 40 {
		return time.Time{}, false
	}
	if len(s) > 10 && (s[10] == ' ' || s[10] == 't' || s[10] == '_') {
		s = s[:10] + "T" + strings.TrimLeft(s[11:], " ")
	}
	if n := len(s) - 1; s[n] == 'z' {
		s = s[:n] + "Z"
	}
	for _, layout := range zonedLayouts {
		if t, err := time.Parse(layout, s); err == nil && (layout[len(layout)-1] != 'T' || t.Location() == time.UTC) {
			return t.UTC(), true
		}
	}
	for _, layout := range localLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	for _, layout := range dayLayouts {
		if t, err := time.ParseInLocation(layout, s, loc); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// dayBounds are the first and the last second of a day.
func dayBounds(day string, loc *time.Location) (from, to time.Time, ok bool) {
	t, err := time.ParseInLocation(time.DateOnly, day, loc)
	if err != nil {
		return from, to, false
	}
	return t, t.AddDate(0, 0, 1).Add(-time.Second), true
}

// clockRE is the time that begins a heading of a daily note.
var clockRE = regexp.MustCompile(`^(\d{1,2})[:：](\d{2})(?:[:：](\d{2}))?\s*([AaPp])?(\.?[Mm]\.?)?(?:$|[^\pL\pN:])`)

// headingClock reads the time of day from a heading like "10:30 AM - Topic".
func headingClock(text string) (h, m, s int, ok bool) {
	text = strings.TrimLeft(text, " \t*_")
	if text == "" || text[0] < '0' || text[0] > '9' {
		return 0, 0, 0, false
	}
	g := clockRE.FindStringSubmatch(text)
	if g == nil || (g[4] == "") != (g[5] == "") {
		return 0, 0, 0, false
	}
	num := func(s string) (n int) {
		for _, c := range s {
			n = n*10 + int(c-'0')
		}
		return n
	}
	h, m, s = num(g[1]), num(g[2]), num(g[3])
	if g[4] != "" {
		if h < 1 || h > 12 {
			return 0, 0, 0, false
		}
		h %= 12
		if strings.EqualFold(g[4], "p") {
			h += 12
		}
	}
	return h, m, s, h < 24 && m < 60 && s < 60
}

// addedSuffix finds the date of "(added 2026-02-05)" at the end of a text.
func addedSuffix(s string) string {
	s = strings.TrimRight(s, " \t\n")
	rest, ok := strings.CutSuffix(s, ")")
	if !ok {
		if rest, ok = strings.CutSuffix(s, "）"); !ok {
			return ""
		}
	}
	if len(rest) < len(time.DateOnly) {
		return ""
	}
	day := rest[len(rest)-len(time.DateOnly):]
	rest = strings.TrimRight(rest[:len(rest)-len(day)], " ")
	rest, ok = strings.CutSuffix(rest, "added")
	if !ok || !strings.HasSuffix(rest, "(") && !strings.HasSuffix(rest, "（") || !IsDay(day) {
		return ""
	}
	return day
}

// cutLeadingDate cuts a date and a colon off the beginning of a text.
func cutLeadingDate(s string) (day, rest string) {
	at := strings.TrimLeft(s, "*_ ")
	if len(at) <= len(time.DateOnly) || at[0] < '0' || at[0] > '9' || !IsDay(at[:len(time.DateOnly)]) {
		return "", s
	}
	day, rest = at[:len(time.DateOnly)], strings.TrimLeft(at[len(time.DateOnly):], "*_ ")
	for _, colon := range []string{":", "："} {
		if r, ok := strings.CutPrefix(rest, colon); ok {
			return day, strings.TrimLeft(r, "*_ ")
		}
	}
	return "", s
}

// addedDate finds the date at the end or the beginning of an entry's lead.
func addedDate(lead string) string {
	if day := addedSuffix(lead); day != "" {
		return day
	}
	day, _ := cutLeadingDate(lead)
	return day
}
