package compactor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A Schedule is a series of local times: five cron fields (minute, hour, day of
// the month, month, day of the week), a name such as @daily, or @every and a
// duration. A time that the clock skips is left out.
//
// A Schedule is immutable and safe for concurrent use.
type Schedule struct {
	cron.Schedule
	spec string
}

// ParseSchedule parses a schedule of which the times are in loc. It returns an error for
// a schedule without any time. Errors describe the problem and the correct form.
func ParseSchedule(spec string, loc *time.Location) (*Schedule, error) {
	spec = strings.TrimSpace(spec)
	times, err := parseTimes(spec)
	if err != nil {
		return nil, fmt.Errorf(`schedule %q: %w; write five fields (minute, hour, day, month, weekday) such as "0 3 * * *", or @daily`, spec, err)
	}
	if fields, ok := times.(*cron.SpecSchedule); ok {
		fields.Location = loc
	}
	return &Schedule{times, spec}, nil
}

// String returns the spec.
func (s *Schedule) String() string { return s.spec }

// parseTimes parses a cron expression and rejects times that never occur or occur too often.
func parseTimes(spec string) (cron.Schedule, error) {
	name, _, ok := strings.Cut(strings.ToUpper(spec), "=")
	if ok && (name == "TZ" || name == "CRON_TZ") {
		return nil, errors.New("time zones are not supported: set memory.timezone")
	}
	times, err := cron.ParseStandard(rewriteSunday(spec))
	if err != nil {
		return nil, err
	}
	switch t := times.(type) {
	case cron.ConstantDelaySchedule:
		if t.Delay < time.Minute {
			return nil, fmt.Errorf("%s is more frequent than once a minute", spec)
		}
	case *cron.SpecSchedule:
		t.Location = time.UTC
		// any date that exists occurs within five years
		if t.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
			return nil, errors.New("no such day")
		}
	}
	return times, nil
}

// Days of the week that cron does not know: 7, and Sunday at the end of a range such as
// 5-7 or fri-sun, because it is the first day.
var (
	sevenRE = lazyregexp.New(`(^|,)7(,|$)`)
	rangeRE = lazyregexp.New(`(?i)(^|,)(\w+)-(?:7|sun)(,|$)`)
)

// rewriteSunday returns a spec in which Sunday is 0 in all forms.
func rewriteSunday(spec string) string {
	fields := strings.Fields(spec)
	if len(fields) == 5 {
		fields[4] = rangeRE().ReplaceAllString(fields[4], "${1}${2}-6,0${3}")
		fields[4] = sevenRE().ReplaceAllString(fields[4], "${1}0${2}")
	}
	return strings.Join(fields, " ")
}
