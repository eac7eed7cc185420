// Package dates reads days, months and periods in texts, as people write them.
package dates

import (
	"maps"
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

// Parse returns the first and the last moment of a period: of a year, month
// or day, of today, yesterday or the last day with the name of a weekday, which
// may be today, or of a period relative to now, such as last week or 3 days ago. A
// time, and an age before now such as 90m, 36h, 7d or 2w, is one moment. Dates are
// written 2026-02-04, 4 February 2026, Feb 4, 4. Februar or 2026年2月4日; one without a
// year is the last that has begun. Days are those of the location of now.
func Parse(s string, now time.Time) (first, last time.Time, ok bool) {
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

// A Named is a period that a text names in a range of its bytes.
type Named struct {
	Period
	From, To int // of the name, in bytes
}

// Find returns the days and months that a text names, as [Parse]
// reads them. A month without a day and a year follows a word such as "in". If
// the text names no date, it may name a period relative to now, such as last week.
func Find(text string, now time.Time) (dates []Named) {
	// The expression takes as long as a small search.
	low := strings.ToLower(text)
	if !slices.ContainsFunc(dateParts(), func(part string) bool { return strings.Contains(low, part) }) {
		return nil
	}
	var relative []Named
	for _, at := range dateRE().FindAllStringIndex(text, -1) {
		name := text[at[0]:at[1]]
		first, last, ok := Parse(name, now)
		named := Named{Period{first, last}, at[0], at[1]}
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
