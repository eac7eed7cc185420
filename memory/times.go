package memory

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/letters"
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

// boundRE matches words that bind a text to a time, in English and Chinese. It
// does not match recurring weekdays (every Friday, on Fridays), because they
// describe a habit. [DateBound] skips the Chinese ones (每周五), and those of last
// week (上周五).
var boundRE = lazyregexp.New(`(?i)` + strings.Join([]string{
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

// eventRE matches a line that begins with the date of an event.
var eventRE = lazyregexp.New(`(?m)^\s*(\d{4}-\d{2}-\d{2})\s*[:：].*$`)

var numberRE = lazyregexp.New(`\p{Nd}+`)

// DateBound returns the first words that bind a text to a time that will pass,
// or "" if there are none. A text with such words is not worth storing in
// long-term memory. The words are a day relative to now, a weekday to come, a
// deadline, a number of hours or days, or a date from today to the day last,
// which are written YYYY-MM-DD. DateBound knows some English and Chinese words
// and ignores the topic of the text, and lines that begin with the date of a past
// event, to which their words are relative.
func DateBound(text, today, last string) string {
	text = eventRE().ReplaceAllStringFunc(text, func(s string) string {
		if eventRE().FindStringSubmatch(s)[1] <= today {
			return ""
		}
		return s
	})
	for _, found := range boundRE().FindAllString(text, -1) {
		if strings.HasPrefix(found, "每") || strings.HasPrefix(found, "上") {
			continue
		}
		if numbers := numberRE().FindAllString(found, -1); len(numbers) == 3 {
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

// ParsePeriod returns the first and the last moment of a period: of a year, month
// or day, of today, yesterday or the last day with the name of a weekday, which
// may be today, or of a period relative to now, such as last week or 3 days ago. A
// time, and an age before now such as 90m, 36h, 7d or 2w, is one moment. Dates are
// written 2026-02-04, 4 February 2026, Feb 4, 4. Februar or 2026年2月4日; one without a
// year is the last that has begun. Days are those of the location of now.
func ParsePeriod(s string, now time.Time) (first, last time.Time, ok bool) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, t, true
	}
	moment := func(t time.Time) (time.Time, time.Time, bool) { return t, t, true }
	from := func(t time.Time, years, months, days int) (time.Time, time.Time, bool) {
		return t, t.AddDate(years, months, days).Add(-time.Nanosecond), true
	}
	s = strings.Join(strings.Fields(strings.ToLower(s)), " ")
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch r := relatives[s]; r.unit {
	case "day":
		return from(today.AddDate(0, 0, -r.count), 0, 0, 1)
	case "week": // from Monday
		return from(today.AddDate(0, 0, -7*r.count-(int(today.Weekday())+6)%7), 0, 0, 7)
	case "month":
		return from(today.AddDate(0, -r.count, 1-today.Day()), 0, 1, 0)
	case "year":
		return from(time.Date(today.Year()-r.count, 1, 1, 0, 0, 0, 0, today.Location()), 1, 0, 0)
	}
	if age := agoRE().FindStringSubmatch(s); age != nil {
		n, err := strconv.Atoi(age[1] + age[3])
		if err != nil {
			n = 1 // an hour ago
		}
		switch age[2] + age[4] {
		case "minute", "分钟":
			return moment(now.Add(-time.Duration(n) * time.Minute))
		case "hour", "小时":
			return moment(now.Add(-time.Duration(n) * time.Hour))
		case "day", "天":
			return from(today.AddDate(0, 0, -n), 0, 0, 1)
		case "week", "周", "星期":
			return from(today.AddDate(0, 0, -7*n), 0, 0, 1)
		case "month", "月":
			return from(today.AddDate(0, -n, 0), 0, 0, 1)
		case "year", "年":
			return from(today.AddDate(-n, 0, 0), 0, 0, 1)
		}
	}
	day, isLast := strings.CutPrefix(s, "last ") // such as last Friday, which is not today
	for ago := range 8 {
		if t := today.AddDate(0, 0, -ago); day == strings.ToLower(t.Weekday().String()) && (ago > 0 || !isLast) {
			return from(t, 0, 0, 1)
		}
	}
	for unit, days := range map[string]int{"d": 1, "w": 7} {
		count, found := strings.CutSuffix(s, unit)
		if n, err := strconv.ParseUint(count, 10, 16); found && err == nil {
			return moment(now.AddDate(0, 0, -days*int(n)))
		}
	}
	if age, err := time.ParseDuration(s); err == nil && age >= 0 {
		return moment(now.Add(-age))
	}
	switch t, unit := writtenDate(s, now); unit {
	case "day":
		return from(t, 0, 0, 1)
	case "month":
		return from(t, 0, 1, 0)
	case "year":
		return from(t, 1, 0, 0)
	}
	return first, last, false
}

// relatives are names of days, weeks, months and years: the number of units before the
// present one, and the unit.
var relatives = map[string]struct {
	count int
	unit  string
}{
	"today": {0, "day"}, "yesterday": {1, "day"}, "last day": {1, "day"},
	"this week": {0, "week"}, "last week": {1, "week"}, "this month": {0, "month"}, "last month": {1, "month"},
	"this year": {0, "year"}, "last year": {1, "year"},
	"今天": {0, "day"}, "昨天": {1, "day"}, "前天": {2, "day"}, "本周": {0, "week"}, "这周": {0, "week"},
	"上周":   {1, "week"},
	"这个星期": {0, "week"}, "上个星期": {1, "week"}, "本月": {0, "month"}, "这个月": {0, "month"},
	"上月": {1, "month"}, "上个月": {1, "month"},
	"今年": {0, "year"}, "去年": {1, "year"}, "前年": {2, "year"},
	"tomorrow": {-1, "day"}, "next week": {-1, "week"}, "next month": {-1, "month"}, "next year": {-1, "year"},
	"明天": {-1, "day"}, "后天": {-2, "day"}, "下周": {-1, "week"}, "下个星期": {-1, "week"}, "下月": {-1, "month"},
	"下个月": {-1, "month"}, "明年": {-1, "year"},
	"diese woche": {0, "week"}, "nächste woche": {-1, "week"}, "nächsten monat": {-1, "month"},
}

// agoRE matches a number of units before now.
var agoRE = lazyregexp.New(`^(\d{1,4}|an?|one) (minute|hour|day|week|month|year)s? ago$|` +
	`^(\d{1,4}) ?个?(分钟|小时|天|周|星期|月|年)前$`)

// A Period is a range of time, with its first and last moment.
type Period struct{ First, Last time.Time }

// A NamedPeriod is a period that a text names in a range of its bytes.
type NamedPeriod struct {
	Period
	Name Span
}

// NamedPeriods returns the days and months that a text names, as [ParsePeriod]
// reads them. A month without a day and a year follows a word such as "in". If
// the text names no date, it may name a period relative to now, such as last week.
func NamedPeriods(text string, now time.Time) (dates []NamedPeriod) {
	// The expression takes as long as a small search.
	low := strings.ToLower(text)
	if !slices.ContainsFunc(dateParts(), func(part string) bool { return strings.Contains(low, part) }) {
		return nil
	}
	var relative []NamedPeriod
	for _, at := range dateRE().FindAllStringIndex(text, -1) {
		name := text[at[0]:at[1]]
		first, last, ok := ParsePeriod(name, now)
		named := NamedPeriod{Period{first, last}, Span{at[0], at[1]}}
		switch _, isMonth := months()[strings.TrimSuffix(strings.ToLower(name), ".")]; {
		case !ok:
		case relativeRE().MatchString(name):
			relative = append(relative, named)
		case !isMonth || beforeMonthRE().MatchString(text[:at[0]]):
			dates = append(dates, named)
		}
	}
	if dates == nil {
		return relative
	}
	return dates
}

// dateParts returns texts of which every date contains one. A short name of a month, which
// is a part of many words, follows a day.
var dateParts = sync.OnceValue(func() []string {
	parts := strings.Fields("day tomorrow week woche monat month year jan feb mar apr may jun jul aug sep oct nov dec -0 -1 19 20 月 월 天 周 年 期")
	for name := range months() {
		switch {
		case slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) }):
		case len(name) == minMonth:
			parts = append(parts, " "+name+" ", " "+name+"?")
		default:
			parts = append(parts, name)
		}
	}
	return parts
})

// dateRE matches the dates of [writtenDate] in a text, and days relative to now.
var dateRE = sync.OnceValue(func() *regexp.Regexp {
	var latin, other []string // \b is a boundary of ASCII words
	for _, name := range slices.Sorted(maps.Keys(months())) {
		if name[0] < utf8.RuneSelf {
			latin = append(latin, name)
		} else {
			other = append(other, name)
		}
	}
	month := `(?:(?:` + strings.Join(latin, "|") + `)\b\.?|(?:` + strings.Join(other, "|") + `))`
	return regexp.MustCompile(`(?i)` + strings.NewReplacer("MONTH", month, "DAY", `\d{1,2}(?:st|nd|rd|th|er|º|\.)?`).
		Replace(strings.Join([]string{
			`\b\d{4}-\d{2}(?:-\d{2})?\b`,
			`\b(?:\d{1,2}\.\d{1,2}\.\d{4}|\d{4}/\d{1,2}/\d{1,2}|\d{4}\.\d{1,2}\.\d{1,2})\b`,
			`\bDAY(?: of| de)? MONTH(?:,?(?: de)? \d{4}\b)?`,
			`\bMONTH DAY(?:,? \d{4})?\b`,
			`\bMONTH,?(?: de)? \d{4}\b`,
			`\bMONTH`,
			`(?:\d{4}[年년] ?)?\d{1,2}[月월](?: ?\d{1,2}[日号일])?`,
			relativePattern(),
		}, "|")))
})

// relativePattern returns a pattern of the periods relative to now.
func relativePattern() string {
	names := []string{`\d{1,4} ?个?(?:天|周|星期|月|年)前`,
		`\b(?:\d{1,4}|an?|one) (?:day|week|month|year)s? ago\b`,
		`\b(?:last )?(?:mon|tues|wednes|thurs|fri|satur|sun)day\b`}
	for name := range relatives {
		if name[0] < utf8.RuneSelf {
			name = `\b` + name + `\b`
		}
		names = append(names, name)
	}
	return strings.Join(names, "|")
}

var relativeRE = lazyregexp.New(`(?i)^(?:` + relativePattern() + `)$`)

// beforeMonthRE matches text that ends with a word after which a name of a month
// is no other word, such as may, and no person.
var beforeMonthRE = lazyregexp.New(`(?i)\b(?:in|of|since|until|during|last|this|early|mid|late|by|before|after|` +
	`im|en|em|seit|depuis|desde|de|w)[ -]$`)

// months returns the months by name, in lower case, with and without accents.
var months = sync.OnceValue(func() map[string]time.Month {
	m := make(map[string]time.Month)
	for line := range strings.Lines(monthText) {
		names := strings.Fields(line)
		for _, name := range names {
			month, _ := time.Parse("Jan", names[0])
			m[name], m[letters.Fold(name)] = month.Month(), month.Month()
		}
	}
	return m
})

// minMonth is the length of the shortest name of a month in bytes.
const minMonth = 3

// monthText contains the names of each month in English, German, Dutch, French, Spanish,
// Italian, Portuguese, Polish and Russian, in the last two as they follow a day.
const monthText = `jan january januar jänner januari janvier enero gennaio janeiro stycznia января
feb february februar februari février febrero febbraio fevereiro lutego февраля
mar march märz maart mars marzo março marca марта
apr april avril abril aprile kwietnia апреля
may mai mei mayo maggio maio maja мая
jun june juni juin junio giugno junho czerwca июня
jul july juli juillet julio luglio julho lipca июля
aug august augustus août agosto sierpnia августа
sep sept september septembre septiembre settembre setembro września сентября
oct october okt oktober octobre octubre ottobre outubro października октября
nov november novembre noviembre novembro listopada ноября
dec december dez dezember décembre diciembre dicembre dezembro grudnia декабря`

// Layouts of written dates, without marks, with English months.
var writtenLayouts = [...]string{"2006", "2006-01", time.DateOnly, "2 January 2006", "January 2 2006",
	"January 2006", "2 January", "January 2", "January",
	"2006年1月2日", "2006年1月", "1月2日", "1月"}

var (
	ordinalRE = lazyregexp.New(`(\d)(?:(?:st|nd|rd|th|er)\b|º)`)
	dateMarks = strings.NewReplacer(",", "", ".", "", " of ", " ", " de ", " ", "号", "日",
		"년 ", "年", "년", "年", "월 ", "月", "월", "月", "일", "日")
)

// writtenDate returns the beginning of a date and its unit: day, month or year, or ""
// if s is no date.
func writtenDate(s string, now time.Time) (t time.Time, unit string) {
	for _, layout := range [...]string{"2.1.2006", "2006/1/2", "2006.1.2"} {
		t, err := time.ParseInLocation(layout, strings.TrimSpace(s), now.Location())
		if err == nil {
			return t, "day"
		}
	}
	words := strings.Fields(dateMarks.Replace(ordinalRE().ReplaceAllString(s, "$1")))
	for i, word := range words {
		if month, ok := months()[word]; ok {
			words[i] = month.String()
		}
	}
	s = strings.Join(words, " ")
	for _, layout := range writtenLayouts {
		t, err := time.ParseInLocation(layout, s, now.Location())
		if err != nil {
			continue
		}
		rest, year := strings.CutPrefix(strings.TrimSuffix(layout, " 2006"), "2006")
		unit = "month"
		if layout == "2006" {
			unit = "year"
		} else if strings.Contains(rest, "2") {
			unit = "day"
		}
		year = year || strings.HasSuffix(layout, "2006")
		for ago := 0; !year && ago < 5; ago++ { // 29 February is not in every year
			date := time.Date(now.Year()-ago, t.Month(), t.Day(), 0, 0, 0, 0, now.Location())
			if !date.After(now) && date.Month() == t.Month() {
				return date, unit
			}
		}
		if !year {
			return t, ""
		}
		return t, unit
	}
	return t, ""
}

// A DayFormat recognizes the paths of daily notes in a format of moment.js, as
// Obsidian uses it.
type DayFormat struct {
	pattern *regexp.Regexp // of a path without extension
	parts   string         // Y, M or D for each group of pattern
}

// dayTokens maps the tokens of moment.js to patterns. The group is the part of the date
// with the first letter of the token.
var dayTokens = map[string]string{
	"YYYY": `(\d{4})`, "YY": `(\d{2})`,
	"MMMM": `(\pL+)`, "MMM": `(\pL{3})`, "MM": `(\d{2})`, "M": `(\d{1,2})`,
	"DD": `(\d{2})`, "D": `(\d{1,2})`, "Do": `(\d{1,2})(?:st|nd|rd|th)`,
	"dddd": `\pL+`, "ddd": `\pL+`, "dd": `\pL+`, "d": `[0-6]`, "E": `[1-7]`,
	"ww": `\d{2}`, "w": `\d{1,2}`, "WW": `\d{2}`, "W": `\d{1,2}`, "gggg": `\d{4}`, "GGGG": `\d{4}`, "Q": `[1-4]`,
}

// dayTokenRE matches literal text in brackets, an escaped character, a token, or any
// other character.
var dayTokenRE = lazyregexp.New(`(?s)\[[^\[\]]*\]|\\.|[MDQwWd]o|Y+|M+|D+|d+|w+|W+|g+|G+|.`)

const maxDayFormat = 200

// ParseDayFormat parses a format such as YYYY/MM/YYYY-MM-DD, for files below a
// folder, which is empty for the root. An empty format is YYYY-MM-DD. Names of months
// are English.
func ParseDayFormat(folder, format string) (*DayFormat, error) {
	format = strings.Trim(cmp.Or(format, "YYYY-MM-DD"), "/")
	if len(format) > maxDayFormat || !utf8.ValidString(format) {
		return nil, fmt.Errorf("a format of days is longer than %d bytes or not text", maxDayFormat)
	}
	f, pattern := &DayFormat{}, "^"
	folder = strings.Trim(path.Clean("/"+folder), "/")
	if folder != "" {
		pattern += regexp.QuoteMeta(folder) + "/"
	}
	for _, token := range dayTokenRE().FindAllString(format, -1) {
		known, ok := dayTokens[token]
		switch {
		case ok:
			pattern += known
			if known[0] == '(' {
				f.parts += token[:1]
			}
		case len(token) > 1 && token[0] == '[':
			pattern += regexp.QuoteMeta(token[1 : len(token)-1])
		case len(token) > 1 && token[0] == '\\':
			pattern += regexp.QuoteMeta(token[1:])
		case len(token) > 1 || strings.Contains("aAeEhHkmNQsSwWxXyYzZMDdgG", token):
			return nil, fmt.Errorf("the format of days %q has the token %s, which is not part of a day", format, token)
		default:
			pattern += regexp.QuoteMeta(token)
		}
	}
	if !strings.Contains(f.parts, "Y") || !strings.Contains(f.parts, "M") || !strings.Contains(f.parts, "D") {
		return nil, fmt.Errorf("the format of days %q lacks the year, the month or the day", format)
	}
	var err error
	f.pattern, err = regexp.Compile(pattern + "$")
	return f, err
}

// Day returns the day of the daily note at path, as YYYY-MM-DD, and reports whether it
// is one. A nil format has no daily notes.
func (f *DayFormat) Day(path string) (day string, ok bool) {
	name, md := CutMarkdown(path)
	if f == nil || !md {
		return "", false
	}
	date := map[byte]int{} // by part, which may occur several times with one value
	for i, value := range f.pattern.FindStringSubmatch(name) {
		if i == 0 {
			continue
		}
		part := f.parts[i-1]
		n, err := strconv.Atoi(value)
		if err != nil {
			n = int(months()[strings.ToLower(value)])
			if month := time.Month(n).String(); value != month && value != month[:3] {
				return "", false
			}
		} else if part == 'Y' && len(value) == 2 {
			n += 2000
		}
		if was, known := date[part]; known && was != n {
			return "", false
		}
		date[part] = n
	}
	day = fmt.Sprintf("%04d-%02d-%02d", date['Y'], date['M'], date['D'])
	if !IsDay(day) {
		return "", false
	}
	return day, true
}
