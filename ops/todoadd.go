package ops

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// todoAdd adds an open task to today's log of the caller's subject, below its
// heading for tasks. A log that only grows, and any log in public, gets a heading at its
// end.
func (m writeOps) todoAdd(ctx context.Context, c Call, r *api.TodoAddRequest) (*api.TodoAddAnswer, error) {
	if m.Disabled {
		return &api.TodoAddAnswer{Disabled: true}, nil
	}
	item, err := m.newTask(r)
	if err != nil {
		return nil, err
	}
	day := m.day(0)
	paths, fresh := m.logPaths(c, day)
	for _, path := range paths {
		var answer *api.TodoAddAnswer
		answer, err = m.addTask(ctx, c, r, item, path, fresh)
		if !errors.Is(err, errNotOwnLog) && !errors.Is(err, errUnusable) {
			return answer, err
		}
	}
	return nil, err
}

// newTask returns a task as a list item without attributes.
func (m writeOps) newTask(r *api.TodoAddRequest) (string, error) {
	text := boxRE.ReplaceAllString(r.Text, "")
	if err := m.checkLogText("text", text); err != nil {
		return "", err
	}
	if utf8.RuneCountInString(text) > maxNote {
		return "", api.Errorf(api.TooLarge, "text has more than %d characters", maxNote).
			WithHint("shorten the task to one sentence, and write details to a note")
	}
	if err := m.logSource("source", r.Source); err != nil {
		return "", err
	}
	due, err := m.parseDue(r.Due)
	if err != nil {
		return "", err
	}
	text, err = m.withTags(text, projectTags(r.Project))
	if err != nil {
		return "", err
	}
	item, err := memory.NewTask(text, due)
	if err != nil {
		return "", api.Errorf(api.Invalid, "text: %v", err)
	}
	return item, nil
}

// boxRE matches the start of a task as copied from a file.
var boxRE = regexp.MustCompile(`^\s*(?:[-*+]\s+)?(?:\[ \](?:\s+|$))?`)

// addTask adds a task to one log, unless the caller can read the same open task there.
func (m writeOps) addTask(ctx context.Context, c Call, r *api.TodoAddRequest, item, path string,
	fresh []byte) (*api.TodoAddAnswer, error) {
	attributes := map[string]string{"visibility": visibilityAttribute(r.Visibility), "source": sourceAttribute(c, r.Source)}
	if m.Layout.Place(path).Kind != memory.Daily {
		attributes["updated"] = memory.Timestamp(m.Now())
	}
	source := item + " " + memory.Comment(attributes, nil)
	alone := m.Parse(vault.File{Path: path, Data: []byte(source + "\n")})
	if len(alone.Entries) != 1 || len(alone.Entries[0].Tasks) != 1 || alone.Unsound {
		return nil, api.Errorf(api.Invalid, "text would be parsed as the structure of the file").
			WithHint("remove Markdown markup")
	}
	task := alone.Entries[0].Tasks[0].Norm
	same := func(e *memory.Entry) bool {
		return e.Readable(c.View) && slices.ContainsFunc(e.Tasks,
			func(t memory.Task) bool { return t.Norm == task && t.State == memory.Open })
	}
	answer := &api.TodoAddAnswer{}
	after, _, err := m.editFile(ctx, c, fileEdit{path: path, cause: "todo_add", initial: fresh,
		change: func(doc *memory.Document, rev *memory.Revision) error {
			if c.View.SubjectOf(doc.Own) != c.Scope.Subject {
				return errNotOwnLog
			}
			answer.Already = slices.ContainsFunc(doc.Entries, func(e memory.Entry) bool { return same(&e) })
			if answer.Already {
				return nil
			}
			heading := m.Layout.TasksHeading(doc.For(c.View))
			grows := m.Todos != nil && m.Todos.AppendOnly != nil && m.Todos.AppendOnly(path)
			if grows || !c.View.Private() { // an insertion could depend on headings that the caller may not read
				rev.AppendSection(heading, source)
			} else {
				rev.Append([]string{heading}, source)
			}
			rev.SetCounters()
			if _, ok := doc.Front.Field("updated_at"); ok && c.View.Readable(doc.Own) {
				rev.SetField("updated_at", memory.Timestamp(m.Now()))
			}
			return nil
		}})
	if err != nil {
		return nil, err
	}
	if known := after.For(c.View); known != nil {
		for _, t := range slices.Backward(tasksOf(c, known, known.Shown(c.View), "")) {
			if known.Entries[t.Entry].Tasks[t.Task].Norm == task && t.place.State == memory.Open.String() {
				answer.ID, answer.Path, answer.Line = t.place.Task(), path, t.place.Line
				break
			}
		}
	}
	return answer, nil
}

// intervalRE matches a number of days or weeks.
var intervalRE = regexp.MustCompile(`^(\d{1,3})([dw])$`)

// parseDue returns the day of a due date, in the form 2026-02-04. Unlike the day of a
// note, a weekday is one of the next seven days.
func (m writeOps) parseDue(s string) (string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "" {
		return "", nil
	}
	if interval := intervalRE.FindStringSubmatch(s); interval != nil {
		days, _ := strconv.Atoi(interval[1])
		if interval[2] == "w" {
			days *= 7
		}
		return m.day(days), nil
	}
	for days := range 8 {
		day := m.day(days)
		date, _ := time.Parse(time.DateOnly, day)
		name := strings.ToLower(date.Weekday().String())
		if s == day || days == 0 && s == "today" || days == 1 && s == "tomorrow" || days > 0 && (s == name || s == name[:3]) {
			return day, nil
		}
	}
	if date, err := time.Parse(time.DateOnly, s); err == nil && date.Year() >= 1 {
		return s, nil
	}
	return "", api.Errorf(api.Invalid, "due: %q is not a day", s).
		WithHint("use a day such as 2026-02-04, today, tomorrow, a weekday, 3d or 2w")
}
