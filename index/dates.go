package index

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/internal/dates"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A namedPeriod is a day or month that a query names, in nanoseconds since 1970.
type namedPeriod struct {
	first, last int64
	isDay       bool
	term        string // its first day, which is no word
	name        string // in the query
}

func (n *namedPeriod) contains(t int64) bool { return n.first <= t && t <= n.last && t != noTime }

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

// readDates finds the periods that the query names. An entry need not contain the words
// of their names: a note of a day seldom repeats its date.
func (s *request) readDates() {
	q := s.query
	if q.Mode != Relevance || len(q.Text) > maxDated {
		return
	}
	text := quotes.Replace(q.Text)
	inName := make(map[string]bool)
	for _, n := range dates.Find(text, q.AsOf) {
		if n.First.Year() < minYear || n.Last.Year() > maxYear {
			continue
		}
		isDay := n.Last.Sub(n.First) < 48*time.Hour
		s.dates.periods = append(s.dates.periods,
			namedPeriod{n.First.UnixNano(), n.Last.UnixNano(), isDay, n.First.Format(time.DateOnly),
				text[n.From:n.To]})
		s.analyzer.eachToken(text[n.From:n.To], func(t token) { inName[t.term] = true })
		s.words.list = slices.DeleteFunc(s.words.list, func(w queryWord) bool {
			return w.start < n.To && n.From < w.start+len(w.text)
		})
	}
	s.dates.asksTime = asksTimeRE().MatchString(strings.ToLower(text))
	if len(inName) == 0 {
		return
	}
	s.words.markWhole()
	for i := range s.words.terms {
		if t := &s.words.terms[i]; inName[t.term] {
			t.weight *= tuning.dateWord
			t.typo = ""
		}
	}
}

// withoutDates returns the text of the query without the names of periods.
func (s *request) withoutDates() string {
	text := quotes.Replace(s.query.Text)
	for _, n := range s.dates.periods {
		text = strings.ReplaceAll(text, n.name, " ")
	}
	return text
}

// addPeriods adds each named period to the terms of the query.
func (s *request) addPeriods() {
	for i := range s.dates.periods {
		n := &s.dates.periods[i]
		s.words.terms = append(s.words.terms, qterm{term: n.term, weight: tuning.named, period: n})
	}
}

// readPeriod makes postings of the entries of a period, and returns their number.
func (s *matches) readPeriod(n *namedPeriod) (df int) {
	for number, v := range s.table.byNumber.all() {
		if v == nil || v.newest < n.first || v.oldest > n.last || !s.view.Readable(v.partition) || s.copied(number) {
			continue
		}
		for e := range v.entries {
			if !n.contains(v.entries[e].time) {
				continue
			}
			nth, slot := slotOf(e)
			p := termPosting{block: v.blocks[nth], nth: uint32(nth), acc: s.touch(number)}
			p.set(slot, levelOnce)
			s.list = append(s.list, p)
			df++
		}
	}
	return df
}

// dateFactor returns the factor of an entry for the periods and the time that the query names.
func (s *request) dateFactor(k entryKey) float64 {
	f, e := 1.0, s.entryAt(k)
	for _, n := range s.dates.periods {
		switch inside := n.first <= e.time && e.time <= n.last; {
		case e.time == noTime, s.copied(k.file):
		case inside:
			f = max(f, tuning.period)
		case n.isDay:
			days := math.Abs(float64(e.time-n.first)) / float64(24*time.Hour)
			f = max(f, 1+(tuning.period-1)*(1-days/tuning.dayFade))
		}
	}
	if s.dates.asksTime && e.flags&flagTimed != 0 {
		f *= tuning.timed
	}
	return f
}

// asksTimeRE matches queries that ask for a time. "When" must be a question: "when
// I start it" is none.
var asksTimeRE = lazyregexp.New(`\bwhen(?:'s| (?:am|are|can|could|did|do|does|had|has|have|is|shall|should|was|were|will|would))\b|` +
	`\b(?:how long|(?:what|which) (?:date|day|month|year|time))\b|什么时[候间]|何时|多久|多长时间|哪一?[天年月日]|几[月号]`)

// dueRE matches queries for what is due.
var dueRE = lazyregexp.New(`(?i)\b(?:over)?due(?:$|[^ \w]| (?:[^t]|t[^o]))|\bdeadlines?\b|fällig|到期|逾期|截止`)

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
