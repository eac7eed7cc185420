package compactor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// A Schedule says at which local times something is done: the five fields of
// cron (minute, hour, day of the month, month, day of the week), @daily and the
// like, or @every and a duration.
//
// A spec with certain hours means the time on the wall. On the day on which the
// clock leaves 02:30 out, it is meant by the moment when the clock is put
// forward; on the day on which 02:30 comes twice, by the first. A spec for every
// hour means real hours, whatever the clock does.
//
// A Schedule is immutable and safe for concurrent use.
type Schedule struct {
	spec   string
	fields cron.Schedule // only ever asked in UTC: elsewhere it leaves times out, or doubles them
	every  time.Duration // instead of fields
	hourly bool
}

// minEvery is how often, at most, anything is done: as often as the five fields
// can say.
const minEvery = time.Minute

// allHours are the bits of the 24 hours.
const allHours = 1<<24 - 1

// ParseSchedule reads a schedule. An error says what is wrong and what to write
// instead; a spec that never comes true is one.
func ParseSchedule(spec string) (*Schedule, error) {
	s, err := parseSchedule(strings.TrimSpace(spec))
	if err != nil {
		return nil, fmt.Errorf(`schedule %q: %w; write five fields (minute, hour, day, month, weekday) such as "0 3 * * *", or @daily`, spec, err)
	}
	return s, nil
}

func parseSchedule(spec string) (s *Schedule, err error) {
	defer func() { // the parser panics on some of what it does not expect
		if r := recover(); r != nil {
			s, err = nil, errors.New("it cannot be read")
		}
	}()
	upper := strings.ToUpper(spec)
	if strings.HasPrefix(upper, "TZ=") || strings.HasPrefix(upper, "CRON_TZ=") {
		return nil, errors.New("it cannot have a time zone of its own: use memory.timezone")
	}
	fields, err := cron.ParseStandard(spec)
	if err != nil {
		return nil, err
	}
	switch f := fields.(type) {
	case cron.ConstantDelaySchedule:
		if f.Delay < minEvery {
			return nil, fmt.Errorf("%s is more often than once a minute", spec)
		}
		return &Schedule{spec: spec, every: f.Delay}, nil
	case *cron.SpecSchedule:
		f.Location = time.UTC
		if f.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() { // has every day that there is within five years
			return nil, errors.New("there is no such day")
		}
		return &Schedule{spec: spec, fields: f, hourly: f.Hour&allHours == allHours}, nil
	}
	return nil, errors.New("it cannot be read")
}

// String is the spec.
func (s *Schedule) String() string { return s.spec }

// Next is the first time after another one, in a location; zero if there is none
// within five years.
func (s *Schedule) Next(after time.Time, loc *time.Location) time.Time {
	after = after.Round(0).In(loc)
	switch {
	case s.every > 0:
		return after.Add(s.every)
	case s.hourly:
		return s.nextReal(after)
	}
	// The time on the wall, told as if it were UTC, has no gaps and no doubles.
	for wall := s.fields.Next(onWall(after)); !wall.IsZero(); wall = s.fields.Next(wall) {
		if t := firstAt(wall, loc); t.After(after) {
			return t
		}
	}
	return time.Time{}
}

// nextReal is Next where every real hour counts: each stretch between two changes
// of the clock by itself.
func (s *Schedule) nextReal(after time.Time) time.Time {
	for within := after; ; {
		_, offset := within.Zone()
		wall := s.fields.Next(after.UTC().Add(seconds(offset)))
		if wall.IsZero() {
			return wall
		}
		next := wall.Add(-seconds(offset)).In(within.Location())
		_, end := within.ZoneBounds()
		if end.IsZero() || next.Before(end) {
			return next
		}
		after, within = end.Add(-1), end // the end itself is the first time of the next stretch
	}
}

// onWall is what the clock on the wall says at a time, as if it were UTC.
func onWall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(seconds(offset))
}

// firstAt is the first moment at which the clock on the wall says something; if
// it never does, the moment when it jumps over that.
func firstAt(wall time.Time, loc *time.Location) time.Time {
	// No zone is more than 14 hours from UTC, so a day before and a day behind
	// are on either side of any change that matters.
	before, behind := offsetAt(wall.AddDate(0, 0, -1), loc), offsetAt(wall.AddDate(0, 0, 1), loc)
	for _, offset := range []time.Duration{before, behind} {
		if t := wall.Add(-offset).In(loc); onWall(t).Equal(wall) {
			return t
		}
	}
	change, _ := wall.Add(-before).In(loc).ZoneBounds()
	return change
}

func offsetAt(t time.Time, loc *time.Location) time.Duration {
	_, offset := t.In(loc).Zone()
	return seconds(offset)
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
