package memory

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Accepted layouts of ISO 8601, as users and programs write them.
var (
	timeLayouts = []string{
		time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04Z07:00",
		"2006-01-02T15:04Z0700",
		"2006-01-02T15:04:05 Z07:00", "2006-01-02T15:04:05 Z0700", "2006-01-02T15:04:05 UTC", "20060102T150405Z0700",
		"20060102T1504Z0700", "2006-01-02T15:04:05", "2006-01-02T15:04", "20060102T150405", "20060102T1504",
	}
	dayLayouts = []string{time.DateOnly, "20060102", "2006/01/02", "2006.01.02"}
)

// ParseTime parses a timestamp in any usual form of ISO 8601 and reports
// whether it is valid. A date without a time is the start of that day in loc; a
// time without a zone is UTC. The result is in UTC, and zero if s is invalid.
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
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	for _, layout := range dayLayouts {
		if t, err := time.ParseInLocation(layout, s, loc); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// dayBounds returns the first and the last second of a day.
func dayBounds(day string, loc *time.Location) (from, to time.Time, ok bool) {
	t, err := time.ParseInLocation(time.DateOnly, day, loc)
	if err != nil {
		return from, to, false
	}
	return t, t.AddDate(0, 0, 1).Add(-time.Second), true
}

// dayInName returns the day in the base name of a file, or an empty string: a date
// with separators anywhere, such as 2026-02-04, or digits at the start, such as
// 20260204 or 202602041230.
func dayInName(base string) string {
	const n = len(time.DateOnly)
	isDigit := func(i int) bool { return i >= 0 && i < len(base) && '0' <= base[i] && base[i] <= '9' }
	base = strings.NewReplacer("_", "-", ".", "-").Replace(base)
	for i := 0; i+n <= len(base); i++ {
		if !isDigit(i-1) && !isDigit(i+n) && IsDay(base[i:i+n]) {
			return base[i : i+n]
		}
	}
	digits := 0
	for isDigit(digits) {
		digits++
	}
	if digits == 8 || digits == 12 || digits == 14 {
		day := base[:4] + "-" + base[4:6] + "-" + base[6:8]
		if century := base[:2]; (century == "19" || century == "20") && IsDay(day) {
			return day
		}
	}
	return ""
}

// clockRE matches the time at the start of a heading in a daily note.
var clockRE = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d{1,2})[:：](\d{2})(?:[:：](\d{2}))?\s*([AaPp])?(\.?[Mm]\.?)?(?:$|[^\pL\pN:])`)
})

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
	at := max(strings.LastIndex(s, "(added"), strings.LastIndex(s, "（added"))
	if at < 0 {
		return ""
	}
	g := addedRE.FindStringSubmatch(s[at:])
	if g == nil || !IsDay(g[1]) {
		return ""
	}
	return g[1]
}

var addedRE = regexp.MustCompile(`^[(（]added *(\d{4}-\d{2}-\d{2})[)）][ \t\n]*$`)

// cutLeadingDate splits a date and a colon from the start of a text.
func cutLeadingDate(s string) (day, rest string) {
	at := strings.TrimLeft(s, "*_ ")
	if len(at) <= len(time.DateOnly) || at[0] < '0' || at[0] > '9' || !IsDay(at[:len(time.DateOnly)]) {
		return "", s
	}
	day, rest = at[:len(time.DateOnly)], strings.TrimLeft(at[len(time.DateOnly):], "*_ ")
	rest, ok := cutColon(rest)
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

// ClockHeading returns the heading of a note: the time of day and, if there is
// one, the topic. The time has the format of the last heading with a time, or
// 12 hours with AM and PM if there is none.
func (d *Document) ClockHeading(at time.Time, topic string) string {
	format := "3:04 PM"
	if d != nil && d.fullClock() {
		format = "15:04"
	}
	s := at.Format(format)
	topic = HeadingText(topic)
	if topic != "" {
		s += " - " + topic
	}
	return s
}

// fullClock reports whether the last heading with a time of day uses 24 hours.
func (d *Document) fullClock() bool {
	for _, h := range slices.Backward(d.Headings) {
		if _, _, _, ok := headingClock(h.Text); ok {
			g := clockRE().FindStringSubmatch(strings.TrimLeft(h.Text, " \t*_"))
			return g[4] == ""
		}
	}
	return false
}

// ParseClock parses a time of day, such as 10:30 AM or 22:30, and reports
// whether s is one.
func ParseClock(s string) (hour, minute int, ok bool) {
	hour, minute, _, ok = headingClock(s)
	return hour, minute, ok && clockRE().FindString(s) == s && strings.ContainsAny(s[len(s)-1:], "0123456789mM.")
}

// boundRE matches words that bind a text to a time, in English and Chinese. It
// does not match recurring weekdays (every Friday, on Fridays), because they
// describe a habit. [DateBound] skips the Chinese ones (每周五), and those of last
// week (上周五).
var boundRE = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + strings.Join([]string{
		`\b(?:today|tonight|tomorrow|deadline)\b`,
		`\b(?:this|next) (?:morning|afternoon|evening|week|weekend|month|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b`,
		`\b(?:on|by|until|till|before) (?:mon|tues|wednes|thurs|fri|satur|sun)day\b`,
		`\bin (?:\d+|a|an|two|three|a few) (?:minute|hour|day|week)s?\b`,
		`\b(?:due|expires?) (?:on|by|at|in|next|this)\b`,
		`[今明后]天|今[晚早日]|明[晚早日]|截止|到期`,
		`(?:每个?|每逢|[上本这下]个?)?(?:周|星期|礼拜)[一二三四五六日天]`,
		`[本这下]个?(?:周|月|星期|礼拜)`,
		`\d+ ?(?:分钟|个?小时|天|周|个?星期)[之以]?[内后]`,
		`\b\d{4}-\d{2}-\d{2}\b`,
		`\d{4}年\d{1,2}月\d{1,2}[日号]`,
	}, "|"))
})

// leadingDayRE matches the date of an event at the start of a line.
var leadingDayRE = regexp.MustCompile(`(?m)^\s*\d{4}-\d{2}-\d{2}\s*[:：]`)

var numbersRE = regexp.MustCompile(`\d+`)

// DateBound returns the first words that bind a text to a time that will pass,
// or "" if there are none. A text with such words is not worth storing in
// long-term memory. The words are a day relative to now, a weekday to come, a
// deadline, a number of hours or days, or a date that is not before today,
// which is written YYYY-MM-DD. DateBound knows some English and Chinese words
// and ignores the topic of the text.
func DateBound(text, today string) string { return DateBoundUntil(text, today, "9999-12-31") }

// DateBoundUntil is like [DateBound], but ignores dates after the day last.
func DateBoundUntil(text, today, last string) string {
	text = leadingDayRE.ReplaceAllStringFunc(text, func(s string) string {
		if strings.TrimSpace(strings.TrimRight(s, ":：")) <= today {
			return "" // the day of an event
		}
		return s
	})
	for _, found := range boundRE().FindAllString(text, -1) {
		if strings.HasPrefix(found, "每") || strings.HasPrefix(found, "上") {
			continue
		}
		if numbers := numbersRE.FindAllString(found, -1); len(numbers) == 3 {
			for i := 1; i < 3; i++ {
				numbers[i] = ("0" + numbers[i])[len(numbers[i])-1:]
			}
			if day := strings.Join(numbers, "-"); !IsDay(day) || day < today || day > last {
				continue
			}
		}
		return found
	}
	return ""
}
