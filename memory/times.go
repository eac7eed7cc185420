package memory

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// timeRE matches ISO 8601, as users and programs write it: a day, a time of day and a zone.
var timeRE = lazyregexp.New(`^(\d{4})[-/.]?(\d\d)[-/.]?(\d\d)(?:(?:[Tt_]| +)(\d\d):?(\d\d)(?::?(\d\d(?:\.\d{1,9})?))?` +
	` ?(?:([Zz]|UTC)|([+-]\d\d):?(\d\d)?)?)?$`)

// ParseTime parses a timestamp in any usual form of ISO 8601 and reports
// whether it is valid. A date without a time is the start of that day in loc, and a
// time without a zone is one of loc. The result is in UTC, and zero if s is invalid.
func ParseTime(s string, loc *time.Location) (time.Time, bool) {
	if t, err := time.Parse(time.RFC3339, s); err == nil && len(s) == len("2006-01-02T15:04:05Z") {
		return t.UTC(), true // as memwatchd writes it
	}
	g := timeRE().FindStringSubmatch(strings.TrimSpace(s))
	if g == nil {
		return time.Time{}, false
	}
	layout, text := "2006-01-02T15:04:05",
		fmt.Sprintf("%s-%s-%sT%s:%s:%s", g[1], g[2], g[3], cmp.Or(g[4], "00"), cmp.Or(g[5], "00"),
			cmp.Or(g[6], "00"))
	switch {
	case g[7] != "":
		loc = time.UTC
	case g[8] != "":
		layout, text = layout+"-0700", text+g[8]+cmp.Or(g[9], "00")
	}
	t, err := time.ParseInLocation(layout, text, loc)
	if err != nil {
		return time.Time{}, false
	}
	return t.UTC(), true
}

// dayBounds returns the first and the last second of a day.
func dayBounds(day string, loc *time.Location) (from, to time.Time, ok bool) {
	t, err := time.ParseInLocation(time.DateOnly, day, loc)
	if err != nil {
		return from, to, false
	}
	return t, t.AddDate(0, 0, 1).Add(-time.Second), true
}

// dayInName returns the first day in the base name of a file, such as 2026-02-04 or
// 2026_02_04, or an empty string.
func dayInName(base string) string {
	for _, day := range nameDayRE().FindAllString(strings.NewReplacer("_", "-", ".", "-").Replace(base), -1) {
		if IsDay(day) {
			return day
		}
	}
	return ""
}

var nameDayRE = lazyregexp.New(`\b\d{4}-\d{2}-\d{2}\b`)

// clockRE matches the time at the start of a heading in a daily note.
var clockRE = lazyregexp.New(`^(\d{1,2})[:：](\d{2})(?:[:：](\d{2}))?\s*([AaPp])?(\.?[Mm]\.?)?(?:$|[^\pL\pN:])`)

// headingClock parses the time of day of a heading like "10:30 AM - Topic".
func headingClock(text string) (h, m, s int, ok bool) {
	text = strings.TrimLeft(text, " \t*_")
	if text == "" || text[0] < '0' || text[0] > '9' {
		return 0, 0, 0, false
	}
	g := clockRE().FindStringSubmatch(text)
	if g == nil || (g[4] == "") != (g[5] == "") {
		return 0, 0, 0, false
	}
	h, _ = strconv.Atoi(g[1])
	m, _ = strconv.Atoi(g[2])
	s, _ = strconv.Atoi(g[3])
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

// addedSuffix returns the date of "(added 2026-02-05)" at the end of a text, or
// an empty string.
func addedSuffix(s string) string {
	if end := strings.TrimRight(s, " \t\n"); !strings.HasSuffix(end, ")") && !strings.HasSuffix(end, "）") {
		return "" // most texts, of which some are long
	}
	at := max(strings.LastIndex(s, "(added"), strings.LastIndex(s, "（added"))
	if at < 0 {
		return ""
	}
	g := addedRE().FindStringSubmatch(s[at:])
	if g == nil || !IsDay(g[1]) {
		return ""
	}
	return g[1]
}

var addedRE = lazyregexp.New(`^[(（]added *(\d{4}-\d{2}-\d{2})[)）][ \t\n]*$`)

// cutLeadingDate splits a date and a colon from the start of a text.
func cutLeadingDate(s string) (day, rest string) {
	at := strings.TrimLeft(s, "*_ ")
	if len(at) <= len(time.DateOnly) || at[0] < '0' || at[0] > '9' || !IsDay(at[:len(time.DateOnly)]) {
		return "", s
	}
	day, rest = at[:len(time.DateOnly)], strings.TrimLeft(at[len(time.DateOnly):], "*_ ")
	rest, ok := cutColon(rest, strings.CutPrefix)
	if !ok {
		return "", s
	}
	return day, strings.TrimLeft(rest, "*_ ")
}

// addedDate returns the date at the end or the start of an entry's lead, or an
// empty string.
func addedDate(lead string) string {
	if day := addedSuffix(lead); day != "" {
		return day
	}
	day, _ := cutLeadingDate(lead)
	return day
}

// ParseClock parses a time of day, such as 10:30 AM or 22:30, and reports
// whether s is one.
func ParseClock(s string) (hour, minute int, ok bool) {
	hour, minute, _, ok = headingClock(s)
	return hour, minute, ok && clockRE().FindString(s) == s && strings.ContainsAny(s[len(s)-1:], "0123456789mM.")
}
