package ops

import (
	"strconv"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
)

// The functions of this file convert between the types of the engine and those
// of the api package, and the times in requests.

func convertEach[A, B any](list []A, convert func(A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i, a := range list {
		out[i] = convert(a)
	}
	return out
}

func convertWhy(w *index.Why) *api.Why {
	if w == nil {
		return nil
	}
	return &api.Why{
		Terms: convertEach(w.Terms, func(t index.TermScore) api.TermScore { return api.TermScore(t) }),
		Own:   w.Own, Near: w.Near, File: w.File, Recency: w.Recency, Text: w.Text, Importance: w.Importance,
	}
}

func convertDraft(d *api.Draft) *memory.Draft {
	item := func(i api.DraftItem) memory.DraftItem { return memory.DraftItem(i) }
	task := func(t api.DraftTask) memory.DraftTask { return memory.DraftTask(t) }
	draft := &memory.Draft{
		Facts:     convertEach(d.Facts, item),
		Tasks:     convertEach(d.Tasks, task),
		FollowUps: convertEach(d.FollowUps, task),
		Links:     convertEach(d.Links, func(l api.DraftLink) memory.DraftLink { return memory.DraftLink(l) }),
	}
	if d.Items != nil {
		draft.Items = make(map[string][]memory.DraftItem, len(d.Items))
		for section, items := range d.Items {
			draft.Items[section] = convertEach(items, item)
		}
	}
	return draft
}

func convertTodosync(s todosync.Status) *api.TodosyncStatus {
	return &api.TodosyncStatus{
		Planned: s.Planned, Unclear: s.Unclear, Known: s.Known, Off: s.Off, Problem: s.Problem,
		Waiting: convertEach(s.Waiting, func(w todosync.Waiting) api.Skipped { return api.Skipped(w) }),
	}
}

func convertCompressPlan(p compactor.CompressPlan) api.CompressPlan {
	file := func(f compactor.Compressed) api.Compressed { return f.Compressed }
	return api.CompressPlan{Files: convertEach(p.Files, file), Stay: p.Stay}
}

// parsePeriod returns the first and the last moment of a period that a caller
// names. An empty string returns zero times.
func (m readOps) parsePeriod(name, s string) (first, last time.Time, err error) {
	if s == "" {
		return time.Time{}, time.Time{}, nil
	}
	first, last, ok := period(s, m.Now().In(m.Location))
	if year := first.UTC().Year(); !ok || year < 1 || year > maxYear { // answers contain the first moment
		return first, last, api.Errorf(api.Invalid, "%s: %q is not a time", name, s).WithHint(
			"use a day, month, year or time such as 2026-02-04, 2026-02, 2026 or 2026-02-04T12:30:00Z, " +
				"an age such as 36h, 7d or 2w, today, yesterday, or a weekday")
	}
	return first, last, nil
}

// parseDay returns the day that a caller names, in the form 2026-02-04.
func (m readOps) parseDay(name, s string) (string, error) {
	first, last, ok := period(s, m.Now().In(m.Location))
	if day := first.Format(time.DateOnly); ok && first != last && day == last.Format(time.DateOnly) {
		return day, nil
	}
	return "", api.Errorf(api.Invalid, "%s: %q is not a day", name, s).
		WithHint("use a day such as 2026-02-04, today, yesterday, or a weekday")
}

// period returns the first and the last moment of a period: of a year, month or
// day, of today, yesterday or the last day with the name of a weekday, which
// may be today. A time, and an age before now such as 90m, 36h, 7d or 2w, is one
// moment. Days are those of the location of now.
func period(s string, now time.Time) (first, last time.Time, ok bool) {
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
	case "today":
		return until(today, 0, 0, 1)
	case "yesterday":
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
	return first, last, false
}
