package ops

import (
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/memory"
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

func convertDraft(d *api.Draft) *memory.Draft {
	item := func(i api.DraftItem) memory.DraftItem { return memory.DraftItem(i) }
	task := func(t api.DraftTask) memory.DraftTask { return memory.DraftTask(t) }
	draft := &memory.Draft{
		Items:     make(map[string][]memory.DraftItem, len(d.Items)),
		Facts:     convertEach(d.Facts, item),
		Tasks:     convertEach(d.Tasks, task),
		FollowUps: convertEach(d.FollowUps, task),
		Links:     convertEach(d.Links, func(l api.DraftLink) memory.DraftLink { return memory.DraftLink(l) }),
	}
	for section, items := range d.Items {
		draft.Items[section] = convertEach(items, item)
	}
	return draft
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
	first, last, ok := memory.ParsePeriod(s, m.Now().In(m.Location))
	if year := first.UTC().Year(); !ok || year < 1 || year > maxYear { // answers contain the first moment
		return first, last, api.Errorf(api.Invalid, "%s: %q is not a time", name, s).WithHint(
			"use a day, month, year or time such as 2026-02-04, 2026-02, 2026 or 2026-02-04T12:30:00Z, " +
				"an age such as 36h, 7d or 2w, today, yesterday, a weekday, last week, or 3 days ago")
	}
	return first, last, nil
}

// parseDay returns the day that a caller names, in the form 2026-02-04.
func (m readOps) parseDay(name, s string) (string, error) {
	first, last, ok := memory.ParsePeriod(s, m.Now().In(m.Location))
	if day := first.Format(time.DateOnly); ok && first != last && day == last.Format(time.DateOnly) {
		return day, nil
	}
	return "", api.Errorf(api.Invalid, "%s: %q is not a day", name, s).
		WithHint("use a day such as 2026-02-04, today, yesterday, or a weekday")
}
