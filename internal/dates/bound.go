package dates

import (
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// boundRE matches words that bind a text to a time, in English and Chinese. It
// does not match recurring weekdays (every Friday, on Fridays), because they
// describe a habit. [Bound] skips the Chinese ones (每周五), and those of last
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

// Bound returns the first words that bind a text to a time that will pass,
// or "" if there are none. A text with such words is not worth storing in
// long-term memory. The words are a day relative to now, a weekday to come, a
// deadline, a number of hours or days, or a date from today to the day last,
// which are written YYYY-MM-DD. Bound knows some English and Chinese words
// and ignores the topic of the text, and lines that begin with the date of a past
// event, to which their words are relative.
func Bound(text, today, last string) string {
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
			if day := strings.Join(numbers, "-"); !isDay(day) || day < today || day > last {
				continue
			}
		}
		return found
	}
	return ""
}

// numberRE matches a number of a date.
var numberRE = lazyregexp.New(`\p{Nd}+`)

func isDay(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}
