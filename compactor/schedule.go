package compactor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// A Schedule is a series of local times: five cron fields (minute, hour, day of
// the month, month, day of the week), a name such as @daily, or @every and a
// duration.
//
// A spec with specific hours refers to wall clock time. If the clock skips
// 02:30, the time of the skip replaces it. If 02:30 occurs twice, the first
// occurrence counts. A spec for every hour refers to elapsed hours, regardless
// of clock changes.
//
// A Schedule is immutable and safe for concurrent use.
type Schedule struct {
	spec   string
	fields cron.Schedule // used only in UTC, because in other zones cron skips or repeats times
	every  time.Duration // interval, instead of fields
	hourly bool
}

// minInterval is the shortest interval, equal to the resolution of the five
// fields.
const minInterval = time.Minute

// allHours has the bits of the 24 hours set.
const allHours = 1<<24 - 1

// ParseSchedule parses a schedule. It returns an error for a schedule without
// any time. Errors describe the problem and the correct form.
func ParseSchedule(spec string) (*Schedule, error) {
	s, err := parseSchedule(strings.TrimSpace(spec))
	if err != nil {
		return nil, fmt.Errorf(`schedule %q: %w; write five fields (minute, hour, day, month, weekday) such as "0 3 * * *", or @daily`, spec, err)
	}
	return s, nil
}

func parseSchedule(spec string) (s *Schedule, err error) {
	defer func() { // the parser panics on some unexpected input
		if r := recover(); r != nil {
			s, err = nil, errors.New("invalid syntax")
		}
	}()
	upper := strings.ToUpper(spec)
	if strings.HasPrefix(upper, "TZ=") || strings.HasPrefix(upper, "CRON_TZ=") {
		return nil, errors.New("time zones are not supported: set memory.timezone")
	}
	fields, err := cron.ParseStandard(spec)
	if err != nil {
		return nil, err
	}
	switch f := fields.(type) {
	case cron.ConstantDelaySchedule:
		if f.Delay < minInterval {
			return nil, fmt.Errorf("%s is more frequent than once a minute", spec)
		}
		return &Schedule{spec: spec, every: f.Delay}, nil
	case *cron.SpecSchedule:
		f.Location = time.UTC
		if f.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).
			IsZero() { // any date that exists occurs within five years
			return nil, errors.New("no such day")
		}
		return &Schedule{spec: spec, fields: f, hourly: f.Hour&allHours == allHours}, nil
	}
	return nil, errors.New("invalid syntax")
}

// String returns the spec.
func (s *Schedule) String() string { return s.spec }

// Next returns the first scheduled time after the given one, in loc, or the
// zero time if there is none within five years.
func (s *Schedule) Next(after time.Time, loc *time.Location) time.Time {
	after = after.Round(0).In(loc)
	switch {
	case s.every > 0:
		return after.Add(s.every)
	case s.hourly:
		return s.nextElapsed(after)
	}
	// Wall clock time represented in UTC has no gaps and no duplicates.
	for wall := s.fields.Next(wallClock(after)); !wall.IsZero(); wall = s.fields.Next(wall) {
		if t := firstAt(wall, loc); t.After(after) {
			return t
		}
	}
	return time.Time{}
}

// nextElapsed is Next for schedules in elapsed hours. It treats each period
// between two clock changes separately.
func (s *Schedule) nextElapsed(after time.Time) time.Time {
	for within := after; ; {
		offset := zoneOffset(within)
		wall := s.fields.Next(after.UTC().Add(offset))
		if wall.IsZero() {
			return wall
		}
		next := wall.Add(-offset).In(within.Location())
		_, end := within.ZoneBounds()
		if end.IsZero() || next.Before(end) {
			return next
		}
		after, within = end.Add(-1), end // the end is the first time of the next period
	}
}

// wallClock returns the wall clock time of t, represented in UTC.
func wallClock(t time.Time) time.Time { return t.UTC().Add(zoneOffset(t)) }

// firstAt returns the first time at which the wall clock shows wall. If the
// clock skips wall, firstAt returns the time of the skip.
func firstAt(wall time.Time, loc *time.Location) time.Time {
	// No zone is more than 14 hours from UTC, so the offsets one day before and
	// after enclose any relevant clock change.
	before, behind := zoneOffset(wall.AddDate(0, 0, -1).In(loc)), zoneOffset(wall.AddDate(0, 0, 1).In(loc))
	for _, offset := range []time.Duration{before, behind} {
		if t := wall.Add(-offset).In(loc); wallClock(t).Equal(wall) {
			return t
		}
	}
	change, _ := wall.Add(-before).In(loc).ZoneBounds()
	return change
}

func zoneOffset(t time.Time) time.Duration {
	_, offset := t.Zone()
	return time.Duration(offset) * time.Second
}
