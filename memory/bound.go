package memory

import (
	"regexp"
	"strings"
)

// boundRE finds words that tie a text to a time that will pass, in English and
// in Chinese. A weekday that comes again, as in every Friday, on Fridays or 每周五,
// is none: that is a habit.
var boundRE = regexp.MustCompile(`(?i)` + strings.Join([]string{
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

var numbersRE = regexp.MustCompile(`\d+`)

// DateBound finds the first words of a text that tie it to a time that will pass,
// so that it is not worth remembering for long: a day relative to now, a weekday
// to come, a deadline, so many hours or days, or a date that is today or later.
// It is empty for a text without. It knows some English and some Chinese, and
// nothing of what the text is about.
func DateBound(text, today string) string {
	for _, found := range boundRE.FindAllString(text, -1) {
		if strings.HasPrefix(found, "每") || strings.HasPrefix(found, "上") {
			continue
		}
		if numbers := numbersRE.FindAllString(found, -1); len(numbers) == 3 {
			for i := 1; i < 3; i++ {
				numbers[i] = ("0" + numbers[i])[len(numbers[i])-1:]
			}
			if day := strings.Join(numbers, "-"); !IsDay(day) || day < today {
				continue
			}
		}
		return found
	}
	return ""
}
