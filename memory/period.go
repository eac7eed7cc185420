package memory

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// ParsePeriod returns the first and the last moment of a period: of a year, month
// or day, of today, yesterday or the last day with the name of a weekday, which
// may be today. A time, and an age before now such as 90m, 36h, 7d or 2w, is one
// moment. Dates are written 2026-02-04, 4 February 2026, Feb 4 or 2026年2月4日; one
// without a year is the last that has begun. Days are those of the location of
// now.
func ParsePeriod(s string, now time.Time) (first, last time.Time, ok bool) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, t, true
	}
	until := func(first time.Time, years, months, days int) (time.Time, time.Time, bool) {
		return first, first.AddDate(years, months, days).Add(-time.Nanosecond), true
	}
	for i, layout := range []string{"2006", "2006-01", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			lengths := [][3]int{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
			return until(t, lengths[i][0], lengths[i][1], lengths[i][2])
		}
	}
	s = strings.ToLower(s)
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch s {
	case "today", "今天":
		return until(today, 0, 0, 1)
	case "yesterday", "昨天":
		return until(today.AddDate(0, 0, -1), 0, 0, 1)
	}
	for ago := range 7 {
		day := today.AddDate(0, 0, -ago)
		if s == strings.ToLower(day.Weekday().String()) {
			return until(day, 0, 0, 1)
		}
	}
	for unit, days := range map[string]int{"d": 1, "w": 7} {
		count, found := strings.CutSuffix(s, unit)
		if n, err := strconv.ParseUint(count, 10, 16); found && err == nil {
			at := now.AddDate(0, 0, -days*int(n))
			return at, at, true
		}
	}
	if age, err := time.ParseDuration(s); err == nil && age >= 0 {
		return now.Add(-age), now.Add(-age), true
	}
	if d := dateRE().FindStringSubmatch(s); d != nil && d[0] == s {
		if t, days, ok := writtenDate(d, now); ok && days == 0 {
			return until(t, 0, 1, 0)
		} else if ok {
			return until(t, 0, 0, 1)
		}
	}
	return first, last, false
}

// A Period is a range of time, with its first and last moment.
type Period struct{ First, Last time.Time }

// NamedPeriods returns the days and months that a text names, as [ParsePeriod]
// reads them. A month without a day and a year follows a word such as "in". If
// the text names no date, it may name a day relative to now.
func NamedPeriods(text string, now time.Time) (dates []Period) {
	if !mayNameDate(text) {
		return nil
	}
	var relative []Period
	for _, at := range dateRE().FindAllStringIndex(text, -1) {
		name := text[at[0]:at[1]]
		first, last, ok := ParsePeriod(name, now)
		switch _, isMonth := months[strings.ToLower(name)[:min(3, len(name))]]; {
		case !ok:
		case relativeRE().MatchString(name):
			relative = append(relative, Period{first, last})
		case !isMonth || strings.ContainsAny(name, "0123456789") || beforeMonthRE().MatchString(text[:at[0]]):
			dates = append(dates, Period{first, last})
		}
	}
	if dates == nil {
		return relative
	}
	return dates
}

// mayNameDate reports whether dateRE can match. Most texts contain no date, and
// the expression takes as long as a small search.
func mayNameDate(text string) bool {
	if strings.ContainsAny(text, "月天") {
		return true
	}
	isSeparator := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), isSeparator) {
		if len(word) < 3 {
			continue
		}
		if _, ok := months[word[:3]]; ok || strings.HasSuffix(word, "day") {
			return true
		}
	}
	isDigit := func(i int) bool { return '0' <= text[i] && text[i] <= '9' }
	for i := 1; i+1 < len(text); i++ {
		if text[i] == '-' && isDigit(i-1) && isDigit(i+1) {
			return true
		}
	}
	return false
}

// dateRE matches the dates of [writtenDate], whose groups are named for year, month and
// day, and days relative to now.
var dateRE = sync.OnceValue(func() *regexp.Regexp {
	n := 0
	group := func(name, re string) string {
		n++
		return "(?P<" + name + strconv.Itoa(n) + ">" + re + ")"
	}
	year := func() string { return group("y", `\d{4}`) }
	day := func() string { return group("d", `\d{1,2}`) + `(?:st|nd|rd|th)?` }
	month := func() string {
		return group("m", `jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|january|february|march|april|august|`+
			`september|october|november|december`) + `\.?`
	}
	digits := func(name string) string { return group(name, `\d{1,2}`) }
	return regexp.MustCompile(`(?i)` + strings.Join([]string{
		`\b\d{4}-\d{2}(?:-\d{2})?\b`,
		`\b` + day() + `(?: of)? ` + month() + `(?:,? ` + year() + `)?\b`,
		`\b` + month() + ` ` + day() + `(?:,? ` + year() + `)?\b`,
		`\b` + month() + `,? ` + year() + `\b`,
		`\b` + month() + `\b`,
		`(?:` + year() + `年)?` + digits("m") + `月(?:` + digits("d") + `[日号])?`,
		relative,
	}, "|"))
})

const relative = `\b(?:today|yesterday|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b|[今昨]天`

var relativeRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(?:` + relative + `)$`) })

// beforeMonthRE matches text that ends with a word after which a name of a month
// is no other word, such as may, and no person.
var beforeMonthRE = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:in|of|since|until|during|last|this|early|mid|late|by|before|after)[ -]$`)
})

var months = map[string]time.Month{"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9,
	"oct": 10, "nov": 11, "dec": 12}

// writtenDate returns the beginning of the day or month of a match of dateRE, and
// the day, or 0 for a month.
func writtenDate(match []string, now time.Time) (t time.Time, day int, ok bool) {
	var year, month int
	for i, name := range dateRE().SubexpNames() {
		if name == "" || match[i] == "" {
			continue
		}
		n, err := strconv.Atoi(match[i])
		switch {
		case name[0] == 'y':
			year = n
		case name[0] == 'd':
			day = n
			if n == 0 {
				return t, 0, false
			}
		case err != nil:
			month = int(months[match[i][:3]])
		default:
			month = n
		}
	}
	at := func(year int) time.Time {
		return time.Date(year, time.Month(month), max(day, 1), 0, 0, 0, 0, now.Location())
	}
	t = at(year)
	if year == 0 {
		years := []int{now.Year(), now.Year() - 1, now.Year() - 2, now.Year() - 3, now.Year() - 4}
		i := slices.IndexFunc(years, func(y int) bool { // 29 February is not in every year
			t = at(y)
			return !t.After(now) && int(t.Month()) == month
		})
		if i < 0 {
			return t, day, false
		}
	}
	return t, day, int(t.Month()) == month && month > 0
}
