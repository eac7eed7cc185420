package index

import (
	"math"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/memory"
)

// A namedPeriod is a day or month that a query names, in nanoseconds since 1970.
type namedPeriod struct {
	first, last int64
	isDay       bool
}

const (
	// maxDated bounds the bytes of a query whose dates count. A longer text, such
	// as a pasted log, contains dates that it is not about.
	maxDated = 500

	// Times outside of these years may be too far from 1970 for nanoseconds.
	minYear, maxYear = 1678, 2261
)

type queryDates struct {
	periods  []namedPeriod
	asksTime bool // the query asks for a time
}

func (s *search) readDates() {
	q := s.query
	if q.Mode != Relevance || len(q.Text) > maxDated {
		return
	}
	for _, n := range memory.NamedPeriods(q.Text, q.AsOf) {
		if n.First.Year() >= minYear && n.Last.Year() <= maxYear {
			isDay := n.Last.Sub(n.First) < 48*time.Hour
			s.dates.periods = append(s.dates.periods, namedPeriod{n.First.UnixNano(), n.Last.UnixNano(), isDay})
		}
	}
	s.dates.asksTime = asksTimeRE().MatchString(strings.ToLower(q.Text))
}

func (s *search) dateFactor(e *entry) float64 {
	f := 1.0
	for _, n := range s.dates.periods {
		switch inside := n.first <= e.time && e.time <= n.last; {
		case e.time == noTime:
		case inside && n.isDay:
			f = max(f, tuning.day)
		case inside:
			f = max(f, tuning.month)
		case n.isDay:
			days := math.Abs(float64(e.time-n.first)) / float64(24*time.Hour)
			f = max(f, 1+(tuning.day-1)*(1-days/tuning.dayFade))
		}
	}
	if s.dates.asksTime && e.flags&flagTimed != 0 {
		f *= tuning.timed
	}
	return f
}

// maxDateFactor returns an upper bound of the factors of all entries.
func (s *search) maxDateFactor() float64 {
	f := 1.0
	if len(s.dates.periods) > 0 {
		f = max(tuning.day, tuning.month)
	}
	if s.dates.asksTime {
		f *= tuning.timed
	}
	return f
}

// asksTimeRE matches queries that ask for a time. "When" must be a question: "when
// I start it" is none.
var asksTimeRE = lazyregexp.New(`\bwhen(?:'s| (?:am|are|can|could|did|do|does|had|has|have|is|shall|should|was|were|will|would))\b|` +
	`\b(?:how long|(?:what|which) (?:date|day|month|year|time))\b|什么时[候间]|何时|多久|多长时间|哪一?[天年月日]|几[月号]`)

func isTimeWord(term string) bool {
	if len(term) == 4 && (term[:2] == "19" || term[:2] == "20") {
		return '0' <= term[2] && term[2] <= '9' && '0' <= term[3] && term[3] <= '9'
	}
	return timeWords()[term]
}

// timeWords contains the terms of timeText, without single Han characters.
var timeWords = sync.OnceValue(func() map[string]bool { return termsOf(timeText) })

const timeText = `january february march april june july august september october november december
monday tuesday wednesday thursday friday saturday sunday weekend
yesterday today tonight tomorrow ago last next since until minute hour day week month year
昨天 今天 明天 前天 后天 上周 下周 本周 上月 下月 去年 今年 明年 星期 周末 小时 分钟 上午 下午`
